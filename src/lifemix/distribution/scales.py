"""Where on the axis of log time each component has something to show, and how finely one has to look there.

Two quadrature rules that look too rarely agree on nothing being there. So no panel of an integral is accepted that
is wider than a component that it touches.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..primitives import Primitive

__all__ = ["Scales"]

_BEGIN, _EARLY, _LATE = (
    1e-9,
    0.2,
    2.0,
)  # cumulative hazards: hardly anything has happened, the bulk of it
_END = 25.0  # next to nobody is left
_FIRST, _LAST = -744.0, 709.0  # log times that are numbers
_NEVER = 1e300
_FINENESS = 1.5  # panels may be so many times as wide as the bulk of a component


@dataclass(frozen=True)
class Scales:
    """The range and the width of every component in log time, ``[rows, components]``."""

    first: Tensor
    last: Tensor
    width: Tensor

    @classmethod
    def of(cls, components: Primitive, end: float = _END) -> Scales:
        """Return those of components ``[rows, components]``, up to a cumulative hazard of ``end``.

        Where some never have the event, the shares are those of the others.
        """
        like = torch.broadcast_tensors(*components.parameters)[0]
        never = components.log_survival(torch.full_like(like, _NEVER)).nan_to_num(nan=-torch.inf)
        ever = -torch.expm1(never)

        def log_quantile(level: float) -> Tensor:
            of_some = torch.log1p(ever * torch.expm1(torch.tensor(-level, dtype=torch.float64)))
            log_s = torch.where(never < -30, -level, of_some)
            return torch.log(components.inverse_log_survival(log_s)).clamp(_FIRST, _LAST)

        early, late = log_quantile(_EARLY), log_quantile(_LATE)
        width = torch.where(late > early, late - early, torch.inf)
        return cls(log_quantile(_BEGIN), log_quantile(end), _FINENESS * width)

    @property
    def start(self) -> Tensor:
        """Where the first component begins, ``[rows]``."""
        return self.first.amin(1)

    def without_end(self) -> Scales:
        """Return the same components, each of which has something to show for ever: for those who outlived them."""
        return Scales(self.first, torch.full_like(self.last, torch.inf), self.width)

    def resolved(
        self, rows: Tensor, lower: Tensor, upper: Tensor, share: Tensor | None = None
    ) -> Tensor:
        """Tell which panels ``[p]`` are narrow enough, by a share ``[p]``, for every component that they touch."""
        width = upper - lower if share is None else (upper - lower) / share
        lower, upper, width = lower[:, None], upper[:, None], width[:, None]
        wide = (width > self.width[rows]) & (upper > self.first[rows]) & (lower < self.last[rows])
        return ~wide.any(1)
