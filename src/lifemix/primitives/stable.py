"""Functions of real numbers that stay finite and exact where the textbook form does not."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

__all__ = [
    "LARGEST_LOG",
    "LOG_LIMIT",
    "limit_gradient",
    "log1mexp",
    "log_expm1",
    "log_mean_of_survivors",
    "log_ndtr",
    "log_softplus",
    "saturate",
    "standardise",
]

LARGEST_LOG = 600.0
"""The largest parameter of a component that predicts: exp of it is a float64, and so are its products with times."""

LOG_LIMIT = 80.0
"""Where a log cumulative hazard saturates: exp(80) is 5.5e34, and still finite in float32 when it is multiplied."""


class _Saturate(torch.autograd.Function):
    """``min(x, limit)`` whose gradient goes through, so that a row beyond the limit still knows which way is back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, limit: float) -> Tensor:
        return x.clamp(max=limit)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


def saturate(x: Tensor, limit: float = LOG_LIMIT) -> Tensor:
    """``min(x, limit)`` with gradient 1 on both sides: the one clamp of the package."""
    result: Tensor = _Saturate.apply(x, limit)  # type: ignore[no-untyped-call]
    return result


_GRADIENT_LIMITS = {torch.float32: 1e30, torch.float64: 1e250}


class _Standardise(torch.autograd.Function):
    """``exp(log_precision) * (x - location)`` whose gradients are finite where their products would overflow."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, location: Tensor, log_precision: Tensor) -> Tensor:
        precision = log_precision.clamp(max=LOG_LIMIT).exp()
        z = precision * (x - location)
        ctx.save_for_backward(x, location, log_precision)
        return z

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, location, log_precision = ctx.saved_tensors
        precision = log_precision.clamp(max=LOG_LIMIT).exp()
        limit = _GRADIENT_LIMITS[x.dtype]
        along = (gradients[0] * precision).clamp(-limit, limit)
        z = (precision * (x - location)).clamp(-limit, limit)
        return along, -along, (gradients[0] * z).clamp(-limit, limit)


def standardise(x: Tensor, location: Tensor, log_precision: Tensor) -> Tensor:
    """``exp(log_precision) * (x - location)``; gradients that float32 could not sum are cut at 1e30."""
    result: Tensor = _Standardise.apply(*torch.broadcast_tensors(x, location, log_precision))  # type: ignore[no-untyped-call]
    return result


class _LimitGradient(torch.autograd.Function):
    """The identity, with a gradient that can still be multiplied."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        limit = _STEEPEST[gradients[0].dtype]
        return gradients[0].clamp(-limit, limit)


_STEEPEST = {torch.float32: 1e20, torch.float64: 1e200}


def limit_gradient(x: Tensor) -> Tensor:
    """Return x itself; gradients that come back are cut at 1e20 (double precision: 1e200), or products overflow."""
    result: Tensor = _LimitGradient.apply(x)  # type: ignore[no-untyped-call]
    return result


class _LogNdtr(torch.autograd.Function):
    """``log Phi(x)`` with the derivative ``sqrt(2 / pi) / erfcx(-x / sqrt 2)``.

    The one that PyTorch 2.13 has is wrong in float32: at x = -1e4 it gives 64930 instead of 1e4.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.special.log_ndtr(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return gradients[0] * math.sqrt(2 / math.pi) / torch.special.erfcx(-x / math.sqrt(2))


def log_ndtr(x: Tensor) -> Tensor:
    """``log Phi(x)``, the logarithm of the standard normal distribution function."""
    result: Tensor = _LogNdtr.apply(x)  # type: ignore[no-untyped-call]
    return result


def log1mexp(x: Tensor, log_x: Tensor) -> Tensor:
    """``log(1 - exp(-x))`` for x > 0, from x and its logarithm, so that an x that underflows still counts.

    Below 0.05 the series ``log x - x/2 + x^2/24 - x^4/2880`` is exact to 1e-13; above log 2, ``log1p(-exp(-x))`` is.
    """
    small, large = x < 0.05, x > 0.6931
    near = x.clamp(max=0.05)
    series = log_x - near / 2 + near**2 / 24 - near**4 / 2880
    middle = torch.log(-torch.expm1(-x.clamp(0.05, 0.7)))
    far = torch.log1p(-torch.exp(-x.clamp(min=0.6)))
    return torch.where(small, series, torch.where(large, far, middle))


def log_expm1(x: Tensor, log_x: Tensor) -> Tensor:
    """``log(exp(x) - 1)`` for x > 0, from x and its logarithm; neither overflows for large x nor vanishes for small."""
    return x + log1mexp(x, log_x)


def log_mean_of_survivors(log_survived: Tensor, log_values: Tensor, dim: int) -> Tensor:
    """Return the log of the mean of ``exp(log_values)`` over groups, each weighted by how many of it survived.

    Where nobody did, the group with the smallest hazard was the last.
    """
    log_share = torch.log_softmax(log_survived, dim=dim)
    nobody = log_share == -torch.inf  # of a group, whose value may be infinite
    mean = torch.logsumexp(torch.where(nobody, -torch.inf, log_share + log_values), dim=dim)
    return torch.where(torch.isnan(log_share).any(dim), log_values.amin(dim), mean)


def log_softplus(z: Tensor) -> Tensor:
    """``log log(1 + exp(z))``, exact where the inner logarithm vanishes."""
    near = z.clamp(min=-20.0)
    return torch.where(z < -15.0, z - torch.exp(z.clamp(max=-15.0)) / 2, torch.log(softplus(near)))
