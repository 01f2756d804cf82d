"""Generalised gamma times: Weibull, gamma and log-normal distributions and all between, by three parameters.

With ``a = 1 / q**2`` and G of the gamma distribution with shape a, ``w = log(G / a) / q`` is a standardised log-gamma
variate of shape q (Prentice 1974, doi:10.1093/biomet/61.3.539); at q = 0 it is normal. All is in double precision.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from .base import Primitive
from .numeric import limit_gradient, log1mexp, standardise

__all__ = ["Gamma", "GeneralisedGamma"]

_LARGEST_W, _LARGEST_QW = 1e8, 50.0  # beyond, w saturates: log S is about -1e20
_HALF_LOG_2PI = math.log(2 * math.pi) / 2
_STIRLING_LIMIT = 0.03  # of q**2, below which Stirling's series is exact
_SERIES_LIMIT = 1e-3
_STEP = 0.165  # of the double exponential rule
_X = torch.arange(-3.4, 5.8, _STEP, dtype=torch.float64)
_NODES = torch.exp(_X - torch.exp(-_X))
_WEIGHTS = _STEP * _NODES * (1 + torch.exp(-_X))


class _LogGamma(Primitive):
    """A family in which ``w = precision * (log t - location)`` is a standardised log-gamma variate of shape q."""

    @abstractmethod
    def _location_precision_q(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return location, log precision and q."""

    def _standardised(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        """Return w and q in double precision, bounded such that ``exp(q w)`` is a number."""
        location, log_precision, q = self._location_precision_q()
        w = standardise(log_t, location, log_precision)
        w, q = torch.broadcast_tensors(limit_gradient(w).double(), limit_gradient(q).double())
        w = w.clamp(-_LARGEST_W, _LARGEST_W)
        is_steep = w * q > _LARGEST_QW
        largest = _LARGEST_QW / torch.where(is_steep, q, 1.0)
        return torch.where(is_steep, largest, w), q

    def _tails(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``log S`` and ``log F``; at time 0 what they are at 1."""
        log_t = torch.log(torch.where(t > 0, t, 1.0))
        w, q = self._standardised(log_t)
        is_upper = w >= 0
        sign = torch.where(is_upper, 1.0, -1.0)
        log_tail = _log_upper_tail(w * sign, q * sign)
        log_other = log1mexp(-log_tail, torch.log(-log_tail))
        log_survival = torch.where(is_upper, log_tail, log_other)
        log_cdf = torch.where(is_upper, log_other, log_tail)
        return log_survival, log_cdf

    def log_survival(self, t: Tensor) -> Tensor:
        return torch.where(t > 0, self._tails(t)[0].to(t), 0.0)

    def log_cdf(self, t: Tensor) -> Tensor:
        return torch.where(t > 0, self._tails(t)[1].to(t), -torch.inf)

    def log_pdf(self, t: Tensor) -> Tensor:
        log_t = torch.log(torch.where(t > 0, t, torch.finfo(t.dtype).tiny))
        _, log_precision, _ = self._location_precision_q()
        w, q = self._standardised(log_t)
        return _log_density(w, q).to(t) + log_precision - log_t

    def steepness(self) -> Tensor:
        _, log_precision, q = self._location_precision_q()
        return torch.exp(log_precision) * q.abs().clamp(min=1.0)


def _log_upper_tail(w: Tensor, q: Tensor) -> Tensor:
    """Return ``log P(W > w)`` for w >= 0: the log density at w, and the log of an integral.

    The integrand is the density at a distance v beyond w, divided by that at w, by the double exponential rule
    ``v = scale * exp(x - exp(-x))``. For q > 0 the variable is ``(exp(q v) - 1) / q``.
    """
    slope = w * (1 + q * w * _phi2(q * w))  # minus that of the log density at w
    with torch.no_grad():
        b = slope - (-q).clamp(min=0) / 2
        root = torch.hypot(b, torch.full_like(b, math.sqrt(2)))
        scale = torch.where(b > 0, 2 / (b.clamp(min=0) + root), root - b)
    v = scale[..., None] * _NODES.to(q.device)  # [..., nodes]
    rising = _rising_exponent(v, slope[..., None], q[..., None].clamp(min=0))
    falling = _falling_exponent(v, slope[..., None], q[..., None].clamp(max=0))
    integrand = torch.exp(-torch.where(q[..., None] > 0, rising, falling))  # at most 1
    log_integral = torch.log(integrand @ _WEIGHTS.to(q.device))
    return _log_density(w, q) + torch.log(scale) + log_integral


def _rising_exponent(v: Tensor, slope: Tensor, q: Tensor) -> Tensor:
    """Return ``slope v + (q v - log(1 + q v)) / q**2 + log(1 + q v)``."""
    y = q * v
    return slope * v + v**2 * _log1p_remainder(y) + torch.log1p(y)


def _falling_exponent(v: Tensor, slope: Tensor, q: Tensor) -> Tensor:
    """Return ``slope (exp(q v) - 1) / q + (exp(q v) - 1 - q v) / q**2``."""
    y = q * v
    phi2 = _phi2(y)
    return slope * v * (1 + y * phi2) + v**2 * phi2


def _log_density(w: Tensor, q: Tensor) -> Tensor:
    """Return the log density of a standardised log-gamma variate."""
    return -_HALF_LOG_2PI - _stirling_error(q) - w**2 * _phi2(q * w)


def _stirling_error(q: Tensor) -> Tensor:
    """Return ``log Gamma(a) - (a - 1/2) log a + a - log(2 pi) / 2`` for ``a = 1 / q**2``."""
    small = (q**2).clamp(max=_STIRLING_LIMIT)
    series = small / 12 - small**3 / 360 + small**5 / 1260 - small**7 / 1680
    a = 1 / (q**2).clamp(min=_STIRLING_LIMIT)
    direct = torch.lgamma(a) - (a - 0.5) * torch.log(a) + a - _HALF_LOG_2PI
    return torch.where(q**2 < _STIRLING_LIMIT, series, direct)


def _phi2(y: Tensor) -> Tensor:
    """Return ``(exp(y) - 1 - y) / y**2``, near 0 by its series."""
    is_small = y.abs() < _SERIES_LIMIT
    small = torch.where(is_small, y, 0.0)
    series = 1 / 2 + small * (1 / 6 + small * (1 / 24 + small / 120))
    large = torch.where(is_small, 1.0, y)
    return torch.where(is_small, series, (torch.expm1(large) - large) / large**2)


def _log1p_remainder(y: Tensor) -> Tensor:
    """Return ``(y - log(1 + y)) / y**2``, near 0 by its series."""
    is_small = y.abs() < _SERIES_LIMIT
    small = torch.where(is_small, y, 0.0)
    series = 1 / 2 - small * (1 / 3 - small * (1 / 4 - small / 5))
    large = torch.where(is_small, 1.0, y)
    return torch.where(is_small, series, (large - torch.log1p(large)) / large**2)


@dataclass(frozen=True, eq=False)
class GeneralisedGamma(_LogGamma, name="generalised-gamma", label="generalised gamma"):
    """Generalised gamma times: ``(log t - mu) / sigma`` is a standardised log-gamma variate of shape q.

    For q = 1 it is the Weibull distribution, for q = 0 the log-normal, for q = sigma the gamma, for q = -1 the inverse
    Weibull distribution (doi:10.1093/biomet/61.3.539).

    Parameters
    ----------
    mu : Tensor
        The location on the axis of log time.
    log_sigma : Tensor
        The logarithm of the scale there.
    q : Tensor
        The shape, of either sign; S falls as a power of time if it is negative.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import GeneralisedGamma
    >>> zero = torch.tensor(0.0)
    >>> times = GeneralisedGamma(mu=zero, log_sigma=zero, q=torch.tensor([1.0, 0.0]))  # exponential, log-normal
    >>> times.log_survival(torch.tensor(1.0)).exp()
    tensor([0.3679, 0.5000])
    """

    mu: Tensor
    log_sigma: Tensor
    q: Tensor
    location_name: ClassVar[str | None] = "mu"

    def _location_precision_q(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.mu, -self.log_sigma, self.q

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        return cls(location, -log_precision, torch.full_like(location, 0.5))

    def tail_index(self) -> Tensor:
        has_power = self.q < 0
        index = torch.exp(-self.log_sigma) / torch.where(has_power, -self.q, 1.0)
        return torch.where(has_power, index, torch.inf)


@dataclass(frozen=True, eq=False)
class Gamma(_LogGamma, name="gamma", label="gamma"):
    """Gamma times: the density is ``t ** (shape - 1) * exp(-t / scale)``, up to a factor.

    Parameters
    ----------
    log_shape : Tensor
        The logarithm of the shape.
    log_scale : Tensor
        The logarithm of the scale, in the unit of the times.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import Gamma
    >>> times = Gamma(log_shape=torch.tensor(2.0).log(), log_scale=torch.tensor(0.0))
    >>> times.log_survival(torch.tensor(1.0)).exp()  # 2 exp(-1)
    tensor(0.7358)
    """

    log_shape: Tensor
    log_scale: Tensor
    location_name: ClassVar[str | None] = "log_scale"
    shift_activation: ClassVar[str] = "selu"

    def _location_precision_q(self) -> tuple[Tensor, Tensor, Tensor]:
        half = self.log_shape / 2
        return self.log_scale + self.log_shape, half, torch.exp(-half)

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        log_shape = 2 * log_precision.clamp(-1.5, 2.5)
        return cls(log_shape, location - log_shape)

    def tail_index(self) -> Tensor:
        return torch.full_like(self.log_shape, torch.inf)
