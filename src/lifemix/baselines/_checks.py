"""What every baseline checks before it computes: the target, weights, times, and one kind of event."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, SettingError, TargetError
from ..target import Target

__all__ = ["Floats", "check_choice", "check_target", "check_times", "check_weight", "leave_zero"]

Floats = NDArray[np.float64]


def check_target(target: Target, owner: str, several_events: bool, entry: bool) -> None:
    """Refuse observations that the model cannot use: interval-censored, truncated or competing ones."""
    if target.interval.any():
        raise TargetError(
            f"{owner} needs exact or right-censored times; got {int(target.interval.sum())} rows with an upper bound. "
            "Use DeepSurvivalMachines for them, or set time to one point of each interval and leave upper out."
        )
    if target.truncated.any() and not entry:
        raise TargetError(
            f"{owner} cannot use late entry (left truncation); got {int(target.truncated.sum())} rows with entry > 0. "
            "Use CoxPH or DeepSurvivalMachines, or leave entry out if every subject was observed from the origin."
        )
    counts = np.bincount(target.event, minlength=2)[1:]
    if not counts.all():
        raise TargetError(
            f"every kind of event 1..{len(counts)} must happen in some row; got the counts {counts.tolist()}. "
            "Number the kinds that are there from 1 on, or fit on more rows."
        )
    if target.n_events > 1 and not several_events:
        raise TargetError(
            f"{owner} models one kind of event; got kinds 1..{target.n_events}. Wrap it as CauseSpecific({owner}()), "
            "or set the event to 0 where another kind happened."
        )


def leave_zero(target: Target) -> Target:
    """Return the target with events at time 0 moved to the smallest positive event time t₀.

    Such an event is known to lie in ``(0, t₀]``; a step function or a grid puts it at t₀, so that S(0) = 1.
    """
    zero = (target.time == 0) & (target.event > 0)
    if not zero.any():
        return target
    positive = target.time[(target.event > 0) & (target.time > 0)]
    if len(positive) == 0:
        raise TargetError(
            f"some event must happen after time 0; got {int(zero.sum())} events, all at 0. Measure time more finely."
        )
    time = np.where(zero, positive.min(), target.time)
    return Target(target.event, time, target.entry, target.upper)


def check_weight(sample_weight: ArrayLike | None, n: int, owner: str, weights: bool) -> Floats:
    """Return one weight a row; ones where none are given."""
    if sample_weight is None:
        return np.ones(n)
    if not weights:
        raise SettingError(
            f"{owner} does not take sample_weight. Leave it out, or use a model that takes it, such as CoxPH."
        )
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise InputError(f"sample_weight must have one value a row; got shape {weight.shape} for {n} rows.")
    bad = ~np.isfinite(weight) | (weight < 0)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(f"sample_weight must be finite and >= 0; got {weight[row]} at row {row} ({bad.sum()} rows).")
    return weight


def check_times(times: ArrayLike) -> Floats:
    """Return the times of a prediction as a 1-d array; a number is one time."""
    array = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if array.ndim != 1 or len(array) == 0:
        raise InputError(f"times must be a number or a 1-d array with at least one value; got shape {array.shape}.")
    bad = ~np.isfinite(array) | (array < 0)
    if bad.any():
        raise InputError(f"times must be finite and >= 0; got {array[bad][0]} ({int(bad.sum())} such values).")
    return array


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse an option that is none of the choices."""
    if value not in choices:
        raise SettingError(f"{name} must be one of {', '.join(map(repr, choices))}; got {value!r}.")
