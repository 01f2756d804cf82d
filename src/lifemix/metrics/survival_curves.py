"""Kaplan-Meier and Nelson-Aalen: survival and cumulative hazard of a sample, left-truncated rows included."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .._types import FloatArray
from ..target import TargetLike
from .curve import Curve, limits, risk_table
from .inputs import check_event, observed

__all__ = ["kaplan_meier", "nelson_aalen"]


def kaplan_meier(
    y: TargetLike,
    event: int | None = None,
    *,
    level: float = 0.95,
    transform: Literal["log-log", "log", "plain"] = "log-log",
) -> Curve:
    """Kaplan-Meier estimate of survival.

    ``S(t) = prod_{u <= t} (1 - d(u) / Y(u))``, with ``d`` events among the ``Y`` subjects at risk at u
    (entry < u <= time). Standard error after Greenwood, ``S(t)^2 sum d / (Y (Y - d))`` being the variance.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    event : int, optional
        None for events of any type. With ``event=m`` other events count as censored (net survival).
    level : float, default 0.95
        Confidence level of the limits.
    transform : {"log-log", "log", "plain"}, default "log-log"
        Scale on which the limits are computed; ``"log"`` is the default of ``survival::survfit`` in R.

    Returns
    -------
    Curve
        The estimate at the distinct times. Where it has reached 0 its standard error and limits are NaN.

    See Also
    --------
    aalen_johansen : the cumulative incidence under competing risks.
    nelson_aalen : the cumulative hazard.

    References
    ----------
    Kaplan and Meier (1958). Nonparametric estimation from incomplete observations. Journal of the American Statistical
    Association 53, 457-481. https://doi.org/10.1080/01621459.1958.10501452

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    >>> curve = metrics.kaplan_meier(y)
    >>> print(curve.at([0.5, 1.0, 3.0]))
    [1.    0.75  0.375]
    """
    table = risk_table(observed(y, "y", truncation=True), check_event(event))
    d, at_risk = table.events.astype(np.float64), table.at_risk.astype(np.float64)
    estimate: FloatArray = np.cumprod(1 - d / at_risk, dtype=np.float64)
    alive = estimate > 0
    terms = np.divide(d, at_risk * (at_risk - d), out=np.zeros(len(d)), where=alive)
    standard_error = np.where(alive, estimate * np.sqrt(np.cumsum(terms)), np.nan)
    lower, upper = limits(estimate, standard_error, level, transform, (0.0, 1.0))
    return Curve(
        table.time, estimate, standard_error, lower, upper, table.at_risk, table.events, 1.0
    )


def nelson_aalen(
    y: TargetLike,
    event: int | None = None,
    *,
    level: float = 0.95,
    transform: Literal["log", "plain"] = "log",
) -> Curve:
    """Nelson-Aalen estimate of the cumulative hazard.

    ``H(t) = sum_{u <= t} d(u) / Y(u)``, with ``d`` events among the ``Y`` subjects at risk at u (entry < u <= time),
    and variance ``sum_{u <= t} d(u) / Y(u)^2``. As ``survival::survfit`` in R (``cumhaz``, ``std.chaz``).

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    event : int, optional
        None for events of any type. With ``event=m`` the cause-specific hazard of m.
    level : float, default 0.95
        Confidence level of the limits.
    transform : {"log", "plain"}, default "log"
        Scale on which the limits are computed.

    Returns
    -------
    Curve
        The estimate at the distinct times, with standard errors and confidence limits.

    References
    ----------
    Aalen (1978). Nonparametric inference for a family of counting processes. Annals of Statistics 6, 701-726.
    https://doi.org/10.1214/aos/1176344247

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    >>> print(metrics.nelson_aalen(y).at([0.5, 1.0, 3.0]))
    [0.   0.25 0.75]
    """
    table = risk_table(observed(y, "y", truncation=True), check_event(event))
    d, at_risk = table.events.astype(np.float64), table.at_risk.astype(np.float64)
    estimate: FloatArray = np.cumsum(d / at_risk)
    standard_error = np.sqrt(np.cumsum(d / at_risk**2))
    lower, upper = limits(estimate, standard_error, level, transform, (0.0, np.inf))
    return Curve(
        table.time, estimate, standard_error, lower, upper, table.at_risk, table.events, 0.0
    )
