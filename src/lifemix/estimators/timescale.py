"""The model's unit of time and the treatment of events at time 0, learned before training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import TargetError
from ..likelihood import Observations
from ..target import Target

__all__ = ["TimeScale"]


@dataclass(frozen=True)
class TimeScale:
    """The model's unit of time, and the end of the interval in which an event at time 0 is taken to have happened."""

    unit: float
    first_event: float

    @classmethod
    def learn(cls, target: Target) -> TimeScale:
        """Take the median of the positive event times, intervals at their middles, and the smallest exact one."""
        times = np.where(target.interval, (target.time + np.where(target.interval, target.upper, 0)) / 2, target.time)
        positive = times[(target.event > 0) & (times > 0)]
        if len(positive) == 0:
            raise TargetError("all events happened at time 0; got no positive event time. Measure time more finely.")
        exact = target.time[(target.event > 0) & (target.time > 0) & ~target.interval]
        first = exact.min() if len(exact) else positive.min()
        return cls(float(np.quantile(positive, 0.5, method="lower")), float(first))

    def observe(
        self, target: Target, weight: NDArray[np.float64] | None = None, dtype: torch.dtype = torch.float64
    ) -> Observations:
        """Return the target as tensors in the model's unit."""
        return Observations.from_target(target, self.unit, self.first_event, weight, dtype)
