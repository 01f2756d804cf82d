"""Gompertz times: a hazard that rises or falls exponentially; where it falls, some never have the event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from .cumulative_hazard import CumulativeHazard
from .numeric import LOG_TIMES
from .stable import limit_gradient, log1mexp

__all__ = ["Gompertz"]

_NEAR = 0.05  # where the series of log((exp(y) - 1) / y) is exact
_ONE_DEVIATION = (-0.1727, -1.8410)  # log S at the normal distribution's minus one and plus one


@dataclass(frozen=True, eq=False)
class Gompertz(CumulativeHazard, name="gompertz", label="Gompertz"):
    """Gompertz times: the hazard is ``rate * exp(aging * t)``, so ``S(t) = exp(-rate * (exp(aging * t) - 1) / aging)``.

    The rate of aging may be 0 (a constant hazard) or negative: then the share ``exp(rate / aging)`` never has the
    event.

    Parameters
    ----------
    log_rate : Tensor
        The logarithm of the hazard at the origin, per unit of time.
    aging : Tensor
        How fast the logarithm of the hazard rises, per unit of time.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import Gompertz
    >>> times = Gompertz(log_rate=torch.tensor(0.0), aging=torch.tensor([1.0, -1.0]))
    >>> times.log_survival(torch.tensor(1.0))
    tensor([-1.7183, -0.6321])
    >>> times.mean()
    tensor([0.5963,    inf])
    """

    log_rate: Tensor
    aging: Tensor
    shift_activation: ClassVar[str] = "selu"

    def log_hazards(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        log_t = log_t.clamp(max=LOG_TIMES[log_t.dtype])
        y = limit_gradient(self.aging) * torch.exp(log_t)
        first = self.log_rate + log_t
        return first + _log_mean_growth(y), first + y

    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        # H = h at t = log(1 + aging * h / rate) / aging, and never where the logarithm's argument is not positive
        constant = torch.exp(
            torch.log(-log_s) - self.log_rate
        )  # the time if the hazard stayed as at the origin
        y = self.aging * constant
        ever = y > -1
        near = y.abs() < 1e-8
        safe = torch.where(ever & ~near, y, 1.0)
        growing = torch.log1p(safe) / torch.where(self.aging == 0, 1.0, self.aging)
        return torch.where(ever, torch.where(near, constant * (1 - y / 2), growing), torch.inf)

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        return cls(-location, torch.zeros_like(location))

    def displaced(self, steps: Tensor) -> Self:
        early, late = (
            torch.log(self.inverse_log_survival(torch.full_like(steps, at)))
            for at in _ONE_DEVIATION
        )
        deviation = torch.where(torch.isfinite(late), (late - early) / 2, 1.0)
        return self.rescaled(steps * deviation)

    def rescaled(self, log_factor: Tensor | float) -> Self:
        factor = torch.as_tensor(log_factor, dtype=self.aging.dtype, device=self.aging.device)
        return type(self)(self.log_rate - factor, self.aging * torch.exp(-factor))

    def cure_fraction(self) -> Tensor:
        falling = self.aging < 0
        return torch.where(
            falling,
            torch.exp(torch.exp(self.log_rate) / torch.where(falling, self.aging, -1.0)),
            0.0,
        )

    def tail_index(self) -> Tensor:
        return torch.where(self.aging < 0, torch.zeros_like(self.aging), torch.inf)

    def steepness(self) -> Tensor:
        # the slope of log H is about 1 + aging * t; at H = 5 aging * t is log(1 + 5 aging / rate)
        return 1 + torch.log1p(5 * self.aging.clamp(min=0.0) * torch.exp(-self.log_rate))

    @classmethod
    def javascript(cls) -> str:
        return """([logRate, aging], logUnit) => {
          const rate = Math.exp(logRate);
          const grown = (y) => (Math.abs(y) < 1e-8 ? 1 + y / 2 : Math.expm1(y) / y);
          const survival = (x) => { const t = Math.exp(x - logUnit); return Math.exp(-rate * t * grown(aging * t)); };
          const density = (x) => {
            const t = Math.exp(x - logUnit), hazard = Math.min(rate * t * grown(aging * t), 1e30);
            return Math.exp(logRate + x - logUnit + aging * t - hazard);
          };
          return { survival, density };
        }"""


def _log_mean_growth(y: Tensor) -> Tensor:
    """``log((exp(y) - 1) / y)``."""
    size = y.abs().clamp(min=_NEAR)
    far = torch.clamp(y, min=0.0) + log1mexp(size, torch.log(size)) - torch.log(size)
    near = y.clamp(-_NEAR, _NEAR)
    return torch.where(
        y.abs() < _NEAR, near / 2 + near**2 / 24 - near**4 / 2880 + near**6 / 181440, far
    )
