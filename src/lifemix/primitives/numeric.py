"""Functions of real numbers that keep their digits; intervals and quantiles without a closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize.elementwise import find_root
from torch import Tensor
from torch.nn.functional import softplus

from .._types import FloatArray

if TYPE_CHECKING:
    from .base import Primitive

__all__ = [
    "LARGEST_LOG",
    "LOG_LIMIT",
    "LOG_TIME_LIMITS",
    "cumulative_hazard",
    "invert",
    "limit_gradient",
    "log1mexp",
    "log_expm1",
    "log_interval",
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
_LOG_TIMES = (-744.0, 709.7)  # whose exponentials are numbers
_FAR = 1e3  # limit of a log cumulative hazard
_TOLERANCES = {"xatol": 1e-13, "xrtol": 1e-13, "fatol": 0.0, "frtol": 0.0}


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


def cumulative_hazard(log_survival: Tensor, log_cdf: Tensor) -> Tensor:
    """Return ``-log S``, from ``log F`` where S is close to 1: both ends keep their digits."""
    cdf = torch.exp(log_cdf.clamp(max=-1))
    return torch.where(log_cdf < -1, -torch.log1p(-cdf), -log_survival)


@torch.no_grad()
def invert(curves: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], log_s: Tensor) -> Tensor:
    """Return the times at which ``log S`` is ``log_s``, ``[n]``; infinite if it never falls so far.

    The log cumulative hazard of a Weibull distribution is linear in log time, and that of a mixture
    is nearly so: few steps solve it.

    Parameters
    ----------
    curves : callable
        From the numbers of some curves and a time for each, ``[p]``: ``log S`` and ``log F``.
    log_s : Tensor
        Log survival probabilities in float64, ``[n]``.
    """
    goal = torch.log(-log_s).clamp(-2 * _FAR, 2 * _FAR).numpy()

    def distance(
        log_t: FloatArray, goal: FloatArray, index: NDArray[np.floating[Any]]
    ) -> FloatArray:
        row_index, t = torch.from_numpy(index).long(), torch.from_numpy(log_t).exp()
        log_hazard = torch.log(cumulative_hazard(*curves(row_index, t)))
        return np.asarray(log_hazard.clamp(-_FAR, _FAR).numpy() - goal)

    ends = tuple(np.full_like(goal, log_t) for log_t in _LOG_TIMES)
    index = np.arange(len(goal))
    result = find_root(distance, ends, args=(goal, index), tolerances=_TOLERANCES)
    without_root = np.where(result.f_bracket[1] < 0, np.inf, 0.0)
    return torch.from_numpy(np.where(result.success, np.exp(result.x), without_root))
