"""Families whose cumulative hazard is known in closed form: survival, density and all else follow from it."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from .base import Primitive
from .stable import limit_gradient, log1mexp, saturate

__all__ = ["CumulativeHazard"]


class CumulativeHazard(Primitive):
    """A family that declares its cumulative hazard ``H(t) = -log S(t)``.

    A subclass must declare ``log_hazards``, ``rescaled`` and ``tail_index``. The log cumulative hazard saturates at 80.

    Examples
    --------
    >>> from lifemix.primitives import CumulativeHazard, Gompertz
    >>> issubclass(Gompertz, CumulativeHazard)
    True
    """

    @abstractmethod
    def log_hazards(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        """Return ``log H`` and the logarithm of the hazard on the axis of log time, ``t h(t)``.

        Parameters
        ----------
        log_t : Tensor
            Logarithms of times, finite.

        Returns
        -------
        tuple of Tensor
            Both may be as large as the numbers go: they are cut, with their gradients, where they are used.
        """

    def log_cumulative_hazard(self, t: Tensor) -> Tensor:
        """``log H(t)``.

        Parameters
        ----------
        t : Tensor
            Times, which broadcast with the parameters.

        Returns
        -------
        Tensor
            The log cumulative hazard, at most 80; minus infinity at the origin.
        """
        return torch.where(t > 0, self._at(t)[0], -torch.inf)

    def log_survival(self, t: Tensor) -> Tensor:
        return torch.where(t > 0, -torch.exp(self._at(t)[0]), 0.0)

    def log_hazard(self, t: Tensor) -> Tensor:
        return self._at(t)[1] - _log(t)

    def log_pdf(self, t: Tensor) -> Tensor:
        log_h, log_rate = self._at(t)
        return log_rate - _log(t) - torch.exp(log_h)

    def log_cdf(self, t: Tensor) -> Tensor:
        log_h = self._at(t)[0]
        return torch.where(t > 0, log1mexp(torch.exp(log_h), log_h), -torch.inf)

    def log_survival_and_slope(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        log_h, log_rate = self.log_hazards(log_t)
        return torch.exp(saturate(log_h)).neg_(), torch.exp(log_rate).neg_()

    def survival_curve(self, log_t: Tensor, out: Tensor | None = None) -> Tensor:
        return torch.exp(-torch.exp(self.log_hazards(_finite(log_t))[0]))

    def density_curve(self, log_t: Tensor) -> Tensor:
        log_h, log_rate = self.log_hazards(_finite(log_t))
        return torch.exp(log_rate - torch.exp(saturate(log_h)))

    def survival_and_density_curve(
        self, log_t: Tensor, out: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        log_h, log_rate = self.log_hazards(_finite(log_t))
        cumulative_hazard = torch.exp(saturate(log_h))
        return torch.exp(-cumulative_hazard), torch.exp(log_rate - cumulative_hazard)

    def _at(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """Return both logarithms at times, the first saturated, with gradients that stay finite."""
        log_h, log_rate = self.log_hazards(_log(t))
        return saturate(limit_gradient(log_h)), limit_gradient(log_rate)


def _log(t: Tensor) -> Tensor:
    """Return log time; at the origin that of the smallest number: functions there are those right beside it."""
    return torch.log(torch.where(t > 0, t, torch.finfo(t.dtype).tiny))


def _finite(log_t: Tensor) -> Tensor:
    return log_t.clamp(min=-1e4)
