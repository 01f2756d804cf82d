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
from numpy.typing import ArrayLike
from torch import Tensor

from .._types import FloatArray, IntArray
from ..checks import check_times
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
        The times to which the rows survived, ``[rows]``; None if nothing is known.

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
        super().__init__(survived_to)
        self._mixtures = mixtures  # [members, rows, events, k]

    def __len__(self) -> int:
        return self._mixtures.log_weights.shape[1]

    @property
    def n_events(self) -> int:
        """The number of event types."""
        return self._mixtures.log_weights.shape[2]

    def _net(self, event: int) -> MixtureDistribution:
        mixture = self._mixtures.map(lambda values: values[:, :, event - 1])  # [members, rows, k]
        log_weights = mixture.log_weights
        if self._survived_to is not None:
            log_survival = self._by_event("log_survival", self._start())[..., 0]
            log_share = torch.log_softmax(log_survival.sum(-1), dim=0)  # [members, rows]
            # so that the shares given net survival are those given joint survival
            log_ratio = log_share - log_survival[..., event - 1]
            log_weights = log_weights + log_ratio[..., None]
        joined = Mixture(log_weights, mixture.components)
        joined = joined.map(lambda values: values.transpose(0, 1).flatten(1))  # [rows, members x k]
        log_weights = torch.log_softmax(joined.log_weights, dim=-1)
        return MixtureDistribution(Mixture(log_weights, joined.components), self._survived_to)

    def _incidences(self, times: Tensor) -> Tensor:
        times = times.expand(len(self), -1)
        return self._average(
            lambda mixtures: cumulative_incidences(mixtures, times, self._survived_to)
        )

    def _sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        member = choose(self._member_shares().T, n, rng)  # [rows, n]
        rows = torch.arange(len(self))[:, None]
        mixtures = self._mixtures.map(lambda values: values[member, rows].flatten(0, 1))
        survived_to = self._survived_to
        if survived_to is not None:
            survived_to = survived_to.repeat_interleave(n)
        latent_times = []
        for event in range(self.n_events):
            mixture = mixtures.map(lambda values, event=event: values[:, event])
            event_rng = np.random.default_rng(rng.integers(2**63))
            distribution = MixtureDistribution(mixture, survived_to)
            times, _ = distribution._sample(1, event_rng)
            latent_times.append(times.reshape(len(self), n))
        latent = np.stack(latent_times, axis=-1)
        return latent.min(-1), latent.argmin(-1) + 1

    def survival(self, t: ArrayLike) -> FloatArray:  # noqa: D102, inherited
        if self._survived_to is not None:
            return super().survival(t)
        return joint_survival(self._mixtures, check_times(t, "t")).numpy()

    def _select(self, rows: Any, survived_to: Tensor | None) -> Self:
        return type(self)(self._mixtures.map(lambda values: values[:, rows]), survived_to)

    def _by_event(self, name: str, t: Tensor) -> Tensor:
        """Return a log function of each member and event type, ``[members, rows, events, times]``."""
        columns = self._mixtures.map(lambda values: values[:, :, :, None])
        log_values: Tensor = getattr(columns, name)(t[None, :, None])
        return log_values

    def _member_shares(self) -> Tensor:
        """Return the weights of the members given survival to ``survived_to``, ``[members, rows]``."""
        log_survival = self._by_event("log_survival", self._start())
        return torch.softmax(log_survival.sum(2)[..., 0], dim=0)

    def _average(self, function: Callable[[Mixture], Tensor]) -> Tensor:
        """Return the mean over members of a function of their mixtures ``[rows, events, k]``."""
        average = torch.zeros((), dtype=torch.float64)
        for member, share in enumerate(self._member_shares()):
            mixtures = self._mixtures.map(lambda values, member=member: values[member])
            values = function(mixtures)
            share = share.view(-1, *[1] * (values.dim() - 1))
            average = average + torch.where(share > 0, share * values, 0.0)
        return average

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
        beyond = self._average(lambda mixtures: restricted_means(mixtures, t, self._survived_to))
        return torch.minimum(t, self._start()) + beyond

    def _mean(self) -> Tensor:
        beyond = self._average(lambda mixtures: means(mixtures, self._survived_to))
        return self._start() + beyond[:, None]
