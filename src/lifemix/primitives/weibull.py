"""Weibull times, the paper's first primitive (its table prints the survival function in the row called CDF)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from .base import LogLocationScale
from .stable import LOG_LIMIT, log1mexp, log_expm1, saturate

__all__ = ["Weibull"]


@dataclass(frozen=True, eq=False)
class Weibull(LogLocationScale):
    """Weibull times: ``S(t) = exp(-(t / scale) ** shape)``.

    The paper's beta is the scale and its eta the shape; both stay positive because their logarithms are the parameters.
    The log cumulative hazard ``shape * log(t / scale)`` saturates at 80.
    """

    log_shape: Tensor
    log_scale: Tensor
    shift_activation: ClassVar[str] = "selu"

    @property
    def location(self) -> Tensor:
        return self.log_scale

    @property
    def log_precision(self) -> Tensor:
        return self.log_shape

    @classmethod
    def from_location(cls, location: Tensor, log_precision: Tensor) -> Self:
        return cls(log_precision, location)

    @staticmethod
    def standard(z: Tensor, happened: Tensor) -> tuple[Tensor, Tensor]:
        z = z.clamp(max=LOG_LIMIT)
        hazard_so_far = z.exp()
        return z.mul_(happened).sub_(hazard_so_far), happened - hazard_so_far

    @staticmethod
    def standard_survival(z: Tensor) -> Tensor:
        return z.exp_().neg_().exp_()  # beyond the limit of the log cumulative hazard 0 as well

    def log_cumulative_hazard(self, t: Tensor) -> Tensor:
        """``log H(t) = shape * log(t / scale)``."""
        return saturate(self.z(t))

    def log_survival(self, t: Tensor) -> Tensor:
        return -self.log_cumulative_hazard(t).exp()

    def log_pdf(self, t: Tensor) -> Tensor:
        log_hazard_so_far = self.log_cumulative_hazard(t)
        return self._log_rate(t, log_hazard_so_far) - log_hazard_so_far.exp()

    def log_hazard(self, t: Tensor) -> Tensor:
        return self._log_rate(t, self.log_cumulative_hazard(t))

    def _log_rate(self, t: Tensor, log_cumulative_hazard: Tensor) -> Tensor:
        rate = self.log_jacobian(t) + log_cumulative_hazard
        # At the origin the hazard is infinite, 1 / scale or zero as the shape is below, at or above 1.
        at_origin = torch.where(self.log_shape == 0, -self.log_scale, -torch.sign(self.log_shape) * torch.inf)
        return torch.where(t == 0, at_origin, rate)

    def log_cdf(self, t: Tensor) -> Tensor:
        log_h = self.log_cumulative_hazard(t)
        return log1mexp(log_h.exp(), log_h)

    def _log_interval(self, lower: Tensor, upper: Tensor) -> Tensor:
        # H(upper) - H(lower) = H(lower) * (exp(spread) - 1)
        log_difference = saturate(self.z(lower) + log_expm1(*self.spread(lower, upper)))
        return self.log_survival(lower) + log1mexp(log_difference.exp(), log_difference)

    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        return torch.exp(self.log_scale + torch.log(-log_s) * torch.exp(-self.log_shape))

    def mean(self) -> Tensor:
        return torch.exp(self._log_mean())

    def _log_mean(self) -> Tensor:
        return self.log_scale + torch.lgamma(1 + torch.exp(-self.log_shape))

    def rmst(self, t: Tensor) -> Tensor:
        """``mean * P(1 / shape, H(t))`` with the regularised incomplete gamma function P."""
        order, h = torch.exp(-self.log_shape), self.log_cumulative_hazard(t).exp()
        order, h = torch.broadcast_tensors(order, h)
        share = torch.special.gammainc(order, h)
        early = t * torch.exp(-h) / (1 - h / (order + 1)).clamp(min=0.5)  # where P underflows, H is far below 1 / shape
        return torch.where(share > 0, torch.exp(self._log_mean() + torch.log(share)), early)

    def mean_beyond(self, t: Tensor) -> Tensor:
        order, h = torch.broadcast_tensors(torch.exp(-self.log_shape), self.log_cumulative_hazard(t).exp())
        return torch.exp(self._log_mean() + torch.log(torch.special.gammaincc(order, h)))

    def tail_index(self) -> Tensor:
        return torch.full_like(self.log_shape, torch.inf)
