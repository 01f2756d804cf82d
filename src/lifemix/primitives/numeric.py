"""Functions of a primitive by numerical methods, for all that it does not know in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ..devices import constants
from .stable import log1mexp

if TYPE_CHECKING:
    from .base import Primitive

__all__ = [
    "LOG_TIMES",
    "NARROW_CHANGE",
    "bisect",
    "gauss_legendre",
    "integral_of_survival",
    "inverse_log_survival",
    "log_cdf",
    "log_interval",
    "log_of_complement",
]

LOG_TIMES = {
    torch.float32: 85.0,
    torch.float64: 700.0,
}  # exp of it is a number, and so is one over it
_BISECTIONS = 64
_CLOSE = {torch.float32: 1e-6, torch.float64: 1e-12}  # of log times that are found
_NEAR = 0.01  # a short step from farther away is a slope that was lost in rounding
NARROW_CHANGE = 0.1  # a change of log S, or of log F, over which a density is smooth
# -log S at the ends of the panels of an integral
_LEVELS = [*np.exp(np.linspace(-37, 0, 19)), 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 300.0, 600.0]
_AT_ONCE = 1 << 14  # distributions that are integrated at once


def gauss_legendre(n: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return nodes and weights on [0, 1]."""
    nodes, weights = _legendre(n)(like.device)
    return nodes.to(like.dtype), weights.to(like.dtype)


@lru_cache(maxsize=16)
def _legendre(n: int) -> Callable[[torch.device], tuple[Tensor, ...]]:
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return constants((nodes + 1) / 2, weights / 2)


def log_of_complement(log_s: Tensor, log_rest: Tensor) -> Tensor:
    """``log(1 - exp(log_s))``, which is ``log_rest``, about, where ``log_s`` is all but 0."""
    seen = log_s < -1e8 * torch.finfo(log_s.dtype).tiny  # its inverse may still be multiplied
    loss = -torch.where(seen, log_s, -1.0)
    return torch.where(seen, log1mexp(loss, torch.log(loss)), log_rest)


def log_cdf(primitive: Primitive, t: Tensor) -> Tensor:
    """``log F(t)`` from ``log S(t)``; about ``log t f(t)`` where that underflows."""
    positive = torch.where(t > 0, t, 1.0)
    inside = log_of_complement(
        primitive.log_survival(positive), primitive.log_pdf(positive) + torch.log(positive)
    )
    return torch.where(t > 0, inside, -torch.inf)


def log_interval(primitive: Primitive, lower: Tensor, upper: Tensor) -> Tensor:
    """``log P(lower < T <= upper)``.

    The difference of S, or of F before the median, in logarithms. If they hardly differ, the integral of the density
    over log time by a rule of 5 points, unless a kink of the density is inside and the difference keeps its digits.
    """
    from_origin = lower <= 0
    low = torch.where(from_origin, upper / 2, lower)
    by_cdf = primitive.log_cdf(upper)
    early = by_cdf < -math.log(2)
    larger = torch.where(early, by_cdf, primitive.log_survival(low))
    smaller = torch.where(early, primitive.log_cdf(low), primitive.log_survival(upper))
    change = larger - smaller
    narrow = change < NARROW_CHANGE
    kinks = primitive.kinks()
    if kinks is not None:
        has_kink = (
            (kinks > torch.log(low)[..., None]) & (kinks < torch.log(upper)[..., None])
        ).any(-1)
        narrow = narrow & ~(has_kink & (change > torch.finfo(change.dtype).eps ** 0.5))
    change = torch.where(narrow, 1.0, change)
    wide = larger + log1mexp(change, torch.log(change))
    span = torch.where(narrow, torch.log1p((upper - low) / low), 0.01)
    nodes, weights = gauss_legendre(5, span)
    x = torch.log(low)[..., None] + span[..., None] * nodes
    at_nodes = primitive.map(lambda parameter: parameter[..., None]).log_pdf(torch.exp(x)) + x
    inside = torch.logsumexp(at_nodes + torch.log(weights), dim=-1) + torch.log(span)
    return torch.where(from_origin, by_cdf, torch.where(narrow, inside, wide))


@torch.no_grad()
def inverse_log_survival(primitive: Primitive, log_s: Tensor) -> Tensor:
    """Return the times at which ``log S`` is ``log_s``: Newton's steps on the axis of log time inside a bracket.

    They aim at the logarithm of F before the median and at that of S behind it; the bracket is halved where they leave
    it or where one is more than half as long as the one before.
    """
    limit = LOG_TIMES[log_s.dtype]
    log_s = torch.broadcast_tensors(log_s, *primitive.parameters)[0]
    inside = (log_s < 0) & (log_s > -torch.inf)
    goal = torch.where(inside, log_s, -1.0)
    if torch.compiler.is_exporting():  # a program cannot tell when to stop
        x = bisect(
            lambda at: primitive.log_survival(torch.exp(at)) > goal,
            torch.full_like(goal, -limit),
            limit,
        )
    else:
        x = _newton(primitive, goal, limit)
    t = torch.where(x < limit * (1 - 1e-6), torch.exp(x), torch.inf)
    return torch.where(log_s < 0, torch.where(inside, t, torch.inf), 0.0)


def _newton(primitive: Primitive, goal: Tensor, limit: float) -> Tensor:
    """Return the log times at which ``log S`` is the goal."""
    log_f = log_of_complement(goal, torch.log(-goal))
    early = log_f < goal
    low, high = torch.full_like(goal, -limit), torch.full_like(goal, limit)
    x, before = torch.zeros_like(goal), torch.full_like(goal, 4 * limit)
    close = _CLOSE[goal.dtype]
    for _ in range(2 * _BISECTIONS):
        t = torch.exp(x)
        survival, cdf, density = (
            primitive.log_survival(t),
            primitive.log_cdf(t),
            primitive.log_pdf(t) + x,
        )
        gap = torch.where(early, cdf - log_f, goal - survival)
        low, high = torch.where(gap < 0, x, low), torch.where(gap < 0, high, x)
        step = -gap * torch.exp(torch.where(early, cdf, survival) - density)
        narrow = high - low <= close * (1 + x.abs())
        settled = (step.abs() <= close * (1 + x.abs())) & (
            gap.abs() <= _NEAR * (1 + goal.abs())
        ) | narrow
        if bool(settled.all()):
            break
        newton = x + step
        usable = (newton > low) & (newton < high) & (step.abs() < before / 2)  # false for NaN, too
        before = torch.where(usable, step.abs(), (high - low) / 2)
        x = torch.where(settled, x, torch.where(usable, newton, (low + high) / 2))
    return x


def bisect(before: Callable[[Tensor], Tensor], low: Tensor, limit: float) -> Tensor:
    """Return where a condition that holds at first ceases to hold, between ``low`` and ``limit``."""
    high = torch.full_like(low, limit)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        holds = before(middle)
        low, high = torch.where(holds, middle, low), torch.where(holds, high, middle)
    return (low + high) / 2


@torch.no_grad()
def integral_of_survival(primitive: Primitive, start: Tensor, stop: Tensor | None) -> Tensor:
    """Integrate S from start to stop, or to infinity where that is None.

    Gauss-Legendre rules on the axis of log time, in panels between quantiles. S is 1 before the first, and falls as a
    power of time, if at all, behind the last.
    """
    to_infinity = stop is None
    ends = torch.broadcast_tensors(start, start if stop is None else stop, *primitive.parameters)
    flat = [part.reshape(-1).split(_AT_ONCE) for part in ends]
    parts = [
        _integrate(type(primitive)(*parameters), low, None if to_infinity else high)
        for low, high, *parameters in zip(*flat, strict=True)
    ]
    return torch.cat(parts).reshape(ends[0].shape)


def _more_edges(primitive: Primitive, edges: Tensor, high: Tensor) -> list[Tensor]:
    """Return edges beside the quantiles: kinks, and where S ends in a plateau, steps back from the end."""
    more = []
    kinks = primitive.kinks()
    if kinks is not None:
        more.append(torch.minimum(torch.maximum(kinks, edges[:, :1]), edges[:, -1:]))
    if bool((primitive.cure_fraction() > 0).any()):
        back = high[:, None] - torch.tensor([2.0**power for power in range(11)]).to(high)
        more.append(torch.minimum(torch.maximum(back, edges[:, :1]), edges[:, -1:]))
    return more


def _integrate(primitive: Primitive, start: Tensor, stop: Tensor | None) -> Tensor:
    column = primitive.map(lambda parameter: parameter[:, None])
    quantiles = column.inverse_log_survival(-torch.tensor(_LEVELS).to(start))  # [n, levels]
    edges = torch.log(quantiles).clamp(max=LOG_TIMES[start.dtype])
    low = torch.log(start)
    high = edges[:, -1] if stop is None else torch.log(stop)
    edges = torch.cat([edges, *_more_edges(primitive, edges, high)], dim=1).sort(dim=1).values
    end = torch.exp(high)
    total = (torch.minimum(quantiles[:, 0], end) - start).clamp(min=0)
    nodes, weights = gauss_legendre(20, start)
    bounded = torch.minimum(torch.maximum(edges, low[:, None]), high[:, None])
    for a, b in zip(bounded.unbind(1)[:-1], bounded.unbind(1)[1:], strict=True):
        if bool((b > a).any()):
            width = (b - a)[:, None]
            x = torch.where(width > 0, a[:, None] + width * nodes, 0.0)
            total = total + (
                torch.exp(column.log_survival(torch.exp(x)) + x) * width * weights
            ).sum(1)
    if stop is not None:
        return total
    index = primitive.tail_index().broadcast_to(start.shape)
    last = torch.maximum(end, start)
    tail = last * torch.exp(primitive.log_survival(last)) / (index - 1)
    return torch.where(index > 1, total + tail, torch.inf)
