"""A target as tensors, in the model's unit of time, with what the likelihood must know of every row."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .._types import BoolArray, FloatArray
from ..target import Target

__all__ = ["NARROW", "Observations"]

NARROW = 1e-4
"""An interval narrower than this share of its lower end counts as an exact time, times its width."""

_MANTISSA = 2.0**20


@dataclass(frozen=True, eq=False)
class Observations:
    """One value per row, shape ``[..., rows]``; what no row needs is None.

    ``time`` is positive: where the target has 0 it holds 1 and ``at_origin`` is true. ``log_width`` is added to the
    log density of a narrow interval, and minus the log of the unit to every density: ``f(t) dt`` in the user's unit.
    """

    event: Tensor  # int64, 0 censored
    time: Tensor
    weight: Tensor
    log_width: Tensor
    at_origin: Tensor | None = None
    upper: Tensor | None = None  # above time; where there is no interval, twice the time
    interval: Tensor | None = None
    entry: Tensor | None = None  # positive; where there is no truncation, the time
    truncated: Tensor | None = None

    @classmethod
    def from_target(
        cls,
        target: Target,
        unit: float,
        first_event: float,
        weight: FloatArray | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> Self:
        """Read a target; an event at time 0 is the interval ``(0, first_event]``; a row censored at 0 weighs nothing.

        Times are rounded to 20 binary digits of mantissa when they become float32, so that the rounding of another unit
        of time does not reach the model.
        """
        event, time, entry, upper = target.event, target.time, target.entry, target.upper.copy()
        upper[(time == 0) & (event > 0) & np.isnan(upper)] = first_event
        middle, log_width, interval = _narrow_intervals(time, upper, unit)
        weights = np.ones(len(target)) if weight is None else weight
        weights = np.where((time == 0) & (event == 0), 0.0, weights)
        at_origin = middle == 0

        def tensor(values: NDArray[Any]) -> Tensor:
            return torch.as_tensor(
                _rounded(values / unit) if dtype == torch.float32 else values / unit
            ).to(dtype)

        safe_time = np.where(at_origin, unit, middle)
        optional: dict[str, Tensor] = {}
        if at_origin.any():
            optional["at_origin"] = torch.as_tensor(at_origin)
        if interval.any():
            optional["upper"] = tensor(np.where(interval, upper, 2 * safe_time))
            optional["interval"] = torch.as_tensor(interval)
        if target.truncated.any():
            optional["entry"] = tensor(np.where(target.truncated, entry, safe_time))
            optional["truncated"] = torch.as_tensor(target.truncated)
        return cls(
            event=torch.as_tensor(event),
            time=tensor(safe_time),
            weight=torch.as_tensor(weights).to(dtype),
            log_width=torch.as_tensor(log_width).to(dtype),
            **optional,
        )

    def __len__(self) -> int:
        return self.time.shape[-1]

    def take(self, rows: Any) -> Self:
        """Return some rows; a matrix of indices gives a matrix of rows."""
        return self._map(lambda values: values[rows])

    def to(self, device: torch.device) -> Self:
        """Return the observations on a device."""
        return self._map(lambda values: values.to(device))

    def reweighted(self, weight: Tensor) -> Self:
        """Return the observations with other case weights."""
        return replace(self, weight=weight)

    def _map(self, function: Any) -> Self:
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        mapped: dict[str, Any] = {
            name: None if v is None else function(v) for name, v in values.items()
        }
        return type(self)(**mapped)


def _narrow_intervals(
    time: FloatArray, upper: FloatArray, unit: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return times, log widths and which rows stay intervals; a narrow one is exact at its geometric middle."""
    interval = ~np.isnan(upper)
    if not interval.any():
        return time, np.full(len(time), -np.log(unit)), interval
    filled = np.where(interval, upper, time)
    narrow = interval & (filled - time < NARROW * time)
    log_width = np.full(len(time), -np.log(unit))
    log_width[narrow] += np.log(filled[narrow] - time[narrow])
    middle = np.where(narrow, np.sqrt(time) * np.sqrt(filled), time)
    interval &= ~narrow
    log_width[interval] = 0.0
    return middle, log_width, interval


def _rounded(values: FloatArray) -> FloatArray:
    mantissa, exponent = np.frexp(values)
    rounded: FloatArray = np.ldexp(np.round(mantissa * _MANTISSA) / _MANTISSA, exponent)
    return rounded
