"""The weighted average of distributions of different kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from .._types import FloatArray, IntArray
from .base import SurvivalDistribution, choose

__all__ = ["AverageDistribution"]


class AverageDistribution(SurvivalDistribution):
    """``S(t) = sum_j w_j S_j(t)`` and ``F_m(t) = sum_j w_j F_jm(t)`` for each row.

    After ``given(s)`` each distribution is weighted by its probability of survival to s, too.

    Parameters
    ----------
    distributions : sequence of SurvivalDistribution
        Of the same rows and event types, none of them conditional.
    weights : sequence of float, or Tensor
        One per distribution, not negative, normalised to sum 1; or logarithms ``[rows, distributions]``.
    survived_to : Tensor, optional
        The times to which the rows survived, ``[rows]``; None for 0.

    Examples
    --------
    >>> import torch
    >>> from lifemix.distribution import AverageDistribution, MixtureDistribution
    >>> from lifemix.primitives import Mixture, Weibull
    >>> zero = torch.zeros(1, 1, dtype=torch.float64)
    >>> early, late = (MixtureDistribution(Mixture(zero, Weibull(zero, zero + x))) for x in (0.0, 1.0))
    >>> average = AverageDistribution([early, late], [1, 3])
    >>> average.mean().round(4)
    array([2.2887])
    """

    def __init__(
        self,
        distributions: Sequence[SurvivalDistribution],
        weights: Sequence[float] | Tensor,
        survived_to: Tensor | None = None,
    ) -> None:
        super().__init__(len(distributions[0]), survived_to)
        self._distributions = list(distributions)
        if isinstance(weights, Tensor):
            self._log_weights = weights  # [rows, distributions]
        else:
            total = float(np.sum(weights))
            shares = torch.as_tensor(np.asarray(weights, dtype=np.float64) / total)
            self._log_weights = torch.log(shares).expand(len(self), -1)

    @property
    def n_events(self) -> int:
        """The number of event types."""
        return self._distributions[0].n_events

    def _net(self, event: int) -> Self:
        nets = [distribution.net(event) for distribution in self._conditional()]
        # so that the weights given net survival are those given joint survival
        log_survival = torch.cat([net._log_survival(self._start) for net in nets], dim=1)
        log_weights = torch.log_softmax(self._log_given_weights() - log_survival, dim=1)
        return type(self)(nets, log_weights, self._survived_to)

    def _incidences(self, times: Tensor) -> Tensor:
        incidences = [distribution._incidences(times) for distribution in self._conditional()]
        return self._mean_of(incidences)

    def _sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        index = choose(torch.exp(self._log_given_weights()), n, rng).numpy()
        draws = []
        for distribution in self._conditional():
            member_rng = np.random.default_rng(rng.integers(2**63))
            draws.append(distribution._sample(n, member_rng))
        times, events = zip(*draws, strict=True)
        return np.choose(index, times), np.choose(index, events)

    def _select(self, rows: Any, survived_to: Tensor | None) -> Self:
        distributions = [distribution._select(rows, None) for distribution in self._distributions]
        return type(self)(distributions, self._log_weights[rows], survived_to)

    def _conditional(self) -> list[SurvivalDistribution]:
        """Return the distributions given survival to ``survived_to``."""
        return [distribution._given(self._survived_to) for distribution in self._distributions]

    def _log_given_weights(self) -> Tensor:
        """Return the log weights given survival to ``survived_to``, ``[rows, distributions]``."""
        log_survival = [member._log_survival(self._start) for member in self._distributions]
        return torch.log_softmax(self._log_weights + torch.cat(log_survival, dim=1), dim=1)

    def _mean_of(self, values: list[Tensor]) -> Tensor:
        """Return the mean of conditional values ``[rows, ...]`` of each distribution."""
        mean = torch.zeros_like(values[0])
        weights = torch.exp(self._log_given_weights())
        for weight, value in zip(weights.unbind(1), values, strict=True):
            weight = weight.view(-1, *[1] * (value.dim() - 1))
            mean += torch.where(weight > 0, weight * value, 0.0)  # the value may be infinite
        return mean

    def _log_mean_of(self, log_values: list[Tensor]) -> Tensor:
        """Return the log mean of unconditional values ``[rows, times]`` of each distribution."""
        stacked = torch.stack(log_values)  # [distributions, rows, times]
        return torch.logsumexp(stacked + self._log_weights.T[..., None], dim=0)

    def _log_survival(self, t: Tensor) -> Tensor:
        return self._log_mean_of([member._log_survival(t) for member in self._distributions])

    def _log_cdf(self, t: Tensor) -> Tensor:
        return self._log_mean_of([member._log_cdf(t) for member in self._distributions])

    def _log_pdf(self, t: Tensor) -> Tensor:
        return self._log_mean_of([member._log_pdf(t) for member in self._distributions])

    def _rmst(self, t: Tensor) -> Tensor:
        return self._mean_of([distribution._rmst(t) for distribution in self._conditional()])

    def _mean(self) -> Tensor:
        return self._mean_of([distribution._mean() for distribution in self._conditional()])
