"""Power generalised Weibull times: hazards that rise, fall, have a hump or the shape of a bathtub."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, softplus

from .cumulative_hazard import CumulativeHazard
from .numeric import log_expm1, log_softplus, standardise

__all__ = ["PowerGeneralisedWeibull"]


@dataclass(frozen=True, eq=False)
class PowerGeneralisedWeibull(
    CumulativeHazard, name="power-generalised-weibull", label="power generalised Weibull"
):
    """Power generalised Weibull times: ``S(t) = exp(1 - (1 + (t / scale) ** shape) ** power)``.

    With power 1 it is the Weibull distribution. The hazard is like ``t ** (shape - 1)`` at first and like
    ``t ** (shape * power - 1)`` in the end: it has the shape of a bathtub for ``shape < 1 < shape * power``, and a hump
    for ``shape > 1 > shape * power``.

    Parameters
    ----------
    log_shape : Tensor
        The logarithm of the shape.
    log_scale : Tensor
        The logarithm of the scale, in the unit of the times.
    log_power : Tensor
        The logarithm of the power.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import PowerGeneralisedWeibull
    >>> zero = torch.tensor(0.0)
    >>> times = PowerGeneralisedWeibull(log_shape=zero, log_scale=zero, log_power=torch.tensor(2.0).log())
    >>> times.log_survival(torch.tensor(1.0))  # 1 - (1 + 1) ** 2
    tensor(-3.)
    """

    log_shape: Tensor
    log_scale: Tensor
    log_power: Tensor
    location_name: ClassVar[str | None] = "log_scale"

    def log_hazards(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        z = standardise(log_t, self.log_scale, self.log_shape)
        growth = torch.exp(self.log_power) * softplus(z)  # H = exp(growth) - 1
        log_growth = self.log_power + log_softplus(z)
        log_cumulative_hazard = log_expm1(growth, log_growth)
        log_rate = self.log_power + self.log_shape + logsigmoid(z) + growth
        return log_cumulative_hazard, log_rate

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        return cls(log_precision, location, torch.zeros_like(location))

    def tail_index(self) -> Tensor:
        return torch.full_like(self.log_shape, torch.inf)

    def steepness(self) -> Tensor:
        # the slope of log H is between shape and shape * power; at most 3.5 times the shape unless S vanishes
        return torch.exp(self.log_shape) * torch.exp(self.log_power).clamp(1.0, 3.5)
