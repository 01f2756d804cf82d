"""Log-logistic times, which are not in the paper: a heavy tail."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from .log_location_scale import LogLocationScale
from .numeric import log_expm1

__all__ = ["LogLogistic"]


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

    @staticmethod
    def standard(z: Tensor, happened: Tensor) -> tuple[Tensor, Tensor]:
        times = 1 + happened
        return happened * z + times * logsigmoid(-z), happened - times * torch.sigmoid(z)

    @classmethod
    def standard_log_cdf(cls, z: Tensor) -> Tensor:
        return logsigmoid(z)

    @classmethod
    def standard_survival(cls, z: Tensor) -> Tensor:
        return z.neg_().sigmoid_()

    @classmethod
    def standard_survival_and_density(cls, z: Tensor) -> tuple[Tensor, Tensor]:
        survival = torch.sigmoid(-z)
        return survival, z.sigmoid_().mul_(survival)

    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        return self.time_at(log_expm1(-log_s, torch.log(-log_s)))

    def mean(self) -> Tensor:
        has_mean = self.log_shape > 0
        angle = math.pi * torch.exp(-self.log_shape)
        mean = torch.exp(self.log_scale) * angle / torch.sin(torch.where(has_mean, angle, 1.0))
        return torch.where(has_mean, mean, torch.inf)
