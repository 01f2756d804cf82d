"""Families whose cumulative hazard has a closed form, from which survival, density and the rest follow."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from .base import Primitive
from .numeric import limit_gradient, log1mexp, saturate

__all__ = ["CumulativeHazard"]

_ORIGIN = -1e4  # stands for the logarithm of 0


class CumulativeHazard(Primitive):
    """A family that defines its cumulative hazard ``H(t) = -log S(t)``.

    A subclass must define ``log_hazards``, ``rescaled`` and ``tail_index``. The log cumulative hazard saturates at 80.

    Examples
    --------
    >>> from lifemix.primitives import CumulativeHazard, Gompertz
    >>> issubclass(Gompertz, CumulativeHazard)
    True
    """

    shift_activation: ClassVar[str] = "selu"

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

    def log_survival(self, t: Tensor) -> Tensor:
        return -torch.exp(self._log_cumulative_hazard(t))

    def log_cdf(self, t: Tensor) -> Tensor:
        log_cumulative_hazard = self._log_cumulative_hazard(t)
        return log1mexp(torch.exp(log_cumulative_hazard), log_cumulative_hazard)

    def _log_cumulative_hazard(self, t: Tensor) -> Tensor:
        log_cumulative_hazard, _ = self.log_hazards(_log(t))
        return torch.where(t > 0, saturate(log_cumulative_hazard), -torch.inf)

    def log_pdf(self, t: Tensor) -> Tensor:
        log_t = _log(t)
        log_cumulative_hazard, log_rate = self.log_hazards(log_t)
        cumulative_hazard = torch.exp(saturate(log_cumulative_hazard))
        return limit_gradient(log_rate) - log_t - cumulative_hazard

    def survival_curve(self, log_t: Tensor) -> Tensor:
        log_cumulative_hazard, _ = self.log_hazards(log_t.clamp(min=_ORIGIN))
        return torch.exp(-torch.exp(log_cumulative_hazard))

    def survival_and_density_curve(self, log_t: Tensor) -> tuple[Tensor, Tensor]:
        log_cumulative_hazard, log_rate = self.log_hazards(log_t.clamp(min=_ORIGIN))
        cumulative_hazard = torch.exp(saturate(log_cumulative_hazard))
        survival = torch.exp(-cumulative_hazard)
        return survival, torch.exp(log_rate - cumulative_hazard)


def _log(t: Tensor) -> Tensor:
    """Return log time; at the origin that of the smallest number, because functions there are limits."""
    smallest = torch.finfo(t.dtype).tiny
    return torch.log(torch.where(t > 0, t, smallest))
