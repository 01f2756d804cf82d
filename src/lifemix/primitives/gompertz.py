"""Gompertz times: a hazard that rises or falls exponentially; where it falls, some never have the event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from .cumulative_hazard import CumulativeHazard
from .numeric import LOG_TIME_LIMITS, limit_gradient, log1mexp

__all__ = ["Gompertz"]

_SERIES_LIMIT = 0.05


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
    >>> times.cure_fraction()
    tensor([0.0000, 0.3679])
    """

    log_rate: Tensor
    aging: Tensor

    def log_hazards(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        log_t = log_t.clamp(max=LOG_TIME_LIMITS[log_t.dtype])
        log_ratio = limit_gradient(self.aging) * torch.exp(log_t)  # of the hazards now and at 0
        log_rate = self.log_rate + log_t
        log_cumulative_hazard = log_rate + _log_mean_growth(log_ratio)
        return log_cumulative_hazard, log_rate + log_ratio

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        return cls(-location, torch.zeros_like(location))

    def rescaled(self, log_factor: Tensor | float) -> Self:
        factor = torch.as_tensor(log_factor, dtype=self.aging.dtype, device=self.aging.device)
        return type(self)(self.log_rate - factor, self.aging * torch.exp(-factor))

    def cure_fraction(self) -> Tensor:
        has_cure = self.aging < 0
        aging = torch.where(has_cure, self.aging, -1.0)
        cured = torch.exp(torch.exp(self.log_rate) / aging)
        return torch.where(has_cure, cured, 0.0)

    def tail_index(self) -> Tensor:
        return torch.where(self.aging < 0, torch.zeros_like(self.aging), torch.inf)

    def steepness(self) -> Tensor:
        # the slope of log H is about 1 + aging * t; at H = 5 aging * t is log(1 + 5 aging / rate)
        aging = self.aging.clamp(min=0.0)
        return 1 + torch.log1p(5 * aging * torch.exp(-self.log_rate))


def _log_mean_growth(y: Tensor) -> Tensor:
    """Return ``log((exp(y) - 1) / y)``, by its series near 0."""
    small = y.clamp(-_SERIES_LIMIT, _SERIES_LIMIT)
    series = small / 2 + small**2 / 24 - small**4 / 2880 + small**6 / 181440
    size = y.abs().clamp(min=_SERIES_LIMIT)
    log_size = torch.log(size)
    large = torch.clamp(y, min=0.0) + log1mexp(size, log_size) - log_size
    return torch.where(y.abs() < _SERIES_LIMIT, series, large)
