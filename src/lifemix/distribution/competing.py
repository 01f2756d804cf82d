"""The joint distribution of competing events: independent latent times given the covariates, and their minimum.

An ensemble averages the joint distributions of its members, ``S = mean_a prod_j S_aj`` and ``F_m = mean_a F_am``;
incidences are never rebuilt from averaged net curves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from .._types import FloatArray, IntArray
from ..incidence import (
    cumulative_incidences,
    joint_survival,
    means,
    restricted_means,
)
from ..primitives import Mixture
from ..primitives.numeric import cumulative_hazard
from .base import SurvivalDistribution, choose
from .single import MixtureDistribution

__all__ = ["CompetingDistribution"]


class CompetingDistribution(SurvivalDistribution):
    """The distribution of the time and the type of the first of several events, for each row.

    Parameters
    ----------
    mixtures : Mixture
        Weights and components of every member and event type, ``[members, rows, events, k]``, in double precision.
    survived_to : Tensor, optional
        The times to which the rows survived, ``[rows]``; None for 0.

    Examples
    --------
    >>> import torch
    >>> from lifemix.distribution import CompetingDistribution
    >>> from lifemix.primitives import Mixture, Weibull
    >>> zero = torch.zeros(1, 1, 2, 1, dtype=torch.float64)
    >>> two_exponentials = CompetingDistribution(Mixture(zero, Weibull(log_shape=zero, log_scale=zero)))
    >>> two_exponentials.cumulative_incidence([0.5, 100.0], event=1).round(4)
    array([[0.3161, 0.5   ]])
    >>> two_exponentials.net(1).survival(1.0).round(4)
    array([[0.3679]])
    """

    def __init__(self, mixtures: Mixture, survived_to: Tensor | None = None) -> None:
        super().__init__(mixtures.log_weights.shape[1], survived_to)
        self._mixtures = mixtures  # [members, rows, events, k]

    @property
    def n_events(self) -> int:
        """The number of event types."""
        return self._mixtures.log_weights.shape[2]

    def _net(self, event: int) -> MixtureDistribution:
        log_survival = self._by_event("log_survival", self._start)[..., 0]
        log_share = log_survival.sum(-1)  # of a member, given joint survival
        # Net survival multiplies the share by the survival of this event, once more.
        log_ratio = log_share - log_survival[..., event - 1]
        mixture = self._mixtures.map(lambda values: values[:, :, event - 1])  # [members, rows, k]
        mixture = Mixture(mixture.log_weights + log_ratio[..., None], mixture.components)
        # [rows, members x k]
        joined = mixture.map(lambda values: values.transpose(0, 1).flatten(1))
        log_weights = torch.log_softmax(joined.log_weights, dim=-1)
        return MixtureDistribution(Mixture(log_weights, joined.components), self._survived_to)

    def _incidences(self, times: Tensor) -> Tensor:
        return self._average(cumulative_incidences, times.expand(len(self), -1))

    def _sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        member = choose(self._member_shares().T, n, rng)  # [rows, n]
        rows = torch.arange(len(self))[:, None]
        drawn = self._mixtures.map(lambda values: values[member, rows].flatten(0, 1))
        survived_to = self._survived_to.repeat_interleave(n)
        latent_times = []
        for event in range(self.n_events):
            mixture = drawn.map(lambda values, event=event: values[:, event])
            event_rng = np.random.default_rng(rng.integers(2**63))
            distribution = MixtureDistribution(mixture, survived_to)
            times, _ = distribution._sample(1, event_rng)
            latent_times.append(times.reshape(len(self), n))
        latent = np.stack(latent_times, axis=-1)
        return latent.min(-1), latent.argmin(-1) + 1

    def _survival(self, t: Tensor) -> Tensor:
        return self._average(joint_survival, t)

    def _select(self, rows: Any, survived_to: Tensor | None) -> Self:
        return type(self)(self._mixtures.map(lambda values: values[:, rows]), survived_to)

    def _by_event(self, name: str, t: Tensor) -> Tensor:
        """Return a log function of each member and event type, ``[members, rows, events, times]``."""
        columns = self._mixtures.map(lambda values: values[:, :, :, None])
        log_values: Tensor = getattr(columns, name)(t[None, :, None])
        return log_values

    def _member_shares(self) -> Tensor:
        """Return the weights of the members given survival to ``survived_to``, ``[members, rows]``."""
        log_survival = self._by_event("log_survival", self._start)
        return torch.softmax(log_survival.sum(2)[..., 0], dim=0)

    def _average(self, function: Callable[..., Tensor], *times: Tensor) -> Tensor:
        """Return the mean over members of ``function(mixtures, *times, survived_to)``, ``[rows, ...]``."""
        shares = self._member_shares()
        n_members = len(shares)
        mixtures = self._mixtures.map(lambda values: values.flatten(0, 1))
        repeated = [t.repeat(n_members, 1) for t in times]
        values = function(mixtures, *repeated, self._survived_to.repeat(n_members))
        shares = shares.view(-1, *[1] * (values.dim() - 1))
        weighted = torch.where(shares > 0, shares * values, 0.0)
        return weighted.view(n_members, len(self), *values.shape[1:]).sum(0)

    def _log_survival(self, t: Tensor) -> Tensor:
        log_survival = self._by_event("log_survival", t).sum(2)
        return torch.logsumexp(log_survival, dim=0) - math.log(len(log_survival))

    def _log_cdf(self, t: Tensor) -> Tensor:
        log_survival = self._by_event("log_survival", t)
        hazard = cumulative_hazard(log_survival, self._by_event("log_cdf", t))
        cdf = -torch.expm1(-hazard.sum(2))  # [members, rows, times]
        return torch.log(cdf.mean(0))

    def _log_pdf(self, t: Tensor) -> Tensor:
        log_survival = self._by_event("log_survival", t)
        log_hazard = torch.logsumexp(self._by_event("log_pdf", t) - log_survival, dim=2)
        log_pdf = log_survival.sum(2) + log_hazard
        return torch.logsumexp(log_pdf, dim=0) - math.log(len(log_pdf))

    def _rmst(self, t: Tensor) -> Tensor:
        return torch.minimum(t, self._start) + self._average(restricted_means, t)

    def _mean(self) -> Tensor:
        return self._start + self._average(means)
