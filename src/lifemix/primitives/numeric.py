"""Functions of real numbers that keep their digits; intervals and quantiles without a closed form."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

if TYPE_CHECKING:
    from .base import Primitive

__all__ = [
    "LARGEST_LOG",
    "LOG_LIMIT",
    "LOG_TIME_LIMITS",
    "limit_gradient",
    "inverse_log_survival",
    "log1mexp",
    "log_expm1",
    "log_interval",
    "log_mean_of_survivors",
    "log_of_complement",
    "log_softplus",
    "saturate",
    "standardise",
    "with_slope",
]

LARGEST_LOG = 600.0
"""The largest parameter of a component that predicts: exp of it is a float64, and so are its products with times."""

LOG_LIMIT = 80.0
"""Where a log cumulative hazard saturates: exp(80) is 5.5e34, and still finite in float32 when it is multiplied."""

LOG_TIME_LIMITS = {torch.float32: 85.0, torch.float64: 700.0}
"""The largest log time t for which both exp(t) and exp(-t) are numbers."""

_GRADIENT_LIMITS = {torch.float32: 1e30, torch.float64: 1e250}  # can be added up
_FACTOR_LIMITS = {torch.float32: 1e20, torch.float64: 1e200}  # can be multiplied
_MAX_STEPS = 128


class _Saturate(torch.autograd.Function):
    """``min(x, limit)``; the gradient passes through and is bounded."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, limit: float) -> Tensor:
        return x.clamp(max=limit)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        limit = _FACTOR_LIMITS[gradients[0].dtype]
        return gradients[0].clamp(-limit, limit), None


def saturate(x: Tensor, limit: float = LOG_LIMIT) -> Tensor:
    """Return ``min(x, limit)``; the gradient beyond the limit is 1, so that a step can lead back."""
    result: Tensor = _Saturate.apply(x, limit)  # type: ignore[no-untyped-call]
    return result


def limit_gradient(x: Tensor) -> Tensor:
    """Return x; its gradient is cut at 1e20 (double precision: 1e200), so that products of it stay finite."""
    return saturate(x, math.inf)


def with_slope(x: Tensor, value: Tensor, slope: Tensor) -> Tensor:
    """Return a value of which the derivative by x, elementwise, is the slope; all three are finite."""
    return value + slope * (x - x.detach())


class _Standardise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, location: Tensor, log_precision: Tensor) -> Tensor:
        precision = log_precision.clamp(max=LOG_LIMIT).exp()
        z = precision * (x - location)
        ctx.save_for_backward(z, precision)
        return z

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        z, precision = ctx.saved_tensors
        limit = _GRADIENT_LIMITS[z.dtype]
        (d_z,) = gradients
        d_x = (d_z * precision).clamp(-limit, limit)
        d_log_precision = (d_z * z.clamp(-limit, limit)).clamp(-limit, limit)
        return d_x, -d_x, d_log_precision


def standardise(x: Tensor, location: Tensor, log_precision: Tensor) -> Tensor:
    """Return ``exp(log_precision) * (x - location)``; gradients that float32 could not sum are cut at 1e30."""
    result: Tensor = _Standardise.apply(*torch.broadcast_tensors(x, location, log_precision))  # type: ignore[no-untyped-call]
    return result


def log1mexp(x: Tensor, log_x: Tensor) -> Tensor:
    """Return ``log(1 - exp(-x))`` for x > 0, from x and its logarithm, which counts where x underflows.

    Below 0.05 the series ``log x - x/2 + x^2/24 - x^4/2880`` is exact to 1e-13; above log 2, ``log1p(-exp(-x))`` is.
    """
    small = x.clamp(max=0.05)
    series = log_x - small / 2 + small**2 / 24 - small**4 / 2880
    middle = torch.log(-torch.expm1(-x.clamp(0.05, 0.7)))
    large = torch.log1p(-torch.exp(-x.clamp(min=0.6)))
    direct = torch.where(x > 0.6931, large, middle)
    return torch.where(x < 0.05, series, direct)


def log_expm1(x: Tensor, log_x: Tensor) -> Tensor:
    """Return ``log(exp(x) - 1)`` for x > 0, from x and its logarithm."""
    return x + log1mexp(x, log_x)


def log_softplus(z: Tensor) -> Tensor:
    """Return ``log log(1 + exp(z))``, exact where the inner logarithm vanishes."""
    early = z - torch.exp(z.clamp(max=-15.0)) / 2
    late = torch.log(softplus(z.clamp(min=-20.0)))
    return torch.where(z < -15.0, early, late)


def log_of_complement(log_s: Tensor, log_small: Tensor) -> Tensor:
    """Return ``log(1 - exp(log_s))``, and ``log_small`` where ``log_s`` underflows to 0."""
    is_number = log_s < -1e8 * torch.finfo(log_s.dtype).tiny  # its inverse may still be multiplied
    cumulative_hazard = -torch.where(is_number, log_s, -1.0)
    log_complement = log1mexp(cumulative_hazard, torch.log(cumulative_hazard))
    return torch.where(is_number, log_complement, log_small)


def log_mean_of_survivors(log_survived: Tensor, log_values: Tensor, dim: int) -> Tensor:
    """Return the log of the mean of ``exp(log_values)`` over groups, weighted by the survivors of each.

    If nobody survived, the result is that of the group with the smallest hazard, which was the last.
    """
    log_share = torch.log_softmax(log_survived, dim=dim)
    is_empty = log_share == -torch.inf  # the value of such a group may be infinite
    log_terms = torch.where(is_empty, -torch.inf, log_share + log_values)
    mean = torch.logsumexp(log_terms, dim=dim)
    has_no_survivors = torch.isnan(log_share).any(dim)
    return torch.where(has_no_survivors, log_values.amin(dim), mean)


def log_interval(primitive: Primitive, lower: Tensor, upper: Tensor) -> Tensor:
    """Return ``log P(lower < T <= upper)``.

    It is a difference of S, or of F before the median, in logarithms. If the difference loses more digits than the
    midpoint rule over log time (at a change of the cube root of the rounding error), it is the midpoint rule.
    """
    is_left_censored = lower <= 0
    start = torch.where(is_left_censored, upper / 2, lower)
    log_cdf = primitive.log_cdf(upper)
    is_early = log_cdf < -math.log(2)
    larger = torch.where(is_early, log_cdf, primitive.log_survival(start))
    smaller = torch.where(is_early, primitive.log_cdf(start), primitive.log_survival(upper))
    change = larger - smaller
    is_narrow = change < torch.finfo(change.dtype).eps ** (1 / 3)
    wide_change = torch.where(is_narrow, 1.0, change)
    wide = larger + torch.log(-torch.expm1(-wide_change))
    width = torch.where(is_narrow, torch.log1p((upper - start) / start), 0.01)
    middle = torch.log(start) + width / 2
    narrow = primitive.log_pdf(torch.exp(middle)) + middle + torch.log(width)
    log_probability = torch.where(is_narrow, narrow, wide)
    return torch.where(is_left_censored, log_cdf, log_probability)


@torch.no_grad()
def inverse_log_survival(primitive: Primitive, log_s: Tensor) -> Tensor:
    """Return the times at which ``log S`` is ``log_s``.

    Bisection of log time, and Newton's steps for ``log(-log S)`` where it is near its goal.
    """
    limit = LOG_TIME_LIMITS[log_s.dtype]
    tolerance = torch.finfo(log_s.dtype).eps ** 0.75
    log_s = torch.broadcast_tensors(log_s, *primitive.parameters)[0]
    is_inside = (log_s < 0) & (log_s > -torch.inf)
    goal = torch.where(is_inside, log_s, -1.0)
    x = torch.zeros_like(goal)  # log time
    low, high = x - limit, x + limit
    for _ in range(_MAX_STEPS):
        t = torch.exp(x)
        log_survival = primitive.log_survival(t)
        rate = torch.exp(primitive.log_pdf(t) + x - log_survival)  # -d log S / dx
        is_before = log_survival > goal
        low = torch.where(is_before, x, low)
        high = torch.where(is_before, high, x)
        log_ratio = torch.log(goal / log_survival)
        newton = x - log_ratio * log_survival / rate
        is_usable = (newton > low) & (newton < high) & (log_ratio.abs() < 2)  # False for NaN
        previous = x
        x = torch.where(is_usable, newton, (low + high) / 2)
        has_converged = (x - previous).abs() <= tolerance * (1 + x.abs())
        if has_converged.all():
            break
    is_finite = is_inside & (x < limit * (1 - 1e-5))
    t = torch.where(is_finite, torch.exp(x), torch.inf)
    return torch.where(log_s < 0, t, 0.0)
