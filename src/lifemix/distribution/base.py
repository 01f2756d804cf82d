"""What can be asked of the predicted distribution of every row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from .._types import FloatArray
from ..checks import check_event, check_shares, check_times
from ..errors import InputError
from .root import invert

__all__ = ["SurvivalDistribution"]

_CHUNK = 1 << 21  # numbers in the largest temporary array
_LAST_TIME = 1e300
_CURVES = ("survival", "cumulative_hazard", "hazard", "pdf")


class SurvivalDistribution(ABC):
    """The distribution of the time to the first event, one per row: what ``predict_distribution`` returns.

    Methods take a number or a vector and return ``(n_rows, n_values)`` arrays in the user's unit of time. After
    ``given(s)`` everything is conditional on survival to s, while times still count from the origin.

    Parameters
    ----------
    since : Tensor or None
        The times to which the rows are known to have survived, ``[rows]``; None for everyone from the origin.

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

    def __init__(self, since: Tensor | None) -> None:
        self._since = since  # [rows], or None for everyone from the origin

    # What a distribution must know of itself; times are [rows, times], everything counts from the origin.

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @property
    @abstractmethod
    def n_events(self) -> int:
        """The number of event types."""

    @abstractmethod
    def net(self, event: int) -> SurvivalDistribution:
        """Return the distribution of one event type by itself, as if the others did not exist.

        Parameters
        ----------
        event : int
            The event type, from 1 on.

        Returns
        -------
        SurvivalDistribution
            The net distribution.
        """

    @abstractmethod
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

    @abstractmethod
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

    @property
    @abstractmethod
    def _width(self) -> int:
        """How many components are evaluated for one row and one time."""

    @abstractmethod
    def _take(self, rows: Any) -> Self:
        """Return some of the rows."""

    @abstractmethod
    def _with_since(self, since: Tensor) -> Self:
        """Return the same distribution, conditional on survival to ``since``."""

    @abstractmethod
    def _log_survival(self, t: Tensor) -> Tensor: ...

    @abstractmethod
    def _log_cdf(self, t: Tensor) -> Tensor: ...

    @abstractmethod
    def _log_pdf(self, t: Tensor) -> Tensor: ...

    @abstractmethod
    def _log_hazard(self, t: Tensor) -> Tensor: ...

    @abstractmethod
    def _bracket(self, log_s: Tensor) -> tuple[Tensor, Tensor]:
        """Return two log times, ``[rows, values]``, between which ``log S`` passes the values ``log_s``."""

    @abstractmethod
    def _rmst(self, t: Tensor) -> Tensor:
        """``E min(T, t)`` given survival to ``since``, ``[rows, times]``."""

    @abstractmethod
    def _mean(self) -> Tensor:
        """The mean given survival to ``since``, ``[rows, 1]``."""

    def _cured(self) -> Tensor:
        """S at infinity, ``[rows, 1]``: by default where the largest numbers are."""
        return torch.exp(
            self._log_survival(torch.full((len(self), 1), _LAST_TIME, dtype=torch.float64))
        )

    # What a user asks.

    def __getitem__(self, rows: Any) -> Self:
        """Return the distributions of some rows (an index, a slice, a mask)."""
        if isinstance(rows, (int, np.integer)):
            rows = [int(rows)]
        index = np.arange(len(self))[rows]
        return self._take(torch.as_tensor(index.copy()))  # [::-1] has no tensor

    def _repr_html_(self) -> str:
        """Return what a notebook shows: quantiles of the first rows."""
        shares = (0.1, 0.25, 0.5, 0.75, 0.9)
        first = self[: min(5, len(self))]
        table = pd.DataFrame(first.quantile(shares), columns=[f"{share:.0%}" for share in shares])
        title = f"{type(self).__name__} of {len(self):,} rows; the times by which these shares have had the event:"
        return f"<p>{title}</p>{table.to_html()}"

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
        return self._by_time(t, lambda part, times: torch.exp(part._log_survival_since(times)))

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
        return self._by_time(t, lambda part, times: -part._log_survival_since(times))

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

        def density(part: Self, times: Tensor) -> Tensor:
            value = torch.exp(
                part._log_pdf(part._no_earlier(times)) - part._log_survival_at_since()
            )
            return part._zero_before(times, value)

        return self._by_time(t, density)

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

        def rate(part: Self, times: Tensor) -> Tensor:
            at = part._no_earlier(times)
            return part._zero_before(times, torch.exp(part._log_hazard(at)))

        return self._by_time(t, rate)

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
        shares = check_shares(q, "q")
        order = np.argsort(shares, kind="stable")
        levels = torch.log1p(-torch.as_tensor(shares[order]))

        def solve(part: Self) -> Tensor:
            t = part._invert(levels + part._log_survival_at_since())
            return part._no_earlier(t).cummax(1).values  # where S is flat, rounding decides

        result = np.empty((len(self), len(shares)))
        result[:, order] = self._by_chunk(solve, len(shares))
        return result

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

        def share(part: Self) -> Tensor:
            return torch.exp(torch.log(part._cured()) - part._log_survival_at_since()).clamp(
                max=1.0
            )

        return self._by_chunk(share, 1)[:, 0]

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
        return self._by_chunk(lambda part: part._mean(), 1)[:, 0]

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
        result = self._by_time(t, lambda part, times: part._rmst(times))
        return result[:, 0] if np.ndim(t) == 0 else result

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
        return self.cumulative_incidences(t)[check_event(event, self.n_events) - 1]

    def to_frame(self, t: ArrayLike, of: str = "survival", columns: Any = None) -> pd.DataFrame:
        """Return curves as lifelines lays them out: one row per time (the index), one column per subject.

        Parameters
        ----------
        t : float or array-like of shape (n_times,)
            Times, finite and not negative.
        of : {"survival", "cumulative_hazard", "hazard", "pdf"}, default "survival"
            Which function.
        columns : sequence, optional
            The subjects' names, such as ``X.index``; otherwise 0, 1, ...

        Returns
        -------
        DataFrame
            The values, ``(n_times, n_rows)``.

        Raises
        ------
        InputError
            If there is no such function, or there are not as many names as rows.
        """
        if of not in _CURVES:
            raise InputError(f"of must be one of {list(_CURVES)}; got {of!r}.")
        if columns is not None and len(columns) != len(self):
            raise InputError(f"columns must name every row ({len(self)}); got {len(columns)}.")
        values: FloatArray = getattr(self, of)(t)
        times = pd.Index(np.atleast_1d(np.asarray(t, dtype=np.float64)), name="time")
        names = pd.RangeIndex(len(self)) if columns is None else pd.Index(columns)
        return pd.DataFrame(values.T, index=times, columns=names)

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
        if len(starts) not in (1, len(self)) or (np.ndim(s) == 1 and len(starts) != len(self)):
            raise InputError(
                f"s must be a number or one per row ({len(self)}); got shape {starts.shape}."
            )
        since = torch.as_tensor(starts, dtype=torch.float64).expand(len(self))
        return self._with_since(since if self._since is None else torch.maximum(since, self._since))

    # Shared by the methods above.

    def _since_column(self) -> Tensor:
        return (
            torch.zeros(len(self), 1, dtype=torch.float64)
            if self._since is None
            else self._since[:, None]
        )

    def _log_survival_at_since(self) -> Tensor:
        if self._since is None:
            return torch.zeros(len(self), 1, dtype=torch.float64)
        return self._log_survival(self._since_column())

    def _no_earlier(self, t: Tensor) -> Tensor:
        return t if self._since is None else torch.maximum(t, self._since_column())

    def _zero_before(self, t: Tensor, value: Tensor) -> Tensor:
        return value if self._since is None else torch.where(t < self._since_column(), 0.0, value)

    def _log_survival_since(self, t: Tensor) -> Tensor:
        """Return ``log S(t)``, given survival to ``since``: exactly 0 up to there, and never above by rounding."""
        value = self._log_survival(self._no_earlier(t))
        if self._since is not None:
            value = value - self._log_survival_at_since()
        return torch.where(t <= self._since_column(), 0.0, value.clamp(max=0.0))

    def _invert(self, log_s: Tensor) -> Tensor:
        """Return the times at which ``log S`` is ``log_s``, ``[rows, values]``."""
        return invert(self._log_hazard_and_slope, log_s, *self._bracket(log_s))

    def _log_hazard_and_slope(self, rows: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log cumulative hazard of some rows ``[p]``, each at its own log time ``[p]``, and its slope."""
        part, t, x = self._take(rows), torch.exp(x)[:, None], x[:, None]
        survival, cdf = part._log_survival(t), part._log_cdf(t)
        # log H = log(-log S); where S is close to 1, H = -log1p(-F) keeps the digits
        cumulative_hazard = torch.where(cdf < -1.0, -torch.log1p(-torch.exp(cdf)), -survival)
        slope = torch.exp(part._log_pdf(t) - survival + x) / cumulative_hazard  # d log H / d log t
        return torch.log(cumulative_hazard)[:, 0], slope[:, 0]

    def _by_time(self, t: ArrayLike, function: Callable[[Self, Tensor], Tensor]) -> FloatArray:
        times = torch.as_tensor(check_times(t, "t"))[None]
        return self._by_chunk(
            lambda part: function(part, times.expand(len(part), -1)), times.shape[1]
        )

    @torch.no_grad()
    def _by_chunk(self, function: Callable[[Self], Tensor], n_values: int) -> FloatArray:
        """Apply a function to groups of rows, a bounded number of values at a time, and join what comes out."""
        size = max(1, _CHUNK // max(1, n_values * self._width))
        if len(self) <= size:
            return function(self).numpy()
        result = np.empty((len(self), n_values))
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            result[rows] = function(self._take(rows)).numpy()
        return result
