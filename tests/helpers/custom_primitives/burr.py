"""Burr XII times: three parameters, and nothing beyond what every primitive must declare."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import softplus

from lifemix.primitives import Primitive
from lifemix.primitives.numeric import standardise


@dataclass(frozen=True, eq=False)
class Burr(Primitive, name="own-burr", label="own Burr XII"):
    """``S(t) = (1 + (t / scale) ** shape) ** -tail``."""

    log_shape: Tensor
    log_scale: Tensor
    log_tail: Tensor
    location_name = "log_scale"

    def log_survival(self, t):
        return -torch.exp(self.log_tail) * softplus(
            standardise(torch.log(t), self.log_scale, self.log_shape)
        )

    def log_pdf(self, t):
        log_t = torch.log(t.clamp(min=torch.finfo(t.dtype).tiny))
        z = standardise(log_t, self.log_scale, self.log_shape)
        return (
            self.log_tail
            + self.log_shape
            - log_t
            + z
            - (1 + torch.exp(self.log_tail)) * softplus(z)
        )

    def rescaled(self, log_factor):
        return Burr(self.log_shape, self.log_scale + log_factor, self.log_tail)

    def tail_index(self):
        return torch.exp(self.log_shape + self.log_tail)
