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
    is_inside = (log_s < 0) & (log_s > -torch.inf)
    row_index = is_inside.nonzero()[:, 0]
    goal = torch.log(-log_s[is_inside])  # [p], the log cumulative hazard
    low, high = torch.full_like(goal, _FIRST), torch.full_like(goal, _LAST)
    at_low, _ = curve(row_index, low)
    at_high, _ = curve(row_index, high)
    infinite = torch.full_like(goal, torch.inf)
    log_t = torch.where(at_low < goal, infinite, -infinite)
    has_root = ((at_low < goal) & (at_high >= goal)).nonzero()[:, 0]
    log_t[has_root] = _search(
        curve, row_index[has_root], goal[has_root], low[has_root], high[has_root]
    )
    t[is_inside] = torch.exp(log_t)
    return t


def _search(
    curve: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    row_index: Tensor,
    goal: Tensor,
    low: Tensor,
    high: Tensor,
) -> Tensor:
    """Return the log times at which each curve equals its goal, all ``[p]``."""
    roots, x = torch.zeros_like(goal), torch.zeros_like(goal)
    open_index = torch.arange(len(goal))
    last_step = high - low
    for iteration in range(_MAX_STEPS):
        if len(open_index) == 0:
            break
        value, slope = curve(row_index[open_index], x)
        gap = value - goal[open_index]
        low = torch.where(gap < 0, x, low)
        high = torch.where(gap < 0, high, x)
        tolerance = _TOLERANCE * (1 + x.abs())
        step = -gap / slope
        root = torch.where(step.isfinite(), x + step, x).clamp(low, high)
        roots[open_index] = root
        step = step + torch.sign(step) * tolerance / 2  # beyond the root: closes the bracket
        newton = x + step
        is_shrinking = step.abs() <= last_step / 2
        is_usable = (newton > low) & (newton < high) & is_shrinking  # not NaN
        is_usable &= iteration < _NEWTON_STEPS
        last_step = torch.where(is_usable, step.abs(), (high - low) / 2)
        x = torch.where(is_usable, newton, (low + high) / 2)
        is_open = (high - low > tolerance) & (gap != 0)
        open_index, x, low, high, last_step = (
            values[is_open] for values in (open_index, x, low, high, last_step)
        )
    return roots
