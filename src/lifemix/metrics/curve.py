"""A step curve estimated from a sample, with its standard errors and confidence limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from .._types import FloatArray, IntArray
from ..checks import Choice, warn_user
from ..target import Target
from .inputs import check_level, status

__all__ = ["Curve", "RiskTable", "limits", "risk_table"]


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
        return self._look_up(self.estimate, self.start, t)

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
        return self._look_up(self.lower, self.start, t), self._look_up(self.upper, self.start, t)

    def _look_up(self, values: FloatArray, start: float, t: ArrayLike) -> FloatArray:
        times = np.asarray(t, dtype=np.float64)
        beyond = times > self.time[-1]
        if beyond.any():
            warn_user(
                f"{int(beyond.sum())} times lie beyond the last of the sample, {self.time[-1]:g}, where the curve is "
                "not known; the result is NaN."
            )
        found = np.append(start, values)[np.searchsorted(self.time, times, side="right")]
        return np.where(beyond, np.nan, found)


@dataclass(frozen=True, eq=False)
class RiskTable:
    """Counts at each distinct time, (n_times,): subjects at risk, events of the type in question, other events."""

    time: FloatArray
    at_risk: IntArray
    events: IntArray
    rivals: IntArray


def risk_table(target: Target, event: int | None) -> RiskTable:
    """Count the subjects at risk and the events at each distinct time; a subject is at risk in (entry, time].

    A subject observed from the origin is at risk at time 0 too.
    """
    kind = status(target, event)
    time, at = np.unique(target.time, return_inverse=True)
    left = np.searchsorted(np.sort(target.time), time, side="left")
    late = np.sort(target.entry[target.truncated])
    entered = len(target) - len(late) + np.searchsorted(late, time, side="left")
    table = RiskTable(
        time,
        (entered - left).astype(np.int64),
        np.bincount(at[kind == 1], minlength=len(time)),
        np.bincount(at[kind == 2], minlength=len(time)),
    )
    _warn_if_emptied(table)
    return table


def limits(
    estimate: FloatArray,
    standard_error: FloatArray,
    level: float,
    transform: str,
    bounds: tuple[float, float],
) -> tuple[FloatArray, FloatArray]:
    """Return pointwise confidence limits, from a normal approximation on a transformed scale; all of shape (n_times,).

    ``plain``: e -+ z se; ``log``: e exp(-+ z se / e); ``log-log``: e ^ exp(-+ z se / (e log e)). They are clipped to
    ``bounds``, which the true curve cannot leave. Where the estimate is at a bound, or its standard error 0, both
    limits are the estimate.
    """
    Choice(*_TRANSFORMS)("transform", transform)
    z = norm.isf((1 - check_level(level)) / 2)
    fixed = (standard_error == 0) | (estimate <= bounds[0]) | (estimate >= bounds[1])
    e, se = np.where(fixed, 0.5, estimate), np.where(fixed, 0.0, standard_error)
    low, high = _TRANSFORMS[transform](e, z * se)
    lower, upper = np.where(fixed, estimate, low), np.where(fixed, estimate, high)
    unknown = np.isnan(standard_error)
    lower[unknown], upper[unknown] = np.nan, np.nan
    return np.clip(lower, *bounds), np.clip(upper, *bounds)


def _log_log(e: FloatArray, width: FloatArray) -> tuple[FloatArray, FloatArray]:
    ratio = np.exp(
        np.minimum(width / -(e * np.log(e)), 700.0)
    )  # beyond that the limits are 0 and 1 anyway
    return e**ratio, e ** (1 / ratio)


_TRANSFORMS: dict[str, Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]] = {
    "plain": lambda e, width: (e - width, e + width),
    "log": lambda e, width: (e * np.exp(-width / e), e * np.exp(width / e)),
    "log-log": _log_log,
}


def _warn_if_emptied(table: RiskTable) -> None:
    gone = table.at_risk == table.events + table.rivals
    early = np.flatnonzero(gone[:-1] & (table.at_risk[:-1] > 0))
    if len(early):
        warn_user(
            f"all subjects at risk at {table.time[early[0]]:g} have an event then, before the others enter: the "
            "estimate cannot recover from it. Consider starting the curve later, on the rows with a later time."
        )
