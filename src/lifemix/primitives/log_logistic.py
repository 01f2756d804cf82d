"""Log-logistic times, which are not in the paper: a heavy tail."""

from __future__ import annotations

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
    >>> times.log_survival(torch.tensor(3.0)).exp()
    tensor(0.2500)
    """

    log_shape: Tensor
    log_scale: Tensor
    standard_tail: ClassVar[float] = 1.0

    @staticmethod
    def standard(z: Tensor, happened: Tensor) -> tuple[Tensor, Tensor]:
        times = 1 + happened
        value = happened * z + times * logsigmoid(-z)
        return value, happened - times * torch.sigmoid(z)

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
        cumulative_hazard = -log_s
        z = log_expm1(cumulative_hazard, torch.log(cumulative_hazard))
        return self.time_at(z)
