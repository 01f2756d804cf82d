"""What can be asked of a primitive: one survival distribution with two parameters on the real line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import torch
from torch import Tensor

from .stable import standardise

__all__ = ["LogLocationScale", "Primitive"]


class Primitive(ABC):
    """A law of positive times; subclasses are frozen dataclasses of two tensors that broadcast with the times.

    Everything is asked in logarithms. ``log_survival`` is never ``log(1 - cdf)``.
    """

    if TYPE_CHECKING:

        def __init__(self, first: Tensor, second: Tensor) -> None: ...

    shift_activation: ClassVar[str]
    """The paper's ``act``: what the shift by the covariates goes through before it is added to the base value."""

    @abstractmethod
    def log_pdf(self, t: Tensor) -> Tensor:
        """``log f(t)``."""

    @abstractmethod
    def log_survival(self, t: Tensor) -> Tensor:
        """``log S(t)``, exact where S is close to 1 and where it underflows."""

    @abstractmethod
    def log_cdf(self, t: Tensor) -> Tensor:
        """``log F(t)``, exact where F is close to 1 and where it underflows."""

    @abstractmethod
    def log_interval(self, lower: Tensor, upper: Tensor) -> Tensor:
        """``log P(lower < T <= upper)`` for ``0 <= lower < upper``; exact for narrow intervals and far tails."""

    @abstractmethod
    def inverse_log_survival(self, log_s: Tensor) -> Tensor:
        """Return the time t with ``log S(t) = log_s``."""

    @abstractmethod
    def mean(self) -> Tensor:
        """``E T``; infinite where the integral of S diverges."""

    @abstractmethod
    def rmst(self, t: Tensor) -> Tensor:
        """Restricted mean ``E min(T, t)``, the integral of S from 0 to t."""

    @abstractmethod
    def mean_beyond(self, t: Tensor) -> Tensor:
        """Return the integral of S from t to infinity."""

    @abstractmethod
    def tail_index(self) -> Tensor:
        """How fast S falls: like ``t ** -index``; infinite where it falls faster than every power."""

    @classmethod
    def parameter_names(cls) -> tuple[str, str]:
        """Return the names of the two parameters, in the order of the constructor."""
        first, second = (field.name for field in fields(cls))  # type: ignore[arg-type]
        return first, second

    @property
    def parameters(self) -> tuple[Tensor, Tensor]:
        """Return the two parameters in the order of the constructor."""
        first, second = self.parameter_names()
        return getattr(self, first), getattr(self, second)

    def map(self, function: Any) -> Self:
        """Return the same law with a function applied to both parameters (an index, a reshape, a cast)."""
        return type(self)(*(function(parameter) for parameter in self.parameters))

    def log_hazard(self, t: Tensor) -> Tensor:
        """``log f(t) / S(t)``."""
        return self.log_pdf(t) - self.log_survival(t)

    def quantile(self, q: Tensor) -> Tensor:
        """Return the time t with ``F(t) = q``."""
        return self.inverse_log_survival(torch.log1p(-q))

    def sample(self, n: int, generator: torch.Generator | None = None) -> Tensor:
        """Draw n times, shape ``(n, *shape of the parameters)``, by inversion."""
        like = torch.broadcast_tensors(*self.parameters)[0]
        log_s = torch.empty(n, *like.shape, dtype=like.dtype, device=like.device)
        return self.inverse_log_survival(-log_s.exponential_(generator=generator))


class LogLocationScale(Primitive):
    """A law whose logarithm is a location-scale family: all depends on ``z = precision * (log t - location)``."""

    @property
    @abstractmethod
    def location(self) -> Tensor:
        """Where the law sits on the axis of log time."""

    @property
    @abstractmethod
    def log_precision(self) -> Tensor:
        """Logarithm of one over the spread of log time."""

    @classmethod
    @abstractmethod
    def from_location(cls, location: Tensor, log_precision: Tensor) -> Self:
        """Return the law with this location and precision."""

    @classmethod
    def location_at(cls) -> int:
        """Return which of the two parameters, 0 or 1, is the location."""
        first, _ = cls.from_location(torch.tensor(1.0), torch.tensor(2.0)).parameters
        return 0 if abs(float(first)) == 1 else 1

    @staticmethod
    @abstractmethod
    def standard(z: Tensor, happened: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log density of z where ``happened`` is 1, its log survival where it is 0, and the slope in z.

        ``log f(t) = standard(z, 1) + log dz/dt``: with this the training step has its gradient in closed form.
        """

    @staticmethod
    @abstractmethod
    def standard_survival(z: Tensor) -> Tensor:
        """Return S as a function of z; z may be overwritten: the fast way to many curves at once."""

    def z(self, t: Tensor) -> Tensor:
        """Return the standardised log time."""
        return standardise(torch.log(t), self.location, self.log_precision)

    def log_jacobian(self, t: Tensor) -> Tensor:
        """``log dz/dt``."""
        return self.log_precision - torch.log(t)

    def spread(self, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        """``z(upper) - z(lower)`` and its logarithm, without cancellation."""
        ratio = torch.log1p((upper - lower) / lower)
        return standardise(ratio, torch.zeros_like(ratio), self.log_precision), self.log_precision + torch.log(ratio)

    def log_interval(self, lower: Tensor, upper: Tensor) -> Tensor:
        """``log P(lower < T <= upper)``; from the origin it is ``log_cdf(upper)``."""
        from_origin = lower <= 0
        if bool(from_origin.all()):
            return self.log_cdf(upper)
        inside = self._log_interval(torch.where(from_origin, upper / 2, lower), upper)
        return torch.where(from_origin, self.log_cdf(upper), inside) if bool(from_origin.any()) else inside

    @abstractmethod
    def _log_interval(self, lower: Tensor, upper: Tensor) -> Tensor:
        """``log P(lower < T <= upper)`` for ``0 < lower < upper``."""
