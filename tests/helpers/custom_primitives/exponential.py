"""Exponential times: one parameter."""

from dataclasses import dataclass

import torch
from torch import Tensor

from lifemix.primitives import Primitive
from lifemix.primitives.numeric import saturate


@dataclass(frozen=True, eq=False)
class Exponential(Primitive, name="own-exponential", label="own exponential"):
    """``S(t) = exp(-rate t)``."""

    log_rate: Tensor

    def log_survival(self, t):
        return -torch.exp(saturate(self.log_rate + torch.log(t)))

    def log_pdf(self, t):
        return self.log_rate + self.log_survival(t)

    def rescaled(self, log_factor):
        return Exponential(self.log_rate - log_factor)

    def tail_index(self):
        return torch.full_like(self.log_rate, torch.inf)
