"""The censoring distribution, by which the metrics weight what was observed.

``G(t)`` is the probability of being uncensored after ``t``, estimated by Kaplan-Meier with the censorings as events.
Where events and censorings share a time, the events come first and have left the risk set of the censorings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .._types import BoolArray, FloatArray
from .lookup import look_up

__all__ = ["CensoringCurve", "censoring_curve"]


@dataclass(frozen=True, eq=False)
class CensoringCurve:
    """Kaplan-Meier curve of the censoring times: it drops at ``time`` and is ``values`` from there on.

    ``values`` has one entry more than ``time``: the first, 1, holds before the first censoring. The curve is NaN beyond
    ``follow_up``, the last time of the sample.
    """

    time: FloatArray
    values: FloatArray
    follow_up: float

    def at(self, t: FloatArray) -> FloatArray:
        """Return ``G(t)``, one value for each ``t``."""
        return self._look_up(t, "right")

    def before(self, t: FloatArray) -> FloatArray:
        """Return ``G(t-)``, the value just before each ``t``."""
        return self._look_up(t, "left")

    def _look_up(self, t: FloatArray, side: Literal["left", "right"]) -> FloatArray:
        values = self.values[look_up(self.time, t, side)]
        values[t > self.follow_up] = np.nan
        return values


def censoring_curve(
    time: FloatArray, censored: BoolArray, *, events_first: bool = True
) -> CensoringCurve:
    """Estimate ``G(t) = prod_{u <= t} (1 - c(u) / (Y(u) - d(u)))`` of one sample; all arguments shape (n,).

    ``c`` counts the censorings at ``u``, ``d`` the events at ``u``, ``Y`` the subjects with a time of at least ``u``.
    Without ``events_first`` the events at ``u`` are still at risk, as in Fine and Gray's regression by R's ``crr``.
    """
    losses = np.sort(time[censored])
    events = np.sort(time[~censored])
    first = np.flatnonzero(np.diff(losses, prepend=-1.0))
    at, count = losses[first], np.diff(first, append=len(losses))
    at_risk = (len(losses) - first) + (
        len(events) - np.searchsorted(events, at, side="right" if events_first else "left")
    )
    values = np.concatenate([[1.0], np.cumprod(1 - count / at_risk)])
    return CensoringCurve(at, values, float(time.max()))
