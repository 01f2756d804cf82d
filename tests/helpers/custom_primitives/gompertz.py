"""Gompertz times: two parameters, and no log-location-scale family."""

from dataclasses import dataclass

import torch
from torch import Tensor

from lifemix.primitives import Primitive
from lifemix.primitives.numeric import log_expm1, saturate


@dataclass(frozen=True, eq=False)
class Gompertz(Primitive, name="own-gompertz", label="own Gompertz"):
    """``S(t) = exp(-eta (exp(t / scale) - 1))``: a hazard that rises exponentially."""

    log_eta: Tensor
    log_scale: Tensor
    location_name = "log_scale"
    shift_activation = "selu"

    def log_cumulative_hazard(self, t):
        log_x = saturate(
            torch.log(t) - self.log_scale, 4.0
        )  # exp(54) is the end, beyond every cumulative hazard
        return saturate(self.log_eta + log_expm1(torch.exp(log_x), log_x))

    def log_survival(self, t):
        return -torch.exp(self.log_cumulative_hazard(t))

    def log_pdf(self, t):
        x = torch.exp(saturate(torch.log(t) - self.log_scale, 4.0))
        return self.log_eta - self.log_scale + x + self.log_survival(t)

    def inverse_log_survival(self, log_s):
        return torch.exp(self.log_scale) * torch.log1p(-log_s * torch.exp(-self.log_eta))

    def rescaled(self, log_factor):
        return Gompertz(self.log_eta, self.log_scale + log_factor)

    def tail_index(self):
        return torch.full_like(self.log_eta, torch.inf)
