"""Weibull times, the paper's first primitive (its table prints the survival function in the row called CDF)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from .log_location_scale import LogLocationScale
from .numeric import LOG_LIMIT, log1mexp, saturate

__all__ = ["Weibull"]


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
    """

    log_shape: Tensor
    log_scale: Tensor
    standard_tail: ClassVar[float] = torch.inf

    @staticmethod
    def standard(z: Tensor, happened: Tensor) -> tuple[Tensor, Tensor]:
        z = z.clamp(max=LOG_LIMIT)
        cumulative_hazard = z.exp()
        value = z.mul_(happened).sub_(cumulative_hazard)
        return value, happened - cumulative_hazard

    @classmethod
    def standard_log_cdf(cls, z: Tensor) -> Tensor:
        log_cumulative_hazard = saturate(z)
        return log1mexp(log_cumulative_hazard.exp(), log_cumulative_hazard)

    @classmethod
    def standard_survival(cls, z: Tensor) -> Tensor:
        return z.exp_().neg_().exp_()

    @classmethod
    def standard_survival_and_density(cls, z: Tensor) -> tuple[Tensor, Tensor]:
        cumulative_hazard = z.clamp_(max=LOG_LIMIT).exp_()
        survival = torch.neg(cumulative_hazard).exp_()
        return survival, cumulative_hazard.mul_(survival)

    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        return self.time_at(torch.log(-log_s))
