"""Rates at which several events with Weibull mixtures come first: the integrands of cumulative incidences."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..primitives import Mixture, Weibull
from .exponential import exp_
from .incidence_panel import product_of

__all__ = ["AT_ONCE", "LOWEST_POWER", "WeibullRates"]

AT_ONCE = 1 << 18  # numbers in the largest temporary array
LOWEST_POWER = 3.0  # of the variable up to the first time, in any cumulative hazard
_FEW_EVENTS = 4  # whose survival is multiplied one after the other
_TINY = 1e-300  # in place of 0 under a fraction


@dataclass(frozen=True)
class WeibullRates:
    """Weibull mixtures, ``[events, k, rows]``; the log cumulative hazard is ``offset + shape * log t``."""

    log_weights: Tensor
    shape: Tensor
    offset: Tensor

    @classmethod
    def of(cls, mixtures: Mixture) -> WeibullRates:
        """Return those of mixtures of Weibull components ``[events, rows, k]``."""
        components = mixtures.components
        assert isinstance(components, Weibull)
        parts = (mixtures.log_weights, components.log_shape, components.log_scale)
        log_weights, log_shape, log_scale = (part.transpose(1, 2).contiguous() for part in parts)
        shape = log_shape.exp()
        return cls(log_weights, shape, -shape * log_scale)

    def __getitem__(self, rows: Any) -> WeibullRates:
        return WeibullRates(
            self.log_weights[..., rows], self.shape[..., rows], self.offset[..., rows]
        )

    def rates(self, log_t: Tensor, n_times: int, space: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rates at which events other than the last come first, and survival at the last ``n_times``.

        On the axis of log time, ``[events - 1, points, rows]`` and ``[times, rows]``; log_t: ``[points, rows]``; space:
        memory for two numbers of each component and point.
        """
        events = len(self.shape)
        hazard, mixed = self._hazards(log_t, space)
        if events == 2:
            other, own = mixed[1].sum(0), mixed[0, :, -n_times:].sum(0)
            rate = mixed[:1].mul_(hazard[:1]).mul_(self.shape[:1, :, None]).sum(1).mul_(other)
            return rate, own.mul_(other[-n_times:])
        survival = mixed.sum(1)
        together = _product(survival)
        density = mixed[:-1].mul_(hazard[:-1]).mul_(self.shape[:-1, :, None]).sum(1)
        return density.mul_(together / survival[:-1].clamp(min=_TINY)), together[-n_times:]

    def all_rates(self, log_t: Tensor, space: Tensor) -> Tensor:
        """Return the rates at which all events come first, ``[events, points, rows]``."""
        hazard, mixed = self._hazards(log_t, space)
        survival = mixed.sum(1)
        density = mixed.mul_(hazard).mul_(self.shape[:, :, None]).sum(1)
        return density.mul_(_product(survival) / survival.clamp_(min=_TINY))

    def _hazards(self, log_t: Tensor, space: Tensor) -> tuple[Tensor, Tensor]:
        """Return cumulative hazards and weighted survival of the components, ``[events, k, points, rows]``."""
        size = (*self.shape.shape[:2], *log_t.shape)
        hazard, mixed = (part[: math.prod(size)].view(size) for part in space)
        exp_(torch.addcmul(self.offset[:, :, None], self.shape[:, :, None], log_t, out=hazard))
        return hazard, exp_(torch.sub(self.log_weights[:, :, None], hazard, out=mixed))


def _product(survival: Tensor) -> Tensor:
    return product_of(survival) if len(survival) <= _FEW_EVENTS else survival.prod(0)
