"""Times that never come: the outcome of those who are cured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from .base import Primitive

__all__ = ["Never"]


@dataclass(frozen=True, eq=False)
class Never(Primitive):
    """An event that does not happen: ``S(t) = 1``. With ``cure=True`` it is the last component of a mixture.

    Parameters
    ----------
    log_odds : Tensor
        The log odds of it where training starts, which the gate takes over; no function depends on it.
    """

    log_odds: Tensor

    def log_survival(self, t: Tensor) -> Tensor:
        return torch.zeros_like(self.log_odds + t)

    def log_pdf(self, t: Tensor) -> Tensor:
        return torch.full_like(self.log_odds + t, -torch.inf)

    def log_cdf(self, t: Tensor) -> Tensor:
        return self.log_pdf(t)

    def log_interval(self, lower: Tensor, upper: Tensor) -> Tensor:
        return self.log_pdf(upper)

    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        return torch.where(log_s < 0, torch.full_like(self.log_odds, torch.inf), 0.0)

    def cure_fraction(self) -> Tensor:
        return torch.ones_like(self.log_odds)

    def steepness(self) -> Tensor:
        return torch.ones_like(self.log_odds)

    def tail_index(self) -> Tensor:
        return torch.zeros_like(self.log_odds)

    def rescaled(self, log_factor: Tensor | float) -> Self:
        return self
