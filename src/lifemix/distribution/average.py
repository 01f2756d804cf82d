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

    After ``given(s)`` a part counts by its probability of survival to s.

    Parameters
    ----------
    parts : sequence of SurvivalDistribution
        Of the same rows and event types, none of them conditional.
    weights : sequence of float, or Tensor
        Not negative, normalised to sum 1; one per part, or logarithms ``[rows, parts]``.
    since : Tensor, optional
        The times to which the rows are known to have survived, ``[rows]``; None for everyone from the origin.

    Examples
    --------
    >>> import torch
    >>> from lifemix.distribution import AverageDistribution, MixtureDistribution
    >>> from lifemix.primitives import Mixture, Weibull
    >>> zero = torch.zeros(1, 1, dtype=torch.float64)
    >>> parts = [MixtureDistribution(Mixture(zero, Weibull(zero, zero + scale))) for scale in (0.0, 1.0)]
    >>> average = AverageDistribution(parts, [1, 3])
    >>> average.mean().round(4)
    array([2.2887])
    """

    def __init__(
        self,
        parts: Sequence[SurvivalDistribution],
        weights: Sequence[float] | Tensor,
        since: Tensor | None = None,
    ) -> None:
        super().__init__(since)
        self._parts = list(parts)
        if isinstance(weights, Tensor):
            self._log_weights = weights  # [rows, parts]
        else:
            shares = torch.as_tensor(np.asarray(weights, dtype=np.float64) / np.sum(weights))
            self._log_weights = torch.log(shares).expand(len(parts[0]), -1)

    def __len__(self) -> int:
        return len(self._parts[0])

    def __repr__(self) -> str:
        return f"<{len(self)} averages of {len(self._parts)} distributions>"

    @property
    def n_events(self) -> int:
        """The number of event types."""
        return self._parts[0].n_events

    def net(self, event: int = 1) -> SurvivalDistribution:
        """Return the distribution of one event type by itself, as if the others did not exist.

        The mean of the parts' net distributions, each weighted by its probability of survival to ``since``.

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
        nets = [part.net(event) for part in self._parts]
        log_weights = self._log_weights
        if self._since is not None:
            at = self._since_column()
            log_weights = torch.log(self._shares()) - torch.cat(
                [net._log_survival(at) for net in nets], dim=1
            )
        return type(self)(nets, torch.log_softmax(log_weights, dim=1), self._since)

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
        shares = self._shares().T.numpy()[:, :, None]
        parts = [part.cumulative_incidences(t) for part in self._conditional()]
        return np.asarray(sum(share * part for share, part in zip(shares, parts, strict=True)))

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
        drawn = torch.searchsorted(ends, torch.as_tensor(rng.random((len(self), n)))).clamp(
            max=len(self._parts) - 1
        )
        draws = [part.sample(n, int(rng.integers(2**63))) for part in self._conditional()]
        if self.n_events == 1:
            return np.choose(drawn.numpy(), draws)
        return np.choose(drawn.numpy(), [time for time, _ in draws]), np.choose(
            drawn.numpy(), [e for _, e in draws]
        )

    @property
    def _width(self) -> int:
        return sum(part._width for part in self._parts)

    def _take(self, rows: Any) -> Self:
        since = None if self._since is None else self._since[rows]
        return type(self)(
            [part._take(rows) for part in self._parts], self._log_weights[rows], since
        )

    def _with_since(self, since: Tensor) -> Self:
        return type(self)(self._parts, self._log_weights, since)

    def _conditional(self) -> list[Any]:
        """Return the parts, given survival to ``since``."""
        return [
            part if self._since is None else part._with_since(self._since) for part in self._parts
        ]

    @torch.no_grad()
    def _shares(self) -> Tensor:
        """Return how much each part counts among those who survived to ``since``, ``[rows, parts]``."""
        if self._since is None:
            return torch.exp(self._log_weights)
        at = self._since_column()
        return torch.softmax(
            self._log_weights + torch.cat([part._log_survival(at) for part in self._parts], dim=1),
            1,
        )

    def _mixed(self, name: str, t: Tensor) -> Tensor:
        values = torch.stack(
            [getattr(part, name)(t) for part in self._parts]
        )  # [parts, rows, times]
        return torch.logsumexp(values + self._log_weights.T[..., None], dim=0)

    def _log_survival(self, t: Tensor) -> Tensor:
        return self._mixed("_log_survival", t)

    def _log_cdf(self, t: Tensor) -> Tensor:
        return self._mixed("_log_cdf", t)

    def _log_pdf(self, t: Tensor) -> Tensor:
        return self._mixed("_log_pdf", t)

    def _log_hazard(self, t: Tensor) -> Tensor:
        return self._log_pdf(t) - self._log_survival(t)

    def _bracket(self, log_s: Tensor) -> tuple[Tensor, Tensor]:
        log_t = torch.log(torch.stack([part._invert(log_s) for part in self._parts]))
        return log_t.amin(0) - 1e-6, log_t.amax(0) + 1e-6

    def _rmst(self, t: Tensor) -> Tensor:
        shares = self._shares().T[..., None]
        return torch.stack([part._rmst(t) for part in self._conditional()]).mul(shares).sum(0)

    def _mean(self) -> Tensor:
        shares = self._shares().T[..., None]
        means = torch.stack([part._mean() for part in self._conditional()])
        return torch.where(shares > 0, shares * means, 0.0).sum(0)
