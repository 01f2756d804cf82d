"""Log-normal times, the paper's second primitive."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ..devices import on_host, perhaps_any
from .log_location_scale import LogLocationScale
from .stable import log1mexp, log_ndtr, saturate

__all__ = ["LogNormal"]

_Z_LIMIT = 3e17  # z**2 / 2 is then exp(80), where the log cumulative hazard saturates
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_BY_PI = math.sqrt(2 / math.pi)
_NARROW = 0.1  # a width, times one more than the distance of the middle from 0, for which the series below is exact
_FAR = 12.0  # beyond it Phi(-z) nears the end of float32, and a few terms of its asymptotic series are exact


@dataclass(frozen=True, eq=False)
class LogNormal(LogLocationScale, name="lognormal", label="log-normal"):
    """Log-normal times: ``S(t) = Phi(-(log t - mu) / sigma)``.

    The paper's eta is mu and its beta is sigma, which stays positive because its logarithm is the parameter.

    Parameters
    ----------
    mu : Tensor
        The mean of log time.
    log_sigma : Tensor
        The logarithm of the standard deviation of log time.

    Examples
    --------
    >>> import torch
    >>> from lifemix.primitives import LogNormal
    >>> times = LogNormal(mu=torch.tensor(3.0), log_sigma=torch.tensor(0.0))
    >>> times.quantile(torch.tensor(0.5)).log()
    tensor(3.)
    """

    mu: Tensor
    log_sigma: Tensor
    shift_activation: ClassVar[str] = "tanh"
    location_name: ClassVar[str | None] = "mu"
    precision_sign: ClassVar[int] = -1
    standard_tail: ClassVar[float] = torch.inf
    survival_javascript: ClassVar[str] = "normalSurvival"
    density_javascript: ClassVar[str] = "(z) => Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI)"

    @staticmethod
    def standard(z: Tensor, happened: Tensor) -> tuple[Tensor, Tensor]:
        z = z.clamp(-_Z_LIMIT, _Z_LIMIT)
        log_density = torch.square(z).mul_(-0.5).sub_(_HALF_LOG_2PI)
        survival = torch.erfc(z * _ROOT_HALF).mul_(0.5)
        hazard = log_density.exp().div_(survival)  # phi(z) / Phi(-z)
        log_survival = survival.log_()
        if not on_host(z.device) or float(z.max()) > _FAR:
            far = z > _FAR
            hazard = torch.where(far, _far_hazard(z), hazard)
            log_survival = torch.where(far, log_density - hazard.log(), log_survival)
        return torch.lerp(log_survival, log_density, happened), torch.lerp(
            hazard, z, happened
        ).neg_()

    @classmethod
    def standard_before(cls, z: Tensor) -> tuple[Tensor, Tensor]:
        value, slope = cls.standard(-z, z.new_zeros(()))
        return value, slope.neg_()

    @classmethod
    def standard_between(
        cls, z: Tensor, width: Tensor, log_width: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        width = width.clamp(max=_Z_LIMIT)
        z = z.clamp(-_Z_LIMIT, _Z_LIMIT)
        middle = torch.add(z, width, alpha=0.5)
        distance = middle.abs()
        value, near, far = _between(distance, width)
        # By symmetry the middle lies to the right of 0 there; where it does not, the ends change places.
        at_end = torch.where(middle > 0, far, near)
        slope, by_width = at_end * 2 - near.add_(far), at_end * width
        narrow = torch.addcmul(width, distance, width) < _NARROW
        if perhaps_any(narrow):
            found = _by_series(
                torch.where(narrow, middle, 0.0), torch.where(narrow, width, _NARROW), log_width
            )
            wide = (value, slope, by_width)
            value, slope, by_width = (
                torch.where(narrow, *both) for both in zip(found, wide, strict=True)
            )
        return value, slope, by_width

    @staticmethod
    def standard_survival(z: Tensor) -> Tensor:
        return z.mul_(math.sqrt(0.5)).erfc_().mul_(0.5)

    @staticmethod
    def standard_density(z: Tensor) -> Tensor:
        return torch.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    def z(self, t: Tensor) -> Tensor:
        return -saturate(-saturate(super().z(t), _Z_LIMIT), _Z_LIMIT)

    def log_survival(self, t: Tensor) -> Tensor:
        return log_ndtr(-self.z(t))

    def log_cdf(self, t: Tensor) -> Tensor:
        return torch.where(t == 0, -torch.inf, log_ndtr(self.z(t)))

    def log_pdf(self, t: Tensor) -> Tensor:
        inside = self.log_jacobian(t) - 0.5 * self.z(t) ** 2 - _HALF_LOG_2PI
        return torch.where(t == 0, -torch.inf, inside)

    def _log_interval(self, lower: Tensor, upper: Tensor) -> Tensor:
        z, (width, log_width) = self.z(lower), self.spread(lower, upper)
        width = saturate(width, _Z_LIMIT)
        middle = z + width / 2
        # By symmetry the interval may lie to the left of 0, where log Phi keeps its digits.
        left = torch.where(middle > 0, -(z + width), z)
        right = torch.where(middle > 0, -z, z + width)
        narrow = width * (1 + middle.abs()) < _NARROW
        by_series = log_width + _log_mean_density(
            torch.where(narrow, middle, 0.0), torch.where(narrow, width, 0.01)
        )
        return torch.where(narrow, by_series, _log_wide(left, right, narrow))

    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        early = log_s > -0.6931  # by the cdf where S is close to 1, by S where it is small
        z_early = torch.special.ndtri(-torch.expm1(torch.where(early, log_s, -0.5)))
        z_late = _upper_quantile(torch.where(early, -1.0, log_s))
        return torch.exp(self.mu + torch.exp(self.log_sigma) * torch.where(early, z_early, z_late))

    def mean(self) -> Tensor:
        return torch.exp(self.mu + torch.exp(2 * self.log_sigma) / 2)

    def rmst(self, t: Tensor) -> Tensor:
        return self._weighted_mean(t, 1.0) + t * torch.exp(self.log_survival(t))

    def mean_beyond(self, t: Tensor) -> Tensor:
        return self._weighted_mean(t, -1.0) - t * torch.exp(self.log_survival(t))

    def _weighted_mean(self, t: Tensor, side: float) -> Tensor:
        """``E[T; T <= t]`` for side 1, ``E[T; T > t]`` for side -1."""
        sigma = torch.exp(self.log_sigma)
        return torch.exp(self.mu + sigma**2 / 2 + log_ndtr(side * (self.z(t) - sigma)))


def _upper_quantile(log_s: Tensor) -> Tensor:
    """Return z with ``log Phi(-z) = log_s``; Newton's method on the logarithm where the probability underflows."""
    near = -torch.special.ndtri(torch.exp(log_s.clamp(min=-600)))
    far = torch.sqrt(-2 * log_s.clamp(max=-100))
    for _ in range(4):
        far = far + (log_ndtr(-far) - log_s) * torch.special.erfcx(far / math.sqrt(2)) * math.sqrt(
            math.pi / 2
        )
    return torch.where(log_s > -600, near, far)


def _log_mean_density(middle: Tensor, width: Tensor) -> Tensor:
    """Log of the mean normal density over a narrow interval, by Taylor's series at its middle."""
    m2, w2 = middle**2, width**2
    correction = (m2 - 1) * w2 / 24 + (m2**2 - 6 * m2 + 3) * w2**2 / 1920
    return -0.5 * middle**2 - _HALF_LOG_2PI + torch.log1p(correction)


def _log_wide(left: Tensor, right: Tensor, narrow: Tensor) -> Tensor:
    """``log[Phi(right) - Phi(left)]`` for intervals whose middle is at or left of 0."""
    left, right = torch.where(narrow, -2.0, left), torch.where(narrow, -1.0, right)
    near = right > 1.0  # spans the origin: nothing cancels, and erfcx would overflow
    in_tail = torch.where(near, 0.0, right)
    # log Phi(x) = log(erfcx(-x / sqrt 2) / 2) - x**2 / 2: the difference of the squares is a product.
    bends = [torch.log(torch.special.erfcx(-x / math.sqrt(2))) for x in (in_tail, left)]
    stable = (right - left) * -(left + in_tail) / 2 + bends[0] - bends[1]
    direct = log_ndtr(right) - log_ndtr(left)
    difference = torch.where(near, direct, stable).clamp(min=1e-30)
    return log_ndtr(right) + log1mexp(difference, torch.log(difference))


def _between(middle: Tensor, width: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the log probability of intervals whose middle is at or right of 0, and the densities at both ends over it.

    With the scaled ``erfcx``, ``S(x) = erfcx(x / sqrt 2) exp(-x**2 / 2) / 2`` and the hazard is one over it: neither
    underflows, and the difference of the squares is a product.
    """
    first, last = torch.sub(middle, width, alpha=0.5), torch.add(middle, width, alpha=0.5)
    across = first < -1  # a long way: nothing cancels, and erfcx would overflow
    start = first.clamp(min=-1)
    bend, end_bend = (torch.special.erfcx(x * _ROOT_HALF) for x in (start, last))
    log_survival = (bend * 0.5).log_().addcmul_(start, start, value=-0.5)
    fall = torch.div(bend, end_bend).log_().addcmul_(middle, width)
    hazard, end_hazard = (
        torch.reciprocal(bend).mul_(_ROOT_TWO_BY_PI),
        torch.reciprocal(end_bend).mul_(_ROOT_TWO_BY_PI),
    )
    if perhaps_any(across):
        direct = torch.erfc(first * _ROOT_HALF).mul_(0.5).log_()
        at_end = (end_bend * 0.5).log_().addcmul_(last, last, value=-0.5)
        log_survival, fall = (
            torch.where(across, direct, log_survival),
            torch.where(across, direct - at_end, fall),
        )
        ahead = torch.square(first).mul_(-0.5).sub_(_HALF_LOG_2PI).sub_(direct).exp_()
        hazard = torch.where(across, ahead, hazard)
    fall.clamp_(min=1e-30)
    share = torch.expm1(-fall).neg_()
    return log_survival.add_(share.log()), hazard.div_(share), end_hazard.div_(torch.expm1(fall))


def _by_series(middle: Tensor, width: Tensor, log_width: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the log probability of narrow intervals and its slopes, as ``LogNormal.standard_between``."""
    w2 = torch.square(width)
    u = torch.square(middle * width)
    first, second = (u - w2) / 24, (u**2 - 6 * u * w2 + 3 * w2**2) / 1920
    mean = 1 + first + second  # of the density, by that at the middle
    slope = middle * (w2 * (1 / 12 + (u - 3 * w2) / 480) / mean - 1)
    value = log_width - 0.5 * middle**2 - _HALF_LOG_2PI + torch.log(mean)
    return value, slope, 1 + (2 * first + 4 * second) / mean + 0.5 * width * slope


def _far_hazard(z: Tensor) -> Tensor:
    """``phi(z) / Phi(-z)`` for z > 12, asymptotically ``z (1 + u - 2 u^2 + 10 u^3 - 74 u^4 + ...)``, u = 1 / z^2."""
    z = z.clamp(min=_FAR)
    u = z**-2
    return z * (1 + u * (1 - u * (2 - u * (10 - u * (74 - 706 * u)))))
