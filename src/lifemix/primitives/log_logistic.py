"""Log-logistic times, which are not in the paper: a heavy tail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from .log_location_scale import LogLocationScale
from .stable import log1mexp

__all__ = ["LogLogistic"]

_TERMS = 45  # exp(-45) is below the rounding of a double: the series below run in powers of exp(-1)
_NODES, _WEIGHTS = (torch.from_numpy(part) for part in np.polynomial.legendre.leggauss(40))


@dataclass(frozen=True, eq=False)
class LogLogistic(LogLocationScale, name="loglogistic", label="log-logistic"):
    """Log-logistic times: ``S(t) = 1 / (1 + (t / scale) ** shape)``; the mean is infinite for shapes up to 1.

    Parameters
    ----------
    log_shape : Tensor
        The logarithm of the shape.
    log_scale : Tensor
        The logarithm of the scale, in the unit of the times.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import LogLogistic
    >>> times = LogLogistic(log_shape=torch.tensor(0.0), log_scale=torch.tensor(0.0))
    >>> times.log_survival(torch.tensor(3.0)).exp(), times.mean()
    (tensor(0.2500), tensor(inf))
    """

    log_shape: Tensor
    log_scale: Tensor
    standard_tail: ClassVar[float] = 1.0
    survival_javascript: ClassVar[str] = "(z) => 1 / (1 + Math.exp(z))"
    density_javascript: ClassVar[str] = (
        "(z) => { const e = Math.exp(-Math.abs(z)); return e / ((1 + e) * (1 + e)); }"
    )

    @staticmethod
    def standard(z: Tensor, happened: Tensor) -> tuple[Tensor, Tensor]:
        times = 1 + happened
        return happened * z + times * logsigmoid(-z), happened - times * torch.sigmoid(z)

    @classmethod
    def standard_before(cls, z: Tensor) -> tuple[Tensor, Tensor]:
        return logsigmoid(z), torch.sigmoid(-z)

    @classmethod
    def standard_between(
        cls, z: Tensor, width: Tensor, log_width: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        upper, width = z + width, width.clamp(min=1e-30)
        left = torch.sigmoid(-upper)
        value = logsigmoid(upper).add_(logsigmoid(-z)).add_(log_width)
        value += torch.expm1(-width).div_(width).neg_().log_()
        return value, left - torch.sigmoid(z), left.mul(width).add_(width / torch.expm1(width))

    @staticmethod
    def standard_survival(z: Tensor) -> Tensor:
        return z.neg_().sigmoid_()

    @staticmethod
    def standard_density(z: Tensor) -> Tensor:
        return torch.sigmoid(z) * torch.sigmoid(-z)

    @classmethod
    def standard_survival_and_density(cls, z: Tensor) -> tuple[Tensor, Tensor]:
        survival = torch.sigmoid(-z)
        return survival, z.sigmoid_().mul_(survival)

    def log_survival(self, t: Tensor) -> Tensor:
        return logsigmoid(-self.z(t))

    def log_cdf(self, t: Tensor) -> Tensor:
        return logsigmoid(self.z(t))

    def log_pdf(self, t: Tensor) -> Tensor:
        z = self.z(t)
        inside = self.log_jacobian(t) + logsigmoid(z) + logsigmoid(-z)
        at_origin = torch.where(
            self.log_shape == 0, -self.log_scale, -torch.sign(self.log_shape) * torch.inf
        )
        return torch.where(t == 0, at_origin, inside)

    def _log_interval(self, lower: Tensor, upper: Tensor) -> Tensor:
        spread, log_spread = self.spread(lower, upper)
        z = self.z(lower)
        return logsigmoid(z + spread) + logsigmoid(-z) + log1mexp(spread, log_spread)

    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        log_odds = -log_s + log1mexp(-log_s, torch.log(-log_s))
        return torch.exp(self.log_scale + log_odds * torch.exp(-self.log_shape))

    def mean(self) -> Tensor:
        angle = math.pi * torch.exp(-self.log_shape)
        finite = (
            torch.exp(self.log_scale)
            * angle
            / torch.sin(torch.where(self.log_shape > 0, angle, 1.0))
        )
        return torch.where(self.log_shape > 0, finite, torch.inf)

    def rmst(self, t: Tensor) -> Tensor:
        # In three parts of z: a series to -1, Gauss-Legendre to 1, a series beyond.
        z, shape, log_scale = torch.broadcast_tensors(
            self.z(t), torch.exp(self.log_shape), self.log_scale
        )
        early = _power_series(z.clamp(-1e30, -1.0), shape)
        middle = _middle(z.clamp(-1.0, 1.0), shape)
        late = _late(z.clamp(min=1.0), shape)
        return torch.exp(log_scale) * (early + middle + late)

    def mean_beyond(self, t: Tensor) -> Tensor:
        z, shape, log_scale = torch.broadcast_tensors(
            self.z(t), torch.exp(self.log_shape), self.log_scale
        )
        far = torch.exp(log_scale) * _beyond(z.clamp(min=1.0), shape)
        inside = torch.where(z > 1, far, self.mean() - self.rmst(t))
        return torch.where(shape > 1, inside, torch.inf)


def _power_series(z: Tensor, shape: Tensor) -> Tensor:
    """Integrate S of scale 1 from 0 to z <= -1: ``t * sum (-1)**n exp(n z) / (1 + n shape)``."""
    n = torch.arange(_TERMS, dtype=z.dtype, device=z.device)
    signs = 1 - 2 * (n % 2)
    return torch.exp(z / shape) * (
        signs * torch.exp(n * z[..., None]) / (1 + n * shape[..., None])
    ).sum(-1)


def _middle(z: Tensor, shape: Tensor) -> Tensor:
    """Integrate S of scale 1 over z from -1 to at most 1; ``dt = exp(z / shape) dz / shape``."""
    nodes, weights = (part.to(z) for part in (_NODES, _WEIGHTS))
    half = (z + 1)[..., None] / 2
    at = -1 + half * (nodes + 1)
    inner = torch.exp(logsigmoid(-at) + at / shape[..., None])
    return (half * weights * inner).sum(-1) / shape


def _late(z: Tensor, shape: Tensor) -> Tensor:
    """Integrate S of scale 1 from z = 1 to z, by powers of ``exp(-z)``; power 1 - n shape = 0 is a logarithm."""
    n = torch.arange(1, _TERMS + 1, dtype=z.dtype, device=z.device)
    signs = 2 * (n % 2) - 1
    power = (1 - n * shape[..., None]) / shape[..., None]  # of exp(z)
    length = (z - 1)[..., None]
    growth = torch.where(power.abs() * length < 1e-12, length, torch.expm1(power * length) / power)
    return (signs * torch.exp(power) * growth).sum(-1) / shape


def _beyond(z: Tensor, shape: Tensor) -> Tensor:
    """Integrate S of scale 1 from z >= 1 to infinity, for shapes above 1."""
    n = torch.arange(1, _TERMS + 1, dtype=z.dtype, device=z.device)
    signs = 2 * (n % 2) - 1
    return torch.exp(z / shape) * (
        signs * torch.exp(-n * z[..., None]) / (n * shape[..., None] - 1)
    ).sum(-1)
