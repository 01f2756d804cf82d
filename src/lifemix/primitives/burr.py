"""Burr XII times: a log-logistic distribution whose tail has an index of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from .cumulative_hazard import CumulativeHazard
from .numeric import log_softplus, standardise

__all__ = ["Burr"]


@dataclass(frozen=True, eq=False)
class Burr(CumulativeHazard, name="burr", label="Burr XII"):
    """Burr XII times: ``S(t) = (1 + (t / scale) ** shape / tail) ** -tail``.

    With tail 1 it is the log-logistic distribution; as the tail grows it becomes the Weibull distribution of the same
    shape and scale. The usual scale of Burr XII is ``scale * tail ** (1 / shape)``. The mean is infinite where
    ``shape * tail`` is at most 1.

    Parameters
    ----------
    log_shape : Tensor
        The logarithm of the shape.
    log_scale : Tensor
        The logarithm of the scale, in the unit of the times.
    log_tail : Tensor
        The logarithm of the tail's exponent.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import Burr
    >>> zero = torch.tensor(0.0)
    >>> times = Burr(log_shape=zero, log_scale=zero, log_tail=torch.tensor(2.0).log())
    >>> times.log_survival(torch.tensor(3.0)).exp()
    tensor(0.1600)
    """

    log_shape: Tensor
    log_scale: Tensor
    log_tail: Tensor
    location_name: ClassVar[str | None] = "log_scale"

    def log_hazards(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        z = standardise(log_t, self.log_scale, self.log_shape) - self.log_tail
        log_cumulative_hazard = self.log_tail + log_softplus(z)
        log_rate = self.log_tail + self.log_shape + logsigmoid(z)
        return log_cumulative_hazard, log_rate

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        return cls(log_precision, location, torch.zeros_like(location))

    def tail_index(self) -> Tensor:
        return torch.exp(self.log_shape + self.log_tail)

    def steepness(self) -> Tensor:
        return torch.exp(self.log_shape)
