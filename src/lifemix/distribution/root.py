"""Solve ``log S(t) = value`` for log time: Newton's method on the log cumulative hazard, held by a bracket.

For a Weibull the log cumulative hazard is a straight line in log time, and for mixtures it is close to one, so a few
steps are enough. A step that leaves the bracket, or is not half of the one before, is replaced by bisection. A root
counts as found when the curve has been seen on both sides of it, closer together than the tolerance: where S is flat or
steep a short step alone proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["invert"]

_TOLERANCE = 1e-13
_NEWTON_STEPS = 60  # after so many steps only bisection
_MAX_STEPS = _NEWTON_STEPS + 60  # which needs no more than these
_FIRST, _LAST = -744.0, 709.7  # log times that are numbers

Curve = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def invert(curve: Curve, log_s: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Return the times at which ``log S`` equals ``log_s``, ``[rows, values]``.

    curve(rows, x): the log cumulative hazard of some rows ``[p]``, each at its own log time ``[p]``, and its slope.
    low, high: log times around the roots. Where the curve does not pass the value between them, it is searched
    everywhere; the time is infinite where S never falls so far.
    """
    inside = (log_s < 0) & (log_s > -torch.inf)
    rows = inside.nonzero()[:, 0]
    goal = torch.log(-log_s[inside])
    search = _Search(
        curve, rows, goal, low[inside].clamp(_FIRST, _LAST), high[inside].clamp(_FIRST, _LAST)
    )
    search.run()
    x = search.x
    lost = (~(search.low_seen & search.high_seen)).nonzero()[:, 0]
    if len(lost):
        x[lost] = _anywhere(curve, rows[lost], goal[lost])
    t = torch.where(log_s < 0, torch.inf, torch.zeros_like(log_s))
    t[inside] = torch.exp(x)
    return t


def _anywhere(curve: Curve, rows: Tensor, goal: Tensor) -> Tensor:
    """Return the log times at which the curve is at its goal; infinite where no log time is early or late enough."""
    first, last = torch.full_like(goal, _FIRST), torch.full_like(goal, _LAST)
    x = torch.where(curve(rows, first)[0] >= goal, -torch.inf, torch.full_like(goal, torch.inf))
    at = ((x > 0) & (curve(rows, last)[0] >= goal)).nonzero()[:, 0]
    search = _Search(curve, rows[at], goal[at], first[at], last[at])
    search.run()
    x[at] = search.x
    return x


class _Search:
    """Brackets that close around their roots, all ``[p]``; those that are closed are left alone."""

    def __init__(self, curve: Curve, rows: Tensor, goal: Tensor, low: Tensor, high: Tensor) -> None:
        self.curve, self.rows, self.goal = curve, rows, goal
        self.low, self.high = low.clone(), high.clone()
        self.low_seen, self.high_seen = (torch.zeros_like(rows, dtype=torch.bool) for _ in range(2))
        self.x = (low + high) / 2
        self.previous = (high - low) / 2  # the last step, which the next one has to halve

    def run(self) -> None:
        """Close all brackets."""
        at = torch.arange(len(self.rows))
        for step in range(_MAX_STEPS):
            if len(at) == 0:
                break
            at = at[~self._step(at, newton=step < _NEWTON_STEPS)]

    def _step(self, at: Tensor, newton: bool) -> Tensor:
        """Look at one more point of each bracket in ``at``; return which of them are closed."""
        x = self.x[at]
        value, slope = self.curve(self.rows[at], x)
        gap = value - self.goal[at]
        self.low_seen[at] |= gap <= 0
        self.high_seen[at] |= gap >= 0
        low, high = torch.where(gap < 0, x, self.low[at]), torch.where(gap < 0, self.high[at], x)
        tolerance = _TOLERANCE * (1 + x.abs())
        step = -gap / slope
        closed = (high - low <= tolerance) | (gap == 0)
        # A little beyond where Newton's step leads, so that the bracket closes from the other side, too
        ahead = x + step + torch.sign(step) * tolerance / 2
        good = (
            (ahead > low) & (ahead < high) & ((ahead - x).abs() <= self.previous[at] / 2)
        )  # false for NaN, too
        good &= torch.tensor(newton)
        following = torch.where(good, ahead, (low + high) / 2)
        at_end = torch.where(torch.isfinite(step), x + step, x).clamp(low, high)
        self.previous[at] = torch.where(good, (ahead - x).abs(), (high - low) / 2)
        self.low[at], self.high[at] = low, high
        self.x[at] = torch.where(closed, at_end, following)
        return closed
