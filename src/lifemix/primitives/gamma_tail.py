"""The standardised log-gamma distribution and its tails, with derivatives in both arguments.

With ``a = 1 / q**2`` and G of the gamma distribution with shape a, ``w = log(G / a) / q`` has the density

    log g(w; q) = -log(2 pi) / 2 - delta(a) - w**2 * phi2(q w),    phi2(y) = (exp(y) - 1 - y) / y**2

where delta is the error of Stirling's formula. In this form nothing happens at q = 0, where w is standard normal.
Survival is an incomplete gamma function with a shape that depends on the parameters, which PyTorch cannot derive. Here
the tail beyond ``|w|`` is ``g`` times the integral of ``exp(-D(v))`` over the distance v from w, for a convex D that
has no scale but its own, by the double exponential rule ``v = s exp(x - exp(-x))``, as are its derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from .stable import log1mexp

__all__ = [
    "density",
    "inverse",
    "log_density",
    "log_moment",
    "log_tails",
    "survival",
    "survival_without_branches",
]

_FARTHEST = 1e8  # of w, and
_STEEPEST = 50.0  # of q w, where they saturate: log S is -1e20 or so there
_RULES = {
    torch.float32: (-2.7, 4.3, 0.28),
    torch.float64: (-3.4, 5.8, 0.165),
}  # first, last node, distance
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_LOG_ROOT_2_PI = math.log(2 * math.pi) / 2
_TERMS = {torch.float32: 5, torch.float64: 12}  # of the series
_MAX_STEPS = 60
_LEAST_Q = 0.01  # above, PyTorch's incomplete gamma functions have nine digits
_LEAST_TAIL = 1e-250  # below, they lose digits
_CLOSE = {
    torch.float32: 1e-5,
    torch.float64: 1e-11,
}  # the error is of the order of the square of the last step
_LINE = 1e-3  # of q, below which an exported program takes S for a line in q
_LOG_TINY = -60.0
_NEAR = 0.3  # where the series of phi are exact
_NEAR_LAMBDA = 0.08


class _LogDensity(torch.autograd.Function):
    """``log g(w; q)`` with its derivatives."""

    @staticmethod
    def forward(ctx: Any, w: Tensor, q: Tensor) -> Tensor:
        value, by_w, by_q = _density(*_saturated(w, q))
        ctx.save_for_backward(by_w, by_q)
        return value

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        by_w, by_q = ctx.saved_tensors
        return gradients[0] * by_w, gradients[0] * by_q


class _LogTails(torch.autograd.Function):
    """``log S(w; q)`` and ``log F(w; q)`` with their derivatives."""

    @staticmethod
    def forward(ctx: Any, w: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
        upper, tail, other, by_w, by_q = _tails(w, q)
        odds = torch.exp(tail - other)  # d other / d tail is minus that
        ctx.save_for_backward(upper, by_w, by_q, odds)
        return torch.where(upper, tail, other), torch.where(upper, other, tail)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        upper, by_w, by_q, odds = ctx.saved_tensors
        by_survival, by_cdf = gradients
        by_tail = torch.where(upper, by_survival - odds * by_cdf, by_cdf - odds * by_survival)
        return by_tail * by_w, by_tail * by_q


def log_density(w: Tensor, q: Tensor) -> Tensor:
    """``log g(w; q)``."""
    result: Tensor = _LogDensity.apply(*torch.broadcast_tensors(w, q))  # type: ignore[no-untyped-call]
    return result


def log_tails(w: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    """``log S(w; q)`` and ``log F(w; q)``."""
    if w.dtype == torch.float64 and not (
        torch.is_grad_enabled() and (w.requires_grad or q.requires_grad)
    ):
        return _log_values(*torch.broadcast_tensors(w, q))
    result: tuple[Tensor, Tensor] = _LogTails.apply(*torch.broadcast_tensors(w, q))  # type: ignore[no-untyped-call]
    return result


def survival(w: Tensor, q: Tensor) -> Tensor:
    """``S(w; q)``, without derivatives."""
    if not torch.compiler.is_exporting():
        return torch.exp(log_tails(w, q)[0])
    return survival_without_branches(w, q)


def survival_without_branches(w: Tensor, q: Tensor) -> Tensor:
    """Return S to seven digits in few operations, for a program: PyTorch's functions, and a line in q around 0."""
    w, q = _saturated(*torch.broadcast_tensors(w, q))
    share = ((1 + q / _LINE) / 2).clamp(0.0, 1.0)  # of the distribution with q above 0
    size = q.abs().clamp(min=_LINE)
    a = 1 / size.square()
    return share * (1 - _lower_gamma(a, size * w)) + (1 - share) * _lower_gamma(a, -size * w)


def _lower_gamma(a: Tensor, log_ratio: Tensor) -> Tensor:
    """Return the regularised lower incomplete gamma function at ``a exp(log_ratio)``."""
    log_u = torch.log(a) + log_ratio
    first = torch.exp(a * log_u - torch.lgamma(1 + a))  # of its series, all of it where u is tiny
    return torch.where(log_u < _LOG_TINY, first, torch.special.gammainc(a, torch.exp(log_u)))


def density(w: Tensor, q: Tensor) -> Tensor:
    """``g(w; q)``, without derivatives."""
    return torch.exp(_density(*_saturated(*torch.broadcast_tensors(w, q)))[0])


def _log_values(w: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    """Return both tails without derivatives: by PyTorch's incomplete gamma functions as far as these reach."""
    w, q = _saturated(w, q)
    usable = q.abs() > _LEAST_Q
    a = 1 / torch.where(usable, q, 1.0).square()
    u = a * torch.exp(q * w)
    first, second = torch.special.gammaincc(a, u), torch.special.gammainc(a, u)
    rising, upper = q > 0, w >= 0
    tail = torch.where(rising == upper, first, second)
    hard = ~(usable & (tail > _LEAST_TAIL) & (u > 1e-300))  # denormal numbers have few digits
    tail = torch.log(tail.clamp(min=_LEAST_TAIL))
    if bool(hard.any()):
        _, tail[hard], _, _, _ = _tails(w[hard], q[hard])
    other = log1mexp(-tail, torch.log(-tail))
    return torch.where(upper, tail, other), torch.where(upper, other, tail)


@torch.no_grad()
def inverse(log_s: Tensor, q: Tensor) -> Tensor:
    """Return the w at which ``log S(w; q)`` is ``log_s``, which is below 0.

    Newton's method, on log F before the median and on log S behind it: both are concave, so every step but the first
    comes from the same side. It begins at the quantile of the normal distribution,
    or nearer where the tail is shorter.
    """
    log_s, q = torch.broadcast_tensors(log_s, q)
    log_f = log1mexp(-log_s, torch.log(-log_s))
    early = log_f < log_s
    goal = torch.where(early, log_f, log_s)
    far = -torch.special.ndtri(
        torch.exp(goal.clamp(min=-80.0 if goal.dtype == torch.float32 else -600.0))
    )
    turned = torch.where(early, -q, q).clamp(min=1e-6)  # where positive, the tail is short
    far = torch.where(
        turned > 1e-6,
        torch.minimum(far, torch.log1p(turned**2 * (2 - goal) + turned * far) / turned),
        far,
    )
    w = torch.where(early, -far, far)
    for _ in range(_MAX_STEPS):
        survival, cdf = log_tails(w, q)
        value, gap = (
            torch.where(early, cdf, survival),
            torch.where(early, log_f - cdf, log_s - survival),
        )
        slope = torch.exp(_density(*_saturated(w, q))[0] - value) * torch.where(early, 1.0, -1.0)
        reach = 2 + w.abs()
        step = torch.minimum(torch.maximum(gap / slope, -reach), reach)
        w = w + step
        if bool((step.abs() <= _CLOSE[w.dtype] * (1 + w.abs())).all()):
            break
    return w


def log_moment(sigma: Tensor, q: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return ``log E exp(sigma w)``, and what w and q are under the density weighted by ``exp(sigma w)``.

    That is again a log-gamma variate, of shape ``q / root`` at ``(w - moved) * root``: shape, root and moved are the
    other three. All hold where ``1 + sigma q`` is positive, else the moment is infinite and they are not numbers.
    """
    s = sigma * q
    near = s.abs() < _NEAR_LAMBDA
    log1p = torch.log1p(s)
    far = torch.where(near, 1.0, s)
    psi = ((1 + far) * torch.log1p(far) - far) / far.square()
    close, psi_near, ratio_near = (
        torch.where(near, s, 0.0),
        torch.zeros_like(s),
        torch.zeros_like(s),
    )
    for n in range(_TERMS[s.dtype], -1, -1):  # sum (-s)**n / ((n + 1) (n + 2)), and log(1 + s) / s
        psi_near = psi_near * close + (-1) ** n / ((n + 1) * (n + 2))
        ratio_near = ratio_near * close + (-1) ** n / (n + 1)
    moved = sigma * torch.where(near, ratio_near, torch.log1p(far) / far)
    root = torch.sqrt(1 + s)
    shape = q / root
    errors = _stirling_error(shape)[0] - _stirling_error(q)[0]
    value = sigma.square() * torch.where(near, psi_near, psi) - log1p / 2 + errors
    return torch.where(1 + s > 0, value, torch.inf), shape, root, moved


def _tails(w: Tensor, q: Tensor) -> tuple[Tensor, ...]:
    """Return where w is in the upper half, the logarithms of the tail beyond w and of the rest, and slopes by w and q.

    The lower tail is the upper one of ``-w`` and ``-q``.
    """
    w, q = _saturated(w, q)
    upper = w >= 0
    sign = torch.where(upper, 1.0, -1.0).to(w)
    tail, by_distance, by_turned = _tail(w.abs(), q * sign)
    return upper, tail, log1mexp(-tail, torch.log(-tail)), by_distance * sign, by_turned * sign


def _saturated(w: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    """Return arguments of which exp(q w) is a number that can be multiplied."""
    w = w.clamp(-_FARTHEST, _FARTHEST)
    size = w.abs().clamp(min=1e-30)
    return torch.where(
        w * q > _STEEPEST, torch.sign(w) * torch.minimum(size, _STEEPEST / q.abs()), w
    ), q


def _density(w: Tensor, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``log g`` and its derivatives by w and q."""
    y = q * w
    one, _, two, two_slope = _phi(y)
    delta, delta_slope = _stirling_error(q)
    return -_LOG_ROOT_2_PI - delta - w.square() * two, -w * one, -delta_slope - w**3 * two_slope


def _tail(w: Tensor, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``log P(W > w)`` for w >= 0 and its derivatives by w and q.

    For q >= 0 the variable of the integral is ``p = (exp(q v) - 1) / q``, else the distance v itself: so D is smooth on
    the axis of log v, whatever q.
    """
    density, _, density_by_q = _density(w, q)
    one, one_slope, _, _ = _phi(q * w)
    a, a_slope = w * one, w.square() * one_slope  # D' at the start, and its derivative by q
    b = a - torch.clamp(-q, min=0.0) / 2
    root = torch.hypot(b, torch.full_like(b, math.sqrt(2)))
    scale = torch.where(b > 0, 2 / (b.clamp(min=0) + root), root - b)
    x, weight = _nodes(w)
    v = scale[..., None] * x
    a, a_slope, q = a[..., None], a_slope[..., None], q[..., None]
    rising = q >= 0
    r = q.abs() * v
    # q >= 0
    bend, bend_slope, log1p = _lambda(r)
    exponent = a * v + v.square() * bend + log1p
    slope = a_slope * v + v**3 * bend_slope + v / (1 + r)
    # q < 0
    one, one_slope, two, two_slope = _phi(torch.where(rising, 0.0, -r))
    exponent = torch.where(rising, exponent, a * v * one + v.square() * two)
    slope = torch.where(
        rising, slope, a_slope * v * one + a * v.square() * one_slope + v**3 * two_slope
    )
    terms = torch.exp(-exponent) * weight
    integral = scale * terms.sum(-1)
    by_q = density_by_q - scale * (terms * slope).sum(-1) / integral
    return density + torch.log(integral), -1 / integral, by_q


def _nodes(like: Tensor) -> tuple[Tensor, Tensor]:
    first, last, step = _RULES[like.dtype]
    x = torch.arange(first, last, step, dtype=torch.float64, device=like.device)
    v = torch.exp(x - torch.exp(-x))
    return v.to(like), (step * v * (1 + torch.exp(-x))).to(like)


def _phi(y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return ``phi1 = (exp(y) - 1) / y`` and its slope, ``phi2 = (exp(y) - 1 - y) / y**2`` and its slope."""
    near = y.abs() < _NEAR
    far = torch.where(near, 1.0, y)
    growth = torch.expm1(far)
    one = growth / far
    one_slope = (growth + 1 - one) / far
    two = (one - 1) / far
    two_slope = (one_slope - two) / far
    close = torch.where(near, y, 0.0)
    two_near, slope_near = torch.zeros_like(y), torch.zeros_like(y)
    for n in range(_TERMS[y.dtype], -1, -1):  # phi2 = sum y**n / (n + 2)!
        slope_near = slope_near * close + two_near
        two_near = two_near * close + 1 / math.factorial(n + 2)
    one_near = 1 + close * two_near
    one_slope_near = two_near + close * slope_near
    return (
        torch.where(near, one_near, one),
        torch.where(near, one_slope_near, one_slope),
        torch.where(near, two_near, two),
        torch.where(near, slope_near, two_slope),
    )


def _lambda(r: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return ``(r - log(1 + r)) / r**2`` and its slope, and the logarithm, for r >= 0."""
    near = r < _NEAR_LAMBDA
    log1p = torch.log1p(r)
    far = torch.where(near, 1.0, r)
    value = (far - torch.log1p(far)) / far.square()
    slope = (1 / (1 + far) - 2 * value) / far
    close = torch.where(near, r, 0.0)
    value_near, slope_near = torch.zeros_like(r), torch.zeros_like(r)
    for n in range(_TERMS[r.dtype], -1, -1):  # sum (-r)**n / (n + 2)
        slope_near = slope_near * close + value_near
        value_near = value_near * close + (-1) ** n / (n + 2)
    return torch.where(near, value_near, value), torch.where(near, slope_near, slope), log1p


def _stirling_error(q: Tensor) -> tuple[Tensor, Tensor]:
    """Return ``delta = log Gamma(a) - (a - 1/2) log a + a - log(2 pi) / 2``, ``a = 1 / q**2``, and its slope in q."""
    square = q.square()
    small = square < 0.1
    inside = torch.where(small, 1.0, square)
    a = 1 / inside
    far = torch.lgamma(a) - (a - 0.5) * torch.log(a) + a - _LOG_ROOT_2_PI
    by_a = torch.digamma(a) - torch.log(a) + inside / 2
    far_slope = by_a * -2 * a * torch.sign(q) * torch.sqrt(a)
    close = torch.where(small, square, 0.0)
    near, near_slope = torch.zeros_like(q), torch.zeros_like(q)
    for n in range(len(_STIRLING) - 1, -1, -1):  # delta = sum c_n q**(2 (2 n + 1))
        near = near * close.square() + _STIRLING[n]
        near_slope = near_slope * close.square() + _STIRLING[n] * (4 * n + 2)
    return torch.where(small, near * close, far), torch.where(small, near_slope * q, far_slope)
