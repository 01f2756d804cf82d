"""Aalen-Johansen estimate of the cumulative incidence of one event among others, left-truncated rows included."""

from __future__ import annotations

from typing import Literal

import numpy as np

from .._types import FloatArray
from ..checks import Choice
from ..target import TargetLike
from .curve import Curve, RiskTable, limits, risk_table
from .inputs import check_event, observed

__all__ = ["aalen_johansen"]

_ROUNDING = 1e-13


def aalen_johansen(
    y: TargetLike,
    event: int | None = 1,
    *,
    level: float = 0.95,
    transform: Literal["log-log", "log", "plain"] = "log-log",
    variance: Literal["aalen", "greenwood"] = "aalen",
) -> Curve:
    """Aalen-Johansen estimate of the cumulative incidence of an event.

    ``F(t) = sum_{u <= t} S(u-) d(u) / Y(u)``, with ``S`` the Kaplan-Meier curve of all events together and ``d``
    events of this type among the ``Y`` subjects at risk at u (entry < u <= time).

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    event : int or None, default 1
        The event type; None for events of any type, which gives one minus Kaplan-Meier.
    level : float, default 0.95
        Confidence level of the limits.
    transform : {"log-log", "log", "plain"}, default "log-log"
        Scale on which the limits are computed.
    variance : {"aalen", "greenwood"}, default "aalen"
        ``"aalen"``, as ``cmprsk::cuminc`` in R; ``"greenwood"``, the multinomial form, which for a single event type is
        Greenwood's and is that of ``survival::survfit``.

    Returns
    -------
    Curve
        The estimate at the distinct times, with standard errors and confidence limits.

    See Also
    --------
    kaplan_meier : survival, or the net survival of one event type.

    References
    ----------
    Aalen and Johansen (1978). An empirical transition matrix for non-homogeneous Markov chains based on censored
    observations. Scandinavian Journal of Statistics 5, 141-150.

    Putter, Fiocco and Geskus (2007). Tutorial in biostatistics: competing risks and multi-state models. Statistics in
    Medicine 26, 2389-2430. https://doi.org/10.1002/sim.2712

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 2, 0, 1])
    >>> curve = metrics.aalen_johansen(y, event=1)
    >>> print(curve.at([1.0, 2.5, 4.0]))
    [0.25 0.25 0.75]
    """
    Choice("aalen", "greenwood")("variance", variance)
    table = risk_table(observed(y, "y", truncation=True), check_event(event))
    hazard = (table.events + table.rivals) / table.at_risk
    survival = np.cumprod(1 - hazard)
    before = np.append(1.0, survival[:-1])
    estimate = np.cumsum(before * table.events / table.at_risk)
    standard_error = np.sqrt(_variance(table, before, 1 - hazard, estimate, variance))
    lower, upper = limits(estimate, standard_error, level, transform, (0.0, 1.0))
    return Curve(
        table.time, estimate, standard_error, lower, upper, table.at_risk, table.events, 0.0
    )


def _variance(
    table: RiskTable, before: FloatArray, kept: FloatArray, estimate: FloatArray, form: str
) -> FloatArray:
    """Return the variance of the incidence at each time, by the delta method over the jumps up to it.

    An error in the hazard of the event at s moves F(t) by S(s-) - (F(t) - F(s)) / (1 - dA(s)), one in the hazard
    of the others by -(F(t) - F(s)) / (1 - dA(s)). Both are ``offset - slope F(t)``, so that running sums serve every t.
    """
    slope = np.divide(
        1.0, kept, out=np.zeros(len(kept)), where=kept > 0
    )  # nothing follows where all had an event
    own, other = before + estimate * slope, estimate * slope
    own_variance, other_variance, covariance = _jump_variances(table, form)

    constant = np.cumsum(
        own_variance * own**2 + other_variance * other**2 + 2 * covariance * own * other
    )
    linear = np.cumsum(
        slope * (own_variance * own + other_variance * other + covariance * (own + other))
    )
    square = np.cumsum(slope**2 * (own_variance + other_variance + 2 * covariance))
    total = constant - 2 * estimate * linear + estimate**2 * square
    return np.where(
        total > _ROUNDING * constant, total, 0.0
    )  # what is left of the difference is rounding


def _jump_variances(table: RiskTable, form: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the variances of the two jumps d / Y of the hazards at each time, and their covariance."""
    at_risk = table.at_risk.astype(np.float64)

    def jump(d: FloatArray) -> FloatArray:
        if form == "greenwood":
            return d * (at_risk - d) / at_risk**3
        left_over = np.divide(at_risk - d, at_risk - 1, out=np.ones(len(d)), where=d > 1)
        return d * left_over / at_risk**2

    own, other = table.events.astype(np.float64), table.rivals.astype(np.float64)
    covariance = -own * other / at_risk**3 if form == "greenwood" else np.zeros(len(own))
    return jump(own), jump(other), covariance
