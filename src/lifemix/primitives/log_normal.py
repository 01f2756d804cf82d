"""Log-normal times, the paper's second primitive."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from .log_location_scale import LogLocationScale
from .numeric import saturate, with_slope

__all__ = ["LogNormal"]

_Z_LIMIT = 3e17  # z**2 / 2 is then exp(80), where the log cumulative hazard saturates
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
_ASYMPTOTIC = 12.0  # a z beyond which Phi(-z) underflows in float32, and a few terms of its asymptotic series are exact
_SMALLEST_LOG = -600.0  # of a survival probability whose quantile PyTorch has


@dataclass(frozen=True, eq=False)
class LogNormal(LogLocationScale, name="lognormal", label="log-normal"):
    """Log-normal times: ``S(t) = Phi(-(log t - mu) / sigma)``.

    The paper's eta is mu and its beta is sigma, which stays positive because its logarithm is the parameter.

    Parameters
    ----------
    mu : Tensor
        The mean of log time.
    log_sigma : Tensor
        The logarithm of the standard deviation of log time.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import LogNormal
    >>> times = LogNormal(mu=torch.tensor(3.0), log_sigma=torch.tensor(0.0))
    >>> times.quantile(torch.tensor(0.5)).log()
    tensor(3.)
    """

    mu: Tensor
    log_sigma: Tensor
    shift_activation: ClassVar[str] = "tanh"
    location_name: ClassVar[str | None] = "mu"
    precision_sign: ClassVar[int] = -1
    standard_tail: ClassVar[float] = torch.inf

    @staticmethod
    def standard(z: Tensor, happened: Tensor) -> tuple[Tensor, Tensor]:
        z = z.clamp(-_Z_LIMIT, _Z_LIMIT)
        log_density = torch.square(z).mul_(-0.5).sub_(_HALF_LOG_2PI)
        survival = torch.erfc(z * _ROOT_HALF).mul_(0.5)
        hazard = log_density.exp().div_(survival)  # phi(z) / Phi(-z)
        log_survival = survival.log_()
        # Asymptotically the hazard is z (1 + u - 2 u^2 + 10 u^3 - 74 u^4 + ...), u = 1 / z^2.
        is_large = z > _ASYMPTOTIC
        large = z.clamp(min=_ASYMPTOTIC)
        u = large**-2
        asymptotic = large * (1 + u * (1 - u * (2 - u * (10 - u * (74 - 706 * u)))))
        hazard = torch.where(is_large, asymptotic, hazard)
        log_survival = torch.where(is_large, log_density - hazard.log(), log_survival)
        slope = torch.lerp(hazard, z, happened).neg_()
        return torch.lerp(log_survival, log_density, happened), slope

    @classmethod
    def standard_log_survival(cls, z: Tensor) -> Tensor:
        return _log_ndtr(-z)

    @classmethod
    def standard_log_cdf(cls, z: Tensor) -> Tensor:
        return _log_ndtr(z)

    @classmethod
    def standard_survival(cls, z: Tensor) -> Tensor:
        return z.mul_(_ROOT_HALF).erfc_().mul_(0.5)

    @classmethod
    def standard_survival_and_density(cls, z: Tensor) -> tuple[Tensor, Tensor]:
        density = torch.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        survival = cls.standard_survival(z)
        return survival, density

    def z(self, t: Tensor) -> Tensor:
        bounded_above = saturate(super().z(t), _Z_LIMIT)
        return -saturate(-bounded_above, _Z_LIMIT)

    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        # from F where S is close to 1, from S where it is small, by Newton's method where it underflows
        cdf = -torch.expm1(log_s.clamp(min=-1.0))
        early = torch.special.ndtri(cdf)
        survival = torch.exp(log_s.clamp(min=_SMALLEST_LOG))
        late = -torch.special.ndtri(survival)
        goal = log_s.clamp(min=-1e30)
        latest = torch.sqrt(-2 * goal.clamp(max=-100.0))
        for _ in range(4):
            log_survival, slope = self.standard(latest, latest.new_zeros(()))
            latest = latest + (goal - log_survival) / slope
        latest = torch.where(log_s > -torch.inf, latest, torch.inf)
        z = torch.where(log_s > _SMALLEST_LOG, late, latest)
        z = torch.where(log_s > -math.log(2), early, z)
        return self.time_at(z)


def _log_ndtr(x: Tensor) -> Tensor:
    """Return the log of the normal distribution function, with a gradient that is exact in float32.

    PyTorch 2.13 gives 64930 instead of 1e4 at x = -1e4.
    """
    constant = x.detach()
    value = torch.special.log_ndtr(constant)
    slope = math.sqrt(2 / math.pi) / torch.special.erfcx(-constant * _ROOT_HALF)
    return with_slope(x, value, slope)
