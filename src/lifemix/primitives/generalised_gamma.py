"""Generalised gamma times: Weibull, gamma and log-normal distributions and all between, by three parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from .log_gamma import LogGamma

__all__ = ["GeneralisedGamma"]


@dataclass(frozen=True, eq=False)
class GeneralisedGamma(LogGamma, name="generalised-gamma", label="generalised gamma"):
    """Generalised gamma times in Prentice's form: ``w = (log t - mu) / sigma`` is the logarithm of a gamma variate.

    For q = 1 it is the Weibull distribution, for q = 0 the log-normal, for q = sigma the gamma, for q = -1 the inverse
    Weibull. Derivatives in all three parameters are exact, q = 0 included (doi:10.1093/biomet/61.3.539).

    Parameters
    ----------
    mu : Tensor
        The location on the axis of log time.
    log_sigma : Tensor
        The logarithm of the scale there.
    q : Tensor
        The shape, of either sign; S falls as a power of time where it is negative.

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

    def log_gamma(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.mu, -self.log_sigma, self.q

    @classmethod
    def first_guess(cls, location: Tensor, log_precision: Tensor, *fixed: Tensor) -> Self:
        return cls(location, -log_precision, torch.full_like(location, 0.5))

    def rescaled(self, log_factor: Tensor | float) -> Self:
        return type(self)(self.mu + log_factor, self.log_sigma, self.q)

    def tail_index(self) -> Tensor:
        falling = self.q < 0
        return torch.where(
            falling, torch.exp(-self.log_sigma) / torch.where(falling, -self.q, 1.0), torch.inf
        )

    @classmethod
    def javascript(cls) -> str:
        return "([mu, logSigma, q], logUnit) => logGamma(mu + logUnit, Math.exp(-logSigma), q)"
