"""Solve ``log S(t) = value`` for t by Newton's method within a bracket.

The log cumulative hazard of a Weibull distribution is linear in log time, and that of a mixture is
nearly so: Newton's method on it needs few steps. A step that leaves the bracket, or is more than
half as long as the one before, is replaced by bisection. The search ends when the bracket has closed
from both sides, because a short step proves nothing where S is flat.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["invert"]

_TOLERANCE = 1e-13
_NEWTON_STEPS, _MAX_STEPS = 60, 120  # the later ones are bisections
_FIRST, _LAST = -744.0, 709.7  # log times whose exponentials are numbers


def invert(curve: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], log_s: Tensor) -> Tensor:
    """Return the times at which ``log S`` is ``log_s``, ``[rows, values]``; infinite if it never falls so far.

    Parameters
    ----------
    curve : callable
        From row indices ``[p]`` and a log time for each of them: the log cumulative hazard and its derivative.
    log_s : Tensor
        Log survival probabilities, ``[rows, values]``.
    """
    t = torch.where(log_s < 0, torch.inf, torch.zeros_like(log_s))
    inside = (log_s < 0) & (log_s > -torch.inf)
    row_index, goal = inside.nonzero()[:, 0], torch.log(-log_s[inside])
    low, high = torch.full_like(goal, _FIRST), torch.full_like(goal, _LAST)
    log_t = torch.where(
        curve(row_index, low)[0] < goal, torch.full_like(goal, torch.inf), -torch.inf
    )
    reached = ((log_t > 0) & (curve(row_index, high)[0] >= goal)).nonzero()[:, 0]
    log_t[reached] = _search(curve, row_index[reached], goal[reached], low[reached], high[reached])
    t[inside] = torch.exp(log_t)
    return t


def _search(
    curve: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    row_index: Tensor,
    goal: Tensor,
    low: Tensor,
    high: Tensor,
) -> Tensor:
    """Return the log times at which each curve equals its goal, all ``[p]``."""
    roots, open_index = torch.zeros_like(goal), torch.arange(len(goal))
    x, last_step = torch.zeros_like(goal), high - low
    for iteration in range(_MAX_STEPS):
        if len(open_index) == 0:
            break
        value, slope = curve(row_index[open_index], x)
        gap = value - goal[open_index]
        low, high = torch.where(gap < 0, x, low), torch.where(gap < 0, high, x)
        tolerance = _TOLERANCE * (1 + x.abs())
        step = -gap / slope
        root = torch.where(step.isfinite(), x + step, x).clamp(low, high)
        roots[open_index] = root
        step = step + torch.sign(step) * tolerance / 2  # beyond the root: closes the bracket
        is_usable = (x + step > low) & (x + step < high) & (step.abs() <= last_step / 2)  # not NaN
        is_usable &= iteration < _NEWTON_STEPS
        last_step = torch.where(is_usable, step.abs(), (high - low) / 2)
        x = torch.where(is_usable, x + step, (low + high) / 2)
        is_open = (high - low > tolerance) & (gap != 0)
        open_index, x, low, high, last_step = (
            values[is_open] for values in (open_index, x, low, high, last_step)
        )
    return roots
