"""What every metric asks of its arguments, and how a value that the data cannot give is reported."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import checks
from .._types import FloatArray, IntArray
from ..checks import warn_user
from ..errors import InputError, SettingError, TargetError
from ..target import Target, TargetLike, as_target

__all__ = [
    "check_event",
    "check_horizon",
    "check_level",
    "check_probabilities",
    "check_risk",
    "observed",
    "refuse_paths",
    "status",
    "undefined",
]


# A float32 network may give 1.0000001; anything further from [0, 1] is not a probability.
_ROUNDING = 1e-6


def observed(y: TargetLike, name: str, truncation: bool = False, *, by_row: bool = False) -> Target:
    """Read a target whose events are known exactly; left-truncated rows only where the metric can use them.

    The intervals of a path count as one subject, in the order of first appearance, unless ``by_row`` keeps them apart.
    """
    target = as_target(y) if by_row else as_target(y).joined()
    if target.interval.any():
        raise TargetError(
            f"{name} must have exact or right-censored times for this metric; got {int(target.interval.sum())} events "
            "known only to an interval. Evaluate the other rows, or use the model's log_likelihood."
        )
    if not truncation and target.truncated.any():
        raise TargetError(
            f"{name} must be observed from the origin: weights by the probability of censoring do not correct for late "
            f"entry; got {int(target.truncated.sum())} left-truncated rows. Evaluate the other rows, or use "
            "concordance, concordance_antolini, d_calibration or calibration_curve, which respect entry times."
        )
    return target


def refuse_paths(y: TargetLike, name: str) -> None:
    """Refuse the intervals of paths where each row of X is predicted from the origin on."""
    target = as_target(y)
    if target.path is not None:
        raise TargetError(
            f"{name} must have one row per subject here, whose covariates hold from the origin on; got {len(target)} "
            f"intervals of {len(target.joined())} subjects. Evaluate at landmarks (metrics.evaluate_landmarks with "
            "metrics.landmark_risk), or compare rows at risk with metrics.concordance(y, risk)."
        )


def status(target: Target, event: int | None, rivals_censored: bool = False) -> IntArray:
    """Return 0 for censored, 1 for the event in question (None: any event), 2 for another event, one per row."""
    if event is None:
        return (target.event > 0).astype(np.int64)
    other = 0 if rivals_censored else 2
    return np.where(target.event == event, 1, np.where(target.event > 0, other, 0))


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
            f"{name} must be probabilities in [0, 1]; got {array[outside].flat[0]} ({int(outside.sum())} such values). "
            "Risk scores go to concordance_td and auc_td."
        )
    return array


def check_horizon(horizon: float) -> float:
    """Return one horizon, a finite number >= 0."""
    (*others, last) = checks.check_times(horizon, "horizon")
    if others or np.ndim(horizon) != 0:
        raise InputError(f"horizon must be one number; got an array of shape {np.shape(horizon)}.")
    return float(last)


def undefined(reason: str) -> float:
    """Warn that the data cannot give a value, and return NaN."""
    warn_user(f"{reason}; the result is NaN.")
    return float("nan")


def _finite(values: ArrayLike, name: str) -> FloatArray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers; got {type(values).__name__}.") from None
    bad = ~np.isfinite(array)
    if bad.any():
        raise InputError(
            f"{name} must be finite; got {array[bad].flat[0]} ({int(bad.sum())} such values). "
            "Look for missing covariates or a model that diverged."
        )
    return array
