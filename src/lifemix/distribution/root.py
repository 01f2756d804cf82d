"""Solve ``log S(t) = value`` by Newton's method on log time against log cumulative hazard, kept inside a bracket.

For a Weibull that curve is a straight line, and for mixtures it is close to one, so a few steps are enough.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["invert"]

_MAX_STEPS = 200
_TOLERANCE = 1e-13


def invert(
    log_survival: Callable[[Tensor], Tensor],
    log_cdf: Callable[[Tensor], Tensor],
    log_pdf: Callable[[Tensor], Tensor],
    log_s: Tensor,
    low: Tensor,
    high: Tensor,
) -> Tensor:
    """Return the times at which ``log S`` equals ``log_s``; ``low`` and ``high`` are log times around them."""
    inside = (log_s < 0) & (log_s > -torch.inf)
    goal = torch.log(-torch.where(inside, log_s, -1.0))
    low, high = torch.where(inside, low, 0.0), torch.where(inside, high, 0.0)
    x = (low + high) / 2
    for _ in range(_MAX_STEPS):
        t = torch.exp(x)
        survival, cdf = log_survival(t), log_cdf(t)
        # log H = log(-log S); where S is close to 1, H = -log1p(-F) keeps the digits
        cumulative_hazard = torch.where(cdf < -1.0, -torch.log1p(-torch.exp(cdf)), -survival)
        gap = torch.log(cumulative_hazard) - goal
        low, high = torch.where(gap < 0, x, low), torch.where(gap < 0, high, x)
        slope = torch.exp(log_pdf(t) - survival + x) / cumulative_hazard  # d log H / d log t
        step = -gap / slope
        settled = (step.abs() <= _TOLERANCE * (1 + x.abs())) | (high - low <= _TOLERANCE * (1 + x.abs()))
        if bool(settled.all()):
            break
        newton = x + step
        usable = (newton >= low) & (newton <= high)  # false for NaN, too
        x = torch.where(settled, x, torch.where(usable, newton, (low + high) / 2))
    t = torch.where(log_s >= 0, 0.0, torch.exp(x))
    return torch.where(log_s == -torch.inf, torch.inf, t)
