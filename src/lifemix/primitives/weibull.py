"""Weibull times, the paper's first primitive (its table prints the survival function in the row called CDF)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from .log_location_scale import LogLocationScale
from .stable import LOG_LIMIT, log1mexp, log_expm1, saturate

__all__ = ["Weibull"]

_LEAST = 1e-30  # below it (1 - exp(-x)) / x is 1


@dataclass(frozen=True, eq=False)
class Weibull(LogLocationScale, name="weibull", label="Weibull"):
    """Weibull times: ``S(t) = exp(-(t / scale) ** shape)``.

    The paper's beta is the scale and its eta the shape; both stay positive because their logarithms are the parameters.
    The log cumulative hazard ``shape * log(t / scale)`` saturates at 80.

    Parameters
    ----------
    log_shape : Tensor
        The logarithm of the shape.
    log_scale : Tensor
        The logarithm of the scale, in the unit of the times.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import Weibull
    >>> exponential = Weibull(log_shape=torch.tensor(0.0), log_scale=torch.tensor(2.0).log())
    >>> exponential.log_survival(torch.tensor([1.0, 4.0]))
    tensor([-0.5000, -2.0000])
    >>> exponential.mean()
    tensor(2.)
    """

    log_shape: Tensor
    log_scale: Tensor
    standard_tail: ClassVar[float] = torch.inf
    survival_javascript: ClassVar[str] = "(z) => Math.exp(-Math.exp(Math.min(z, LOG_LIMIT)))"
    density_javascript: ClassVar[str] = (
        "(z) => { z = Math.min(z, LOG_LIMIT); return Math.exp(z - Math.exp(z)); }"
    )

    @staticmethod
    def standard(z: Tensor, happened: Tensor) -> tuple[Tensor, Tensor]:
        z = z.clamp(max=LOG_LIMIT)
        cumulative_hazard = z.exp()
        return z.mul_(happened).sub_(cumulative_hazard), happened - cumulative_hazard

    @classmethod
    def standard_before(cls, z: Tensor) -> tuple[Tensor, Tensor]:
        z = z.clamp(max=LOG_LIMIT)
        cumulative_hazard = z.exp().clamp_(min=_LEAST)
        return z.add_(_log_mean_decay(cumulative_hazard)), cumulative_hazard / torch.expm1(
            cumulative_hazard
        )

    @classmethod
    def standard_between(
        cls, z: Tensor, width: Tensor, log_width: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        # H grows by H(z) * (exp(width) - 1); 1 / mean_decay(x) is x / (1 - exp(-x))
        width = width.clamp(min=_LEAST)
        log_decay = _log_mean_decay(width)
        log_growth = (z + width).add_(log_decay).add_(log_width).clamp_(max=LOG_LIMIT)
        growth = log_growth.exp().clamp_(min=_LEAST)
        slope = growth / torch.expm1(growth)
        by_width = torch.exp(-log_decay).mul_(slope)
        cumulative_hazard = z.clamp(max=LOG_LIMIT).exp_()
        value = log_growth.add_(_log_mean_decay(growth)).sub_(cumulative_hazard)
        return value, slope.sub_(cumulative_hazard), by_width

    @staticmethod
    def standard_survival(z: Tensor) -> Tensor:
        return z.exp_().neg_().exp_()  # beyond the limit of the log cumulative hazard 0 as well

    @staticmethod
    def standard_density(z: Tensor) -> Tensor:
        return torch.exp(z.clamp(max=LOG_LIMIT) - torch.exp(z.clamp(max=LOG_LIMIT)))

    @classmethod
    def standard_survival_and_density(cls, z: Tensor) -> tuple[Tensor, Tensor]:
        cumulative_hazard = z.clamp_(max=LOG_LIMIT).exp_()
        survival = torch.neg(cumulative_hazard).exp_()
        return survival, cumulative_hazard.mul_(survival)

    def log_cumulative_hazard(self, t: Tensor) -> Tensor:
        """``log H(t) = shape * log(t / scale)``.

        Parameters
        ----------
        t : Tensor
            Times, which broadcast with the parameters.

        Returns
        -------
        Tensor
            The log cumulative hazard, at most 80.
        """
        return saturate(self.z(t))

    def log_survival(self, t: Tensor) -> Tensor:
        return -self.log_cumulative_hazard(t).exp()

    def log_pdf(self, t: Tensor) -> Tensor:
        log_cumulative_hazard = self.log_cumulative_hazard(t)
        return self._log_rate(t, log_cumulative_hazard) - log_cumulative_hazard.exp()

    def log_hazard(self, t: Tensor) -> Tensor:
        return self._log_rate(t, self.log_cumulative_hazard(t))

    def _log_rate(self, t: Tensor, log_cumulative_hazard: Tensor) -> Tensor:
        rate = self.log_jacobian(t) + log_cumulative_hazard
        # At the origin the hazard is infinite, 1 / scale or zero as the shape is below, at or above 1.
        at_origin = torch.where(
            self.log_shape == 0, -self.log_scale, -torch.sign(self.log_shape) * torch.inf
        )
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
        # mean * P(1 / shape, H(t)) with the regularised incomplete gamma function P
        order, h = torch.exp(-self.log_shape), self.log_cumulative_hazard(t).exp()
        order, h = torch.broadcast_tensors(order, h)
        share = torch.special.gammainc(order, h)
        early = (
            t * torch.exp(-h) / (1 - h / (order + 1)).clamp(min=0.5)
        )  # where P underflows, H is far below 1 / shape
        return torch.where(share > 0, torch.exp(self._log_mean() + torch.log(share)), early)

    def mean_beyond(self, t: Tensor) -> Tensor:
        order, h = torch.broadcast_tensors(
            torch.exp(-self.log_shape), self.log_cumulative_hazard(t).exp()
        )
        return torch.exp(self._log_mean() + torch.log(torch.special.gammaincc(order, h)))


def _log_mean_decay(x: Tensor) -> Tensor:
    """``log[(1 - exp(-x)) / x]`` for x > 0."""
    return torch.expm1(-x).div_(x).neg_().log_()
