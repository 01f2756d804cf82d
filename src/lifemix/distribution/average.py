"""The weighted average of distributions of different kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from .._types import FloatArray
from ..checks import Seed, Whole, check_event
from .base import SurvivalDistribution

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
        The times to which the rows survived, ``[rows]``; None if nothing is known.

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
        super().__init__(survived_to)
        self._distributions = list(distributions)
        if isinstance(weights, Tensor):
            self._log_weights = weights  # [rows, distributions]
        else:
            shares = torch.as_tensor(np.asarray(weights, dtype=np.float64) / np.sum(weights))
            self._log_weights = torch.log(shares).expand(len(self), -1)

    def __len__(self) -> int:
        return len(self._distributions[0])

    def __repr__(self) -> str:
        return f"<{len(self)} averages of {len(self._distributions)} distributions>"

    @property
    def n_events(self) -> int:
        """The number of event types."""
        return self._distributions[0].n_events

    def net(self, event: int = 1) -> SurvivalDistribution:
        """Return the distribution of one event type by itself, as if the others did not exist.

        The mean of the distributions' net ones, each weighted by its probability of survival to ``survived_to``.

        Parameters
        ----------
        event : int, default 1
            The event type, from 1 on.

        Returns
        -------
        AverageDistribution
            The net distribution.
        """
        event = check_event(event, self.n_events)
        if self.n_events == 1:
            return self
        nets = [distribution.net(event) for distribution in self._distributions]
        log_weights = self._log_weights
        if self._survived_to is not None:
            log_survival = [net._log_survival(self._start()) for net in nets]
            log_weights = torch.log(self._shares()) - torch.cat(log_survival, dim=1)
        return type(self)(nets, torch.log_softmax(log_weights, dim=1), self._survived_to)

    def cumulative_incidences(self, t: ArrayLike) -> FloatArray:
        """Return the cumulative incidence of every event type.

        Parameters
        ----------
        t : float or array-like of shape (n_times,)
            Times, finite and not negative.

        Returns
        -------
        ndarray of shape (n_events, n_rows, n_times)
            Probabilities.
        """
        incidences = [
            share.numpy()[:, None] * distribution.cumulative_incidences(t)
            for share, distribution in zip(self._shares().T, self._conditional(), strict=True)
        ]
        return np.sum(incidences, axis=0)

    def sample(self, n: int, random_state: int | None = None) -> Any:
        """Draw times, and event types where there are several.

        Parameters
        ----------
        n : int
            How many for each row.
        random_state : int, optional
            The random seed; None for a fresh one.

        Returns
        -------
        ndarray of shape (n_rows, n), or a pair of such arrays
            Times, and event types.
        """
        n, rng = Whole(0)("n", n), np.random.default_rng(Seed()("random_state", random_state))
        ends = self._shares().cumsum(1).contiguous()
        uniform = torch.as_tensor(rng.random((len(self), n)))
        chosen = torch.searchsorted(ends, uniform).clamp(max=ends.shape[1] - 1).numpy()
        draws = [
            distribution.sample(n, int(rng.integers(2**63))) for distribution in self._conditional()
        ]
        if self.n_events == 1:
            return np.choose(chosen, draws)
        times, events = zip(*draws, strict=True)
        return np.choose(chosen, times), np.choose(chosen, events)

    def _select(self, rows: Any, survived_to: Tensor | None) -> Self:
        distributions = [each._select(rows, None) for each in self._distributions]
        return type(self)(distributions, self._log_weights[rows], survived_to)

    def _conditional(self) -> list[SurvivalDistribution]:
        """Return the distributions given survival to ``survived_to``."""
        return [
            distribution._select(slice(None), self._survived_to)
            for distribution in self._distributions
        ]

    @torch.no_grad()
    def _shares(self) -> Tensor:
        """Return the weights given survival to ``survived_to``, ``[rows, distributions]``."""
        if self._survived_to is None:
            return torch.exp(self._log_weights)
        start = self._start()
        log_survival = [distribution._log_survival(start) for distribution in self._distributions]
        return torch.softmax(self._log_weights + torch.cat(log_survival, dim=1), dim=1)

    def _log_mean(self, log_values: list[Tensor]) -> Tensor:
        stacked = torch.stack(log_values)  # [distributions, rows, times]
        return torch.logsumexp(stacked + self._log_weights.T[..., None], dim=0)

    def _log_survival(self, t: Tensor) -> Tensor:
        return self._log_mean([each._log_survival(t) for each in self._distributions])

    def _log_cdf(self, t: Tensor) -> Tensor:
        return self._log_mean([each._log_cdf(t) for each in self._distributions])

    def _log_pdf(self, t: Tensor) -> Tensor:
        return self._log_mean([each._log_pdf(t) for each in self._distributions])

    def _rmst(self, t: Tensor) -> Tensor:
        means = torch.stack([each._rmst(t) for each in self._conditional()])
        return (self._shares().T[..., None] * means).sum(0)

    def _mean(self) -> Tensor:
        shares = self._shares().T[..., None]
        means = torch.stack([each._mean() for each in self._conditional()])
        return torch.where(shares > 0, shares * means, 0.0).sum(0)
