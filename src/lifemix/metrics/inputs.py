"""Checks that the metrics share, and the report of a value that data cannot determine."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import checks
from .._types import FloatArray, IndexArray, IntArray
from ..checks import as_numbers, warn_user
from ..errors import InputError, SettingError, TargetError
from ..target import Target, TargetLike, as_target

__all__ = [
    "check_event",
    "check_horizon",
    "check_level",
    "check_probabilities",
    "check_risk",
    "look_up",
    "observed",
    "refuse_paths",
    "status",
    "undefined",
]

# A float32 network may predict 1.0000001.
_ROUNDING = 1e-6


def observed(y: TargetLike, name: str, truncation: bool = False, *, by_row: bool = False) -> Target:
    """Return a target whose events are known exactly, left-truncated only with ``truncation``.

    The intervals of a path become one row, in the order of first appearance, unless ``by_row``.
    """
    target = as_target(y) if by_row else as_target(y).joined()
    if target.interval.any():
        raise TargetError(
            f"{name} must have exact or right-censored times for this metric; got "
            f"{int(target.interval.sum())} events known only to an interval. Evaluate the other "
            "rows, or use the model's log_likelihood."
        )
    if not truncation and target.truncated.any():
        raise TargetError(
            f"{name} must be observed from the origin: weights by the probability of censoring do "
            f"not correct for late entry; got {int(target.truncated.sum())} left-truncated rows. "
            "Evaluate the other rows, or use concordance, concordance_antolini, d_calibration or "
            "calibration_curve, which respect entry times."
        )
    return target


def refuse_paths(y: TargetLike, name: str) -> None:
    """Refuse the intervals of paths, for metrics that predict each row of X from the origin on."""
    target = as_target(y)
    if target.path is not None:
        raise TargetError(
            f"{name} must have one row per subject here, whose covariates hold from the origin on; "
            f"got {len(target)} intervals of {len(target.joined())} subjects. Evaluate at "
            "landmarks (metrics.evaluate_landmarks with metrics.landmark_risk), or compare rows at "
            "risk with metrics.concordance(y, risk)."
        )


def status(target: Target, event: int | None, rivals_censored: bool = False) -> IntArray:
    """Return 0 for censored, 1 for the event type (None: any), 2 for another, one per row."""
    if event is None:
        return (target.event > 0).astype(np.int64)
    rival = 0 if rivals_censored else 2
    return np.where(target.event == event, 1, np.where(target.event > 0, rival, 0))


def check_event(event: int | None) -> int | None:
    """Return the event type as an integer >= 1; None stands for any event."""
    return None if event is None else checks.check_event(event)


def check_level(level: float) -> float:
    """Return a confidence level, which lies strictly between 0 and 1."""
    if not isinstance(level, (int, float)) or not 0 < level < 1:
        raise SettingError(f"level must lie between 0 and 1, such as 0.95; got {level!r}.")
    return float(level)


def check_risk(risk: ArrayLike, n: int, name: str = "risk") -> FloatArray:
    """Return one finite number per row, shape (n,)."""
    values = _finite(risk, name)
    if values.shape != (n,):
        raise InputError(
            f"{name} must have one value per row, shape ({n},); got shape {values.shape}."
        )
    return values


def check_probabilities(values: ArrayLike, name: str) -> FloatArray:
    """Return an array of probabilities, of any shape."""
    array = _finite(values, name)
    outside = (array < -_ROUNDING) | (array > 1 + _ROUNDING)
    if outside.any():
        raise InputError(
            f"{name} must be probabilities in [0, 1]; got {array[outside].flat[0]} "
            f"({int(outside.sum())} such values). Risk scores go to concordance_td and auc_td."
        )
    return array


def check_horizon(horizon: float) -> float:
    """Return one horizon, a finite number >= 0."""
    times = checks.check_times(horizon, "horizon")
    if np.ndim(horizon) != 0:
        raise InputError(f"horizon must be one number; got an array of shape {np.shape(horizon)}.")
    return float(times[0])


def look_up(
    ordered: NDArray[Any], values: NDArray[Any], side: Literal["left", "right"]
) -> IndexArray:
    """Return ``searchsorted(ordered, values, side)``, faster by searching in order."""
    order = np.argsort(values)
    index = np.empty(len(values), dtype=np.intp)
    index[order] = np.searchsorted(ordered, values[order], side)
    return index


def undefined(reason: str) -> float:
    """Warn that the data cannot determine a value, and return NaN."""
    warn_user(f"{reason}; the result is NaN.")
    return float("nan")


def _finite(values: ArrayLike, name: str) -> FloatArray:
    array = as_numbers(values, name)
    bad = ~np.isfinite(array)
    if bad.any():
        raise InputError(
            f"{name} must be finite; got {array[bad].flat[0]} ({int(bad.sum())} such values). "
            "Look for missing covariates or a model that diverged."
        )
    return array
