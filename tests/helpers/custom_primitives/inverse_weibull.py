"""Inverse Weibull (Fréchet) times: the least that a log-location-scale family declares."""

from dataclasses import dataclass

import torch
from torch import Tensor

from lifemix.primitives import LogLocationScale
from lifemix.primitives.numeric import LOG_LIMIT, log1mexp


@dataclass(frozen=True, eq=False)
class InverseWeibull(LogLocationScale, name="inverse-weibull", label="inverse Weibull"):
    """``S(t) = 1 - exp(-(t / scale) ** -shape)``."""

    log_shape: Tensor
    log_scale: Tensor
    standard_tail = 1.0  # S falls like exp(-z)

    @staticmethod
    def standard(z, happened):
        z = z.clamp(min=-LOG_LIMIT)
        u = torch.exp(-z)  # -log F
        hazard = torch.where(u > 1e-6, u / torch.expm1(u), 1 - u / 2)
        return torch.lerp(log1mexp(u, -z), -z - u, happened), torch.lerp(-hazard, u - 1, happened)

    @classmethod
    def standard_log_cdf(cls, z):
        return -torch.exp(-z.clamp(min=-LOG_LIMIT))
