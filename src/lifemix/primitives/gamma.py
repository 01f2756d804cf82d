"""Gamma times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from .log_gamma import LogGamma

__all__ = ["Gamma"]


@dataclass(frozen=True, eq=False)
class Gamma(LogGamma, name="gamma", label="gamma"):
    """Gamma times: the density is ``t ** (shape - 1) * exp(-t / scale)``, up to a factor.

    Parameters
    ----------
    log_shape : Tensor
        The logarithm of the shape.
    log_scale : Tensor
        The logarithm of the scale, in the unit of the times.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import Gamma
    >>> times = Gamma(log_shape=torch.tensor(2.0).log(), log_scale=torch.tensor(0.0))
    >>> times.log_survival(torch.tensor(1.0)).exp()  # 2 exp(-1)
    tensor(0.7358)
    >>> times.mean()
    tensor(2.)
    """

    log_shape: Tensor
    log_scale: Tensor
    location_name: ClassVar[str | None] = "log_scale"
    shift_activation: ClassVar[str] = "selu"

    def log_gamma(self) -> tuple[Tensor, Tensor, Tensor]:
        half = self.log_shape / 2
        return self.log_scale + self.log_shape, half, torch.exp(-half)

    def mean(self) -> Tensor:
        return torch.exp(self.log_shape + self.log_scale)

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        log_shape = 2 * log_precision.clamp(-1.5, 2.5)
        return cls(log_shape, location - log_shape)

    def rescaled(self, log_factor: Tensor | float) -> Self:
        return type(self)(self.log_shape, self.log_scale + log_factor)

    def tail_index(self) -> Tensor:
        return torch.full_like(self.log_shape, torch.inf)

    @classmethod
    def javascript(cls) -> str:
        return """([logShape, logScale], logUnit) => {
          const half = logShape / 2;
          return logGamma(logScale + logShape + logUnit, Math.exp(half), Math.exp(-half));
        }"""
