"""Exponential times: a constant hazard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from .cumulative_hazard import CumulativeHazard

__all__ = ["Exponential"]


@dataclass(frozen=True, eq=False)
class Exponential(CumulativeHazard, name="exponential", label="exponential"):
    """Exponential times: ``S(t) = exp(-t / scale)``.

    Parameters
    ----------
    log_scale : Tensor
        The logarithm of the mean, in the unit of the times.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import Exponential
    >>> times = Exponential(log_scale=torch.tensor(2.0).log())
    >>> times.log_survival(torch.tensor([1.0, 4.0]))
    tensor([-0.5000, -2.0000])
    """

    log_scale: Tensor
    location_name: ClassVar[str | None] = "log_scale"

    def log_hazards(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        log_h = log_t - self.log_scale
        return log_h, log_h

    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        return torch.exp(self.log_scale + torch.log(-log_s))

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        return cls(location)

    def tail_index(self) -> Tensor:
        return torch.full_like(self.log_scale, torch.inf)

    def steepness(self) -> Tensor:
        return torch.ones_like(self.log_scale)
