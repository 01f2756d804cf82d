"""Whether the follow-up is long enough to tell a cured fraction from events that are yet to come.

Maller and Zhou (Survival Analysis with Long-Term Survivors, Wiley 1996) compare the largest time of all, ``t_n``, with
the largest time of an event, ``t_event``: events in the last stretch of that length, ``(2 t_event - t_n, t_event]``,
would not be missing if they were still to come. With N of n events there, the probability of so wide a gap without one
is about ``(1 - N / n) ** n`` if the follow-up is too short, so it is long enough, at the 5 % level, where that is below
0.05. The plateau of the Kaplan-Meier curve is the estimate of the fraction.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...metrics import kaplan_meier
from ...target import Target
from .findings import Finding

__all__ = ["check_follow_up", "too_short"]

_LEVEL = 0.05


def too_short(target: Target) -> float:
    """Return the probability that so wide a gap behind the last event is chance: large where follow-up is too short."""
    happened = target.event > 0
    if not happened.any():
        return 1.0
    last_event, last = float(target.time[happened].max()), float(target.time.max())
    count = int((happened & (target.time > 2 * last_event - last)).sum())
    return float((1 - count / len(target)) ** len(target))


def check_follow_up(target: Target, cured: float) -> Iterator[Finding]:
    """Yield that a cured fraction, on average ``cured`` by a model, cannot be told from events that are yet to come."""
    chance = too_short(target)
    if chance <= _LEVEL:
        return
    plateau = float(kaplan_meier(target).at([float(target.time.max())])[0])
    yield Finding(
        "warn",
        "follow-up",
        f"The model finds a cured fraction of {cured:.2f} on average, and the Kaplan-Meier curve ends at "
        f"{plateau:.2f}; but events came until shortly before the end of the follow-up, so those who are cured cannot "
        "be told from those whose event is yet to come (test of Maller and Zhou: "
        f"{np.round(chance, 2):g}, above {_LEVEL:g}).",
        "Do not report the fraction as cured; follow up for longer, or fit without cure.",
    )
