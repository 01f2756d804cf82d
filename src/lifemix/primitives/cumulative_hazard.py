"""Families whose cumulative hazard has a closed form, from which survival, density and the rest follow."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from .base import Primitive
from .numeric import limit_gradient, log1mexp, saturate

__all__ = ["CumulativeHazard"]


class CumulativeHazard(Primitive):
    """A family that defines its cumulative hazard ``H(t) = -log S(t)``.

    A subclass must define ``log_hazards``, ``rescaled`` and ``tail_index``. The log cumulative hazard saturates at 80.

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
            Both may overflow: the callers cut them and their gradients.
        """

    def log_cumulative_hazard(self, t: Tensor) -> Tensor:
        """Return ``log H(t)``.

        Parameters
        ----------
        t : Tensor
            Times, which broadcast with the parameters.

        Returns
        -------
        Tensor
            The log cumulative hazard, at most 80; minus infinity at the origin.
        """
        return torch.where(t > 0, saturate(self.log_hazards(_log(t))[0]), -torch.inf)

    def log_survival(self, t: Tensor) -> Tensor:
        return -torch.exp(self.log_cumulative_hazard(t))

    def log_cdf(self, t: Tensor) -> Tensor:
        log_cumulative_hazard = self.log_cumulative_hazard(t)
        return log1mexp(torch.exp(log_cumulative_hazard), log_cumulative_hazard)

    def log_hazard(self, t: Tensor) -> Tensor:
        return limit_gradient(self.log_hazards(_log(t))[1]) - _log(t)

    def log_pdf(self, t: Tensor) -> Tensor:
        log_cumulative_hazard, log_rate = self.log_hazards(_log(t))
        cumulative_hazard = torch.exp(saturate(log_cumulative_hazard))
        return limit_gradient(log_rate) - _log(t) - cumulative_hazard

    def log_survival_and_slope(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        log_cumulative_hazard, log_rate = self.log_hazards(log_t)
        return -torch.exp(saturate(log_cumulative_hazard)), -torch.exp(log_rate)

    def survival_curve(self, log_t: Tensor) -> Tensor:
        return torch.exp(-torch.exp(self.log_hazards(log_t.clamp(min=-1e4))[0]))

    def survival_and_density_curve(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        log_cumulative_hazard, log_rate = self.log_hazards(log_t.clamp(min=-1e4))
        cumulative_hazard = torch.exp(saturate(log_cumulative_hazard))
        return torch.exp(-cumulative_hazard), torch.exp(log_rate - cumulative_hazard)


def _log(t: Tensor) -> Tensor:
    """Return log time; at the origin that of the smallest number, because functions there are limits."""
    return torch.log(torch.where(t > 0, t, torch.finfo(t.dtype).tiny))
