"""What can be asked of the predicted distribution of every row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from .._types import FloatArray, IntArray
from ..checks import Seed, Whole, check_event, check_shares, check_times
from ..errors import InputError
from ..primitives.numeric import invert

__all__ = ["SurvivalDistribution", "choose"]

_BLOCK = 1 << 14  # rows times values that are computed together
_LAST_TIME = 1e300


def choose(weights: Tensor, n: int, rng: np.random.Generator) -> Tensor:
    """Return n indices of each row, ``[rows, n]``, drawn with the probabilities ``[rows, indices]``."""
    upper_ends = weights.cumsum(1).contiguous()
    uniform = torch.as_tensor(rng.random((len(weights), n)))
    index = torch.searchsorted(upper_ends, uniform)
    return index.clamp(max=weights.shape[1] - 1)


class SurvivalDistribution(ABC):
    """The distribution of the time to the first event, one per row: what ``predict_distribution`` returns.

    Methods take a number or a vector and return ``(n_rows, n_values)`` arrays in the user's unit of time. After
    ``given(s)`` everything is conditional on survival to s, while times still count from the origin.

    A subclass implements the functions of time ``_log_survival``, ``_log_cdf`` and ``_log_pdf``, which count from the
    origin whatever ``survived_to`` is. What else it implements is conditional on survival to ``survived_to``.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    survived_to : Tensor, optional
        The times to which the rows survived, ``[rows]``; None for 0.

    Examples
    --------
    >>> from lifemix import DeepSurvivalMachines
    >>> from lifemix.datasets import load_metabric
    >>> data = load_metabric()
    >>> model = DeepSurvivalMachines(max_epochs=1).fit(data.X, data.y)
    >>> distribution = model.predict_distribution(data.X[:5])
    >>> distribution.survival([12, 60, 120]).shape
    (5, 3)
    >>> distribution.given(60).median().shape
    (5,)
    """

    def __init__(self, n_rows: int, survived_to: Tensor | None = None) -> None:
        if survived_to is None:
            survived_to = torch.zeros(n_rows, dtype=torch.float64)
        self._survived_to = survived_to
        self._start = survived_to[:, None]  # [rows, 1]

    def __len__(self) -> int:
        return len(self._survived_to)

    @property
    @abstractmethod
    def n_events(self) -> int:
        """The number of event types."""

    @abstractmethod
    def _net(self, event: int) -> SurvivalDistribution:
        """Return the distribution of one event type if there are several."""

    @abstractmethod
    def _incidences(self, times: Tensor) -> Tensor:
        """Return the cumulative incidences at times ``[times]``, ``[rows, events, times]``."""

    @abstractmethod
    def _sample(self, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Return n first events of each row: times and event types, ``(n_rows, n)``."""

    @abstractmethod
    def _select(self, rows: Any, survived_to: Tensor | None) -> Self:
        """Return the distributions of some rows, given survival to ``survived_to`` instead."""

    # Functions of times [rows, times] that count from the origin.

    @abstractmethod
    def _log_survival(self, t: Tensor) -> Tensor: ...

    @abstractmethod
    def _log_cdf(self, t: Tensor) -> Tensor: ...

    @abstractmethod
    def _log_pdf(self, t: Tensor) -> Tensor: ...

    # Means given survival to ``survived_to``.

    @abstractmethod
    def _rmst(self, t: Tensor) -> Tensor:
        """Return ``E min(T, t)``, ``[rows, times]``."""

    @abstractmethod
    def _mean(self) -> Tensor:
        """Return ``E T``, ``[rows, 1]``."""

    def __getitem__(self, rows: Any) -> Self:
        """Return the distributions of some rows (an index, a slice, a mask)."""
        row_index = np.atleast_1d(np.arange(len(self))[rows])
        index = torch.as_tensor(row_index.copy())  # a view may be reversed
        return self._select(index, self._survived_to[index])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} rows and {self.n_events} event types>"

    def survival(self, t: ArrayLike) -> FloatArray:
        """Return the survival function ``S(t)``, the probability of no event up to t.

        Parameters
        ----------
        t : float or array-like of shape (n_times,)
            Times, finite and not negative.

        Returns
        -------
        ndarray of shape (n_rows, n_times)
            Probabilities.
        """

        def survival(block: Self, times: Tensor) -> Tensor:
            survival = block._survival(times).clamp(max=1.0)
            return torch.where(times > block._start, survival, 1.0)

        return self._by_time(t, survival)

    def cumulative_hazard(self, t: ArrayLike) -> FloatArray:
        """Return the cumulative hazard ``H(t) = -log S(t)``.

        Parameters
        ----------
        t : float or array-like of shape (n_times,)
            Times, finite and not negative.

        Returns
        -------
        ndarray of shape (n_rows, n_times)
            Cumulative hazards.
        """
        return self._by_time(t, lambda block, times: -block._log_conditional_survival(times))

    def pdf(self, t: ArrayLike) -> FloatArray:
        """Return the density ``f(t) = -dS/dt``, per unit of time.

        Parameters
        ----------
        t : float or array-like of shape (n_times,)
            Times, finite and not negative.

        Returns
        -------
        ndarray of shape (n_rows, n_times)
            Densities.
        """

        def pdf(block: Self, times: Tensor) -> Tensor:
            return block._density(times, given=block._start)

        return self._by_time(t, pdf)

    def hazard(self, t: ArrayLike) -> FloatArray:
        """Return the hazard ``h(t) = f(t) / S(t)``, per unit of time.

        Parameters
        ----------
        t : float or array-like of shape (n_times,)
            Times, finite and not negative.

        Returns
        -------
        ndarray of shape (n_rows, n_times)
            Hazards.
        """

        def hazard(block: Self, times: Tensor) -> Tensor:
            return block._density(times, given=times)

        return self._by_time(t, hazard)

    def quantile(self, q: ArrayLike) -> FloatArray:
        """Return quantiles: the times by which a share q has had the event.

        Parameters
        ----------
        q : float or array-like of shape (n_levels,)
            Levels from 0 to 1.

        Returns
        -------
        ndarray of shape (n_rows, n_levels)
            Times, no earlier for higher levels; infinite for ``q = 1``, and for every q that is never reached.
        """
        levels = check_shares(q, "q")
        order = np.argsort(levels, kind="stable")
        log_s = torch.log1p(-torch.as_tensor(levels[order]))

        def solve(block: Self) -> Tensor:
            log_survival = log_s + block._log_survival(block._start)
            times = block._invert(log_survival.clamp(max=0.0))
            return torch.maximum(times, block._start).cummax(1).values  # S may be flat

        quantiles = np.empty((len(self), len(levels)))
        quantiles[:, order] = self._by_block(solve, len(levels))
        return quantiles

    def cure_fraction(self) -> FloatArray:
        """Return the probability that the event never happens: S at infinity.

        It is above 0 with ``cure=True``, and for distributions that leave some without the event by themselves, such as
        Gompertz with a negative rate of aging. Then the mean is infinite, and so are quantiles above one minus it.

        Returns
        -------
        ndarray of shape (n_rows,)
            Probabilities; after ``given(s)``, among those who survived to s. With competing risks, that none of the
            events happens; ``net(event)`` has that of one.
        """
        return self.survival(_LAST_TIME)[:, 0]

    def median(self) -> FloatArray:
        """Return the median of each row.

        Returns
        -------
        ndarray of shape (n_rows,)
            Times.
        """
        return self.quantile(0.5)[:, 0]

    def mean(self) -> FloatArray:
        """Return the mean of each row.

        Returns
        -------
        ndarray of shape (n_rows,)
            Times; infinite where the integral of S is, or is beyond the largest number.
        """
        return self._by_block(lambda block: block._mean(), 1)[:, 0]

    def rmst(self, t: ArrayLike) -> FloatArray:
        """Return the restricted mean survival time ``E min(T, t)``.

        Parameters
        ----------
        t : float or array-like of shape (n_times,)
            Times, finite and not negative.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_times)
            Times; the first shape for a number.
        """
        means = self._by_time(t, lambda block, times: block._rmst(times))
        return means[:, 0] if np.ndim(t) == 0 else means

    def net(self, event: int = 1) -> Any:
        """Return the distribution of one event type by itself, as if the others did not exist (what the paper reports).

        Of an average or an ensemble, it is the mean of the net distributions, each weighted by its probability of
        survival to ``survived_to``.

        Parameters
        ----------
        event : int, default 1
            The event type, from 1 on.

        Returns
        -------
        SurvivalDistribution
            The net distribution; with one event type, this one.
        """
        event = check_event(event, self.n_events)
        return self if self.n_events == 1 else self._net(event)

    @torch.no_grad()
    def cumulative_incidences(self, t: ArrayLike) -> FloatArray:
        """Return the cumulative incidence of every event type, for the cost of one.

        Parameters
        ----------
        t : float or array-like of shape (n_times,)
            Times, finite and not negative.

        Returns
        -------
        ndarray of shape (n_events, n_rows, n_times)
            Probabilities.
        """
        incidences = self._incidences(torch.as_tensor(check_times(t, "t")))
        return incidences.transpose(0, 1).contiguous().numpy()

    def cumulative_incidence(self, t: ArrayLike, event: int = 1) -> FloatArray:
        """Return ``F_m(t)``, the probability that the event m comes first and by time t.

        With all event types, ``sum_m F_m(t) + S(t) = 1``.

        Parameters
        ----------
        t : float or array-like of shape (n_times,)
            Times, finite and not negative.
        event : int, default 1
            The event type m, from 1 on.

        Returns
        -------
        ndarray of shape (n_rows, n_times)
            Probabilities.
        """
        event = check_event(event, self.n_events)
        return self.cumulative_incidences(t)[event - 1]

    @torch.no_grad()
    def sample(self, n: int, random_state: int | None = None) -> Any:
        """Draw times, and event types if there are several.

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
        n = Whole(0)("n", n)
        rng = np.random.default_rng(Seed()("random_state", random_state))
        times, events = self._sample(n, rng)
        return times if self.n_events == 1 else (times, events)

    def given(self, s: ArrayLike) -> Self:
        """Return the distributions given survival to s.

        Parameters
        ----------
        s : float or array-like of shape (n_rows,)
            Times, finite and not negative: one for all rows, or one per row.

        Returns
        -------
        SurvivalDistribution
            The conditional distributions; times still count from the origin.
        """
        starts = check_times(s, "s")
        if np.ndim(s) > 0 and len(starts) != len(self):
            raise InputError(
                f"s must be a number or one per row ({len(self)}); got shape {starts.shape}."
            )
        return self._given(torch.maximum(torch.as_tensor(starts), self._survived_to))

    def _given(self, survived_to: Tensor | None) -> Self:
        """Return all rows, given survival to other times ``[rows]``."""
        return self._select(slice(None), survived_to)

    def _log_conditional_survival(self, t: Tensor) -> Tensor:
        """Return ``log S(t)`` given survival to ``survived_to``, ``[rows, times]``."""
        log_ratio = self._log_survival(t) - self._log_survival(self._start)
        return torch.where(t <= self._start, 0.0, log_ratio.clamp(max=0.0))

    def _survival(self, t: Tensor) -> Tensor:
        """Return ``S(t)`` given survival to ``survived_to``, ``[rows, times]``."""
        return torch.exp(self._log_conditional_survival(t))

    def _density(self, t: Tensor, given: Tensor) -> Tensor:
        """Return ``f(t) / S(given)``, and 0 before ``survived_to``, ``[rows, times]``."""
        log_ratio = self._log_pdf(t) - self._log_survival(given)
        return torch.where(t < self._start, 0.0, torch.exp(log_ratio))

    def _invert(self, log_s: Tensor) -> Tensor:
        """Return the times at which ``log S`` is ``log_s``, ``[rows, values]``."""
        rows = torch.arange(len(self))[:, None].expand_as(log_s).flatten()

        def curves(index: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
            distribution = self._select(rows[index], None)
            log_survival, log_cdf = distribution._log_survival, distribution._log_cdf
            return log_survival(t[:, None])[:, 0], log_cdf(t[:, None])[:, 0]

        return invert(curves, log_s.flatten()).view_as(log_s)

    def _by_time(self, t: ArrayLike, function: Callable[[Self, Tensor], Tensor]) -> FloatArray:
        """Apply a function of rows and times ``[rows, times]``."""
        times = torch.as_tensor(check_times(t, "t"))

        def values(block: Self) -> Tensor:
            return function(block, times.expand(len(block), -1))

        return self._by_block(values, len(times))

    @torch.no_grad()
    def _by_block(self, function: Callable[[Self], Tensor], n_values: int) -> FloatArray:
        """Apply a function to blocks of rows that bound its memory, and join the results."""
        size = max(1, _BLOCK // n_values)
        if len(self) <= size:
            return function(self).numpy()
        begins = range(0, len(self), size)
        return np.concatenate([function(self[begin : begin + size]) for begin in begins])
