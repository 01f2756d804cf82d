"""The model's unit of time and the treatment of events at time 0, learned before training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from .._types import FloatArray
from ..checks import warn_user
from ..errors import TargetError
from ..likelihood import Observations
from ..registry import register_model
from ..target import Target

__all__ = ["TimeScale"]

_LARGEST = 1e30  # leaves room below the largest float32
_FAR = 1e10


@register_model
@dataclass(frozen=True)
class TimeScale:
    """The model's unit of time, and the end of the interval in which an event at time 0 is taken to have happened."""

    unit: float
    first_event: float

    def __post_init__(self) -> None:
        if not (0 < self.unit < np.inf and 0 < self.first_event < np.inf):
            raise ValueError(
                f"the unit of time and the first event time must be above 0; got {self}"
            )

    @classmethod
    def learn(cls, target: Target) -> TimeScale:
        """Take the median of the positive event times, intervals at their middles, and the smallest exact one."""
        times = np.where(
            target.interval,
            (target.time + np.where(target.interval, target.upper, 0)) / 2,
            target.time,
        )
        positive = times[(target.event > 0) & (times > 0)]
        if len(positive) == 0:
            raise TargetError(
                "all events happened at time 0; got no positive event time. Measure time more finely."
            )
        exact = target.time[(target.event > 0) & (target.time > 0) & ~target.interval]
        first = exact.min() if len(exact) else positive.min()
        return cls(float(np.quantile(positive, 0.5, method="lower")), float(first))

    def check(self, target: Target) -> None:
        """Refuse times that the network cannot compute with, and warn of those that would rule the fit."""
        far = np.maximum(target.time, np.where(target.interval, target.upper, 0)) / self.unit
        row = int(far.argmax())
        time = far[row] * self.unit
        if far[row] > _LARGEST:
            raise TargetError(
                f"time must be at most {_LARGEST:g} times the median event time, {self.unit:g}; got {time:g} at row "
                f"{row} ({int((far > _LARGEST).sum())} such rows). Is it a code for unknown? Correct these rows."
            )
        count = int((far > _FAR).sum())
        if count:
            which = (
                f"one time, {time:g}, is" if count == 1 else f"{count} times, up to {time:g}, are"
            )
            warn_user(
                f"{which} more than {_FAR:g} times the median event time, {self.unit:g}, and will rule the fit. "
                "Check for a code for unknown, and for different units of time."
            )

    def observe(
        self,
        target: Target,
        weight: FloatArray | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> Observations:
        """Return the target as tensors in the model's unit."""
        return Observations.from_target(target, self.unit, self.first_event, weight, dtype)
