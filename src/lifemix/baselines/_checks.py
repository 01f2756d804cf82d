"""What every baseline checks of its target before it computes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import TargetError
from ..target import Target, refuse_missing_types, warn_no_censored_row

__all__ = ["check_target", "leave_zero", "refuse_paths"]


def check_target(
    target: Target, owner: str, several_events: bool, entry: bool, intervals: bool
) -> None:
    """Refuse observations that the model cannot use: interval-censored, truncated or competing ones."""
    if target.interval.any() and not intervals:
        raise TargetError(
            f"{owner} needs exact or right-censored times; got {int(target.interval.sum())} rows with an upper bound. "
            "Use DeepSurvivalMachines for them, or set time to one point of each interval and leave upper out."
        )
    if target.truncated.any() and not entry:
        raise TargetError(
            f"{owner} cannot use late entry (left truncation); got {int(target.truncated.sum())} rows with entry > 0. "
            "Use CoxPH or DeepSurvivalMachines, or leave entry out if every subject was observed from the origin."
        )
    refuse_missing_types(target.event)
    warn_no_censored_row(target.event)
    if target.n_events > 1 and not several_events:
        raise TargetError(
            f"{owner} models one event type; got the types 1..{target.n_events}. Wrap it as CauseSpecific({owner}()), "
            "or set the event to 0 where another one happened."
        )


def refuse_paths(target: Target, owner: str) -> None:
    """Refuse the intervals of paths for a model whose fit depends on how a path is cut."""
    raise TargetError(
        f"{owner} takes one row per subject; got {len(target)} intervals of {len(target.joined())} subjects. Use "
        "DeepSurvivalMachines, CoxPH or CauseSpecific(CoxPH()) for covariates that change over time."
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
    return replace(target, time=time)
