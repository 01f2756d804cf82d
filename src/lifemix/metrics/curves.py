"""Kaplan-Meier, Nelson-Aalen and Aalen-Johansen estimates, left-truncated rows included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from .._types import FloatArray, IntArray
from ..checks import Choice, warn_user
from ..target import TargetLike
from .inputs import check_event, check_level, observed, status

__all__ = ["Curve", "aalen_johansen", "kaplan_meier", "nelson_aalen"]

_ROUNDING = 1e-13


@dataclass(frozen=True, eq=False)
class Curve:
    """A right-continuous step curve with pointwise confidence limits.

    Attributes
    ----------
    time : float array of shape (n_times,)
        The distinct times of events and censorings.
    estimate : float array of shape (n_times,)
        The curve from each time on.
    standard_error : float array of shape (n_times,)
        Its standard error.
    lower, upper : float array of shape (n_times,)
        Its pointwise confidence limits.
    at_risk : int array of shape (n_times,)
        Number of subjects at risk.
    events : int array of shape (n_times,)
        Number of events.
    start : float
        The curve before the first time.
    """

    time: FloatArray
    estimate: FloatArray
    standard_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    at_risk: IntArray
    events: IntArray
    start: float

    def at(self, t: ArrayLike) -> FloatArray:
        """Return the curve at some times.

        Parameters
        ----------
        t : array-like
            Times, of any shape.

        Returns
        -------
        array in the shape of ``t``
            NaN, with a warning, beyond the last time of the sample.
        """
        return self._values_at(self.estimate, t)

    def limits_at(self, t: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the confidence limits at some times.

        Parameters
        ----------
        t : array-like
            Times, of any shape.

        Returns
        -------
        lower, upper : arrays in the shape of ``t``
            NaN, with a warning, beyond the last time of the sample.
        """
        return self._values_at(self.lower, t), self._values_at(self.upper, t)

    def _values_at(self, values: FloatArray, t: ArrayLike) -> FloatArray:
        times = np.asarray(t, dtype=np.float64)
        is_beyond = times > self.time[-1]
        if is_beyond.any():
            warn_user(
                f"{int(is_beyond.sum())} times lie beyond the last of the sample, "
                f"{self.time[-1]:g}, where the curve is not known; the result is NaN."
            )
        index = np.searchsorted(self.time, times, side="right")
        return np.where(is_beyond, np.nan, np.append(self.start, values)[index])


def kaplan_meier(
    y: TargetLike,
    event: int | None = None,
    *,
    level: float = 0.95,
    transform: Literal["log-log", "log", "plain"] = "log-log",
) -> Curve:
    """Kaplan-Meier estimate of survival.

    ``S(t) = prod_{u <= t} (1 - d(u) / Y(u))``, with ``d`` events among the ``Y`` subjects at risk
    at u (entry < u <= time). Greenwood's variance is ``S(t)^2 sum d / (Y (Y - d))``.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    event : int, optional
        None for events of any type. With ``event=m`` other events count as censored (net survival).
    level : float, default 0.95
        Confidence level of the limits.
    transform : {"log-log", "log", "plain"}, default "log-log"
        Scale on which the limits are computed; ``"log"`` is the default of ``survival::survfit`` in
        R.

    Returns
    -------
    Curve
        The estimate at the distinct times. If it has reached 0, its standard error and limits are
        NaN.

    See Also
    --------
    aalen_johansen : the cumulative incidence under competing risks.
    nelson_aalen : the cumulative hazard.

    References
    ----------
    Kaplan and Meier (1958). Nonparametric estimation from incomplete observations. Journal of the
    American Statistical Association 53, 457-481. https://doi.org/10.1080/01621459.1958.10501452

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    >>> curve = metrics.kaplan_meier(y)
    >>> print(curve.at([0.5, 1.0, 3.0]))
    [1.    0.75  0.375]
    """
    table = _risk_table(y, event)
    d, at_risk = table.events.astype(np.float64), table.at_risk.astype(np.float64)
    estimate: FloatArray = np.cumprod(1 - d / at_risk, dtype=np.float64)
    is_positive = estimate > 0
    terms = np.divide(d, at_risk * (at_risk - d), out=np.zeros(len(d)), where=is_positive)
    standard_error = np.where(is_positive, estimate * np.sqrt(np.cumsum(terms)), np.nan)
    return _curve(table, estimate, standard_error, level, transform, start=1.0)


def nelson_aalen(
    y: TargetLike,
    event: int | None = None,
    *,
    level: float = 0.95,
    transform: Literal["log", "plain"] = "log",
) -> Curve:
    """Nelson-Aalen estimate of the cumulative hazard.

    ``H(t) = sum_{u <= t} d(u) / Y(u)``, with ``d`` events among the ``Y`` subjects at risk at u
    (entry < u <= time), and variance ``sum_{u <= t} d(u) / Y(u)^2``. As ``survival::survfit`` in R
    (``cumhaz``, ``std.chaz``).

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
    Aalen (1978). Nonparametric inference for a family of counting processes. Annals of Statistics
    6, 701-726. https://doi.org/10.1214/aos/1176344247

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    >>> print(metrics.nelson_aalen(y).at([0.5, 1.0, 3.0]))
    [0.   0.25 0.75]
    """
    table = _risk_table(y, event)
    d, at_risk = table.events.astype(np.float64), table.at_risk.astype(np.float64)
    standard_error = np.sqrt(np.cumsum(d / at_risk**2))
    return _curve(table, np.cumsum(d / at_risk), standard_error, level, transform, largest=np.inf)


def aalen_johansen(
    y: TargetLike,
    event: int | None = 1,
    *,
    level: float = 0.95,
    transform: Literal["log-log", "log", "plain"] = "log-log",
    variance: Literal["aalen", "greenwood"] = "aalen",
) -> Curve:
    """Aalen-Johansen estimate of the cumulative incidence of an event.

    ``F(t) = sum_{u <= t} S(u-) d(u) / Y(u)``, with ``S`` the Kaplan-Meier curve of all events
    together and ``d`` events of this type among the ``Y`` subjects at risk at u (entry < u <=
    time).

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
        ``"aalen"``, as ``cmprsk::cuminc`` in R; ``"greenwood"``, the multinomial form, which for a
        single event type is Greenwood's and is that of ``survival::survfit``.

    Returns
    -------
    Curve
        The estimate at the distinct times, with standard errors and confidence limits.

    See Also
    --------
    kaplan_meier : survival, or the net survival of one event type.

    References
    ----------
    Aalen and Johansen (1978). An empirical transition matrix for non-homogeneous Markov chains
    based on censored observations. Scandinavian Journal of Statistics 5, 141-150.

    Putter, Fiocco and Geskus (2007). Tutorial in biostatistics: competing risks and multi-state
    models. Statistics in Medicine 26, 2389-2430. https://doi.org/10.1002/sim.2712

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 2, 0, 1])
    >>> curve = metrics.aalen_johansen(y, event=1)
    >>> print(curve.at([1.0, 2.5, 4.0]))
    [0.25 0.25 0.75]
    """
    Choice("aalen", "greenwood")("variance", variance)
    table = _risk_table(y, event)
    survivors = 1 - (table.events + table.rivals) / table.at_risk
    survival_before = np.append(1.0, np.cumprod(survivors)[:-1])
    estimate = np.cumsum(survival_before * table.events / table.at_risk)
    jumps, at_risk = np.stack([table.events, table.rivals]).astype(np.float64), table.at_risk
    if variance == "greenwood":
        covariance = -jumps[:, None] * jumps / at_risk**3
        diagonal = jumps * (at_risk - jumps) / at_risk**3
    else:  # as if tied events happened one after the other
        covariance = np.zeros((2, *jumps.shape))
        share = np.divide(at_risk - jumps, at_risk - 1, out=np.ones(jumps.shape), where=jumps > 1)
        diagonal = jumps * share / at_risk**2
    covariance[[0, 1], [0, 1]] = diagonal

    # By the delta method, an error in the hazard of the event at s changes F(t) by
    # S(s-) - (F(t) - F(s)) / (1 - dA(s)), one in the hazard of the rivals by the second term.
    # Both are offset - slope F(t), so running sums over s serve every t.
    slope = np.divide(1.0, survivors, out=np.zeros(len(survivors)), where=survivors > 0)
    offset = estimate * slope + np.stack([survival_before, np.zeros(len(slope))])
    constant = np.cumsum(np.einsum("it,ijt,jt->t", offset, covariance, offset))
    linear = np.cumsum(slope * np.einsum("it,ijt->t", offset, covariance))
    square = np.cumsum(slope**2 * covariance.sum(axis=(0, 1)))
    total = constant - 2 * estimate * linear + estimate**2 * square
    total[total <= _ROUNDING * constant] = 0.0
    return _curve(table, estimate, np.sqrt(total), level, transform)


@dataclass(frozen=True, eq=False)
class _RiskTable:
    """Counts at each distinct time: subjects at risk, events of the type, other events."""

    time: FloatArray
    at_risk: IntArray
    events: IntArray
    rivals: IntArray


def _risk_table(y: TargetLike, event: int | None) -> _RiskTable:
    """Count the subjects at risk and the events at each distinct time.

    A subject is at risk in (entry, time], and at time 0 too if observed from the origin.
    """
    target = observed(y, "y", truncation=True)
    kind = status(target, check_event(event))
    time, time_index, n_rows = np.unique(target.time, return_inverse=True, return_counts=True)
    n_ended = np.cumsum(n_rows) - n_rows
    late_entry = np.sort(target.entry[target.truncated])
    n_entered = len(target) - len(late_entry) + np.searchsorted(late_entry, time, side="left")
    at_risk = (n_entered - n_ended).astype(np.int64)
    events = np.bincount(time_index[kind == 1], minlength=len(time))
    rivals = np.bincount(time_index[kind == 2], minlength=len(time))
    emptied = np.flatnonzero((at_risk == events + rivals)[:-1] & (at_risk[:-1] > 0))
    if len(emptied):
        warn_user(
            f"all subjects at risk at {time[emptied[0]]:g} have an event then, before the others "
            "enter: the estimate stays there. Start the curve later, on the "
            "rows with a later time."
        )
    return _RiskTable(time, at_risk, events, rivals)


def _curve(
    table: _RiskTable,
    estimate: FloatArray,
    standard_error: FloatArray,
    level: float,
    transform: str,
    *,
    largest: float = 1.0,
    start: float = 0.0,
) -> Curve:
    """Return the curve with limits from a normal approximation on a transformed scale.

    Limits are clipped to [0, largest]; if the estimate is at a bound, or has no error, they equal
    it.
    """
    Choice("plain", "log", "log-log")("transform", transform)
    z = norm.isf((1 - check_level(level)) / 2)
    is_fixed = (standard_error == 0) | (estimate <= 0) | (estimate >= largest)
    e, width = np.where(is_fixed, 0.5, estimate), z * np.where(is_fixed, 0.0, standard_error)
    if transform == "plain":
        lower, upper = e - width, e + width
    elif transform == "log":
        lower, upper = e * np.exp(-width / e), e * np.exp(width / e)
    else:
        # Beyond exp(700) the limits are 0 and 1 in double precision.
        ratio = np.exp(np.minimum(width / -(e * np.log(e)), 700.0))
        lower, upper = e**ratio, e ** (1 / ratio)
    lower, upper = np.where(is_fixed, estimate, lower), np.where(is_fixed, estimate, upper)
    is_unknown = np.isnan(standard_error)
    lower[is_unknown], upper[is_unknown] = np.nan, np.nan
    return Curve(
        table.time,
        estimate,
        standard_error,
        np.clip(lower, 0.0, largest),
        np.clip(upper, 0.0, largest),
        table.at_risk,
        table.events,
        start,
    )
