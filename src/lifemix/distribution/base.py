"""What can be asked of the predicted distribution of every row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ..checks import check_shares, check_times
from ..errors import InputError
from .quadrature import integrate
from .root import invert

__all__ = ["SurvivalDistribution"]

Floats = NDArray[np.float64]
_CHUNK = 1 << 21  # numbers in the largest temporary array
# Cumulative hazards since the time of conditioning at which the panels of an integral end
_LEVELS = [1e-3, 0.01, 0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 150.0, 300.0, 600.0]
_MIDDLE = 5
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
    def _bracket(self, log_s: Tensor) -> tuple[Tensor, Tensor]:
        """Return two log times, ``[rows, values]``, between which ``log S`` passes the values ``log_s``."""

    @abstractmethod
    def _rmst(self, t: Tensor) -> Tensor:
        """The integral of S from 0 to t."""

    @abstractmethod
    def _tail_index(self) -> Tensor:
        """The power with which S falls in the end, ``[rows, 1]``; infinite where it falls faster."""

    @abstractmethod
    def _mean_beyond(self, t: Tensor) -> Tensor:
        """The integral of S from t, ``[rows, 1]``, to infinity."""

    # What a user asks.

    def __getitem__(self, rows: Any) -> Self:
        """Return the distributions of some rows (an index, a slice, a mask)."""
        if isinstance(rows, (int, np.integer)):
            rows = [int(rows)]
        index = np.arange(len(self))[rows]
        return self._take(torch.as_tensor(index))

    def survival(self, t: ArrayLike) -> Floats:
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

    def cumulative_hazard(self, t: ArrayLike) -> Floats:
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

    def pdf(self, t: ArrayLike) -> Floats:
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
            value = torch.exp(part._log_pdf(part._no_earlier(times)) - part._log_survival_at_since())
            return part._zero_before(times, value)

        return self._by_time(t, density)

    def hazard(self, t: ArrayLike) -> Floats:
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
            return part._zero_before(times, torch.exp(part._log_pdf(at) - part._log_survival(at)))

        return self._by_time(t, rate)

    def quantile(self, q: ArrayLike) -> Floats:
        """Return quantiles: the times by which a share q has had the event.

        Parameters
        ----------
        q : float or array-like of shape (n_levels,)
            Levels from 0 to 1.

        Returns
        -------
        ndarray of shape (n_rows, n_levels)
            Times; infinite for ``q = 1``.
        """
        shares = check_shares(q, "q")
        levels = torch.log1p(-torch.as_tensor(shares))

        def solve(part: Self) -> Tensor:
            log_s = levels + part._log_survival_at_since()
            t = part._invert(log_s.expand(len(part), -1))
            return part._no_earlier(t)

        return self._by_chunk(solve, len(shares))

    def median(self) -> Floats:
        """Return the median of each row.

        Returns
        -------
        ndarray of shape (n_rows,)
            Times.
        """
        return self.quantile(0.5)[:, 0]

    def mean(self) -> Floats:
        """Return the mean of each row.

        Returns
        -------
        ndarray of shape (n_rows,)
            Times; infinite where the mean of a component is.
        """

        def expect(part: Self) -> Tensor:
            if part._since is None:
                return part._mean_beyond(part._since_column())
            return part._since_column() + part._mean_since()

        return self._by_chunk(expect, 1)[:, 0]

    def rmst(self, t: ArrayLike) -> Floats:
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

        def restricted(part: Self, times: Tensor) -> Tensor:
            if part._since is None:
                return part._rmst(times)
            return torch.minimum(times, part._since_column()) + part._survival_since(part._no_earlier(times))

        result = self._by_time(t, restricted)
        return result[:, 0] if np.ndim(t) == 0 else result

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
        values: Floats = getattr(self, of)(t)
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
            raise InputError(f"s must be a number or one per row ({len(self)}); got shape {starts.shape}.")
        since = torch.as_tensor(starts, dtype=torch.float64).expand(len(self))
        return self._with_since(since if self._since is None else torch.maximum(since, self._since))

    # Shared by the methods above.

    def _since_column(self) -> Tensor:
        return torch.zeros(len(self), 1, dtype=torch.float64) if self._since is None else self._since[:, None]

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

    def _survival_since(self, t: Tensor) -> Tensor:
        """Integrate the conditional survival from ``since`` to the times, ``[rows, times]``.

        Relative to S(since), which may be too small for a number; the panels end at quantiles of those who are left.
        """
        since, base = self._since_column(), self._log_survival_at_since()
        landmarks = torch.minimum(self._conditional_quantiles(), t.amax(1, keepdim=True))
        edges = torch.log(torch.cat([since, landmarks, t], dim=1).clamp(min=1e-300)).sort(dim=1).values
        place = torch.searchsorted(edges, torch.log(t.clamp(min=1e-300)))

        def integrand(rows: Tensor, x: Tensor) -> Tensor:
            part = self._take(rows)
            return torch.exp(part._log_survival(torch.exp(x)) - base[rows] + x)[..., None]

        tolerance = 1e-10 * (self._conditional_quantiles()[:, _MIDDLE] - since[:, 0]).clamp(min=1e-300)
        parts = integrate(integrand, edges[:, :-1], edges[:, 1:], tolerance)[..., 0]
        return torch.cat([torch.zeros_like(since), parts.cumsum(1)], dim=1).gather(1, place)

    def _conditional_quantiles(self) -> Tensor:
        """Return the times at which given shares of those alive at ``since`` are left, ``[rows, levels]``."""
        log_s = self._log_survival_at_since() - torch.as_tensor(_LEVELS)
        return torch.maximum(self._invert(log_s), self._since_column())

    def _mean_since(self) -> Tensor:
        """Return the mean time beyond ``since``, ``[rows, 1]``: to where next to nobody is left, and the tail."""
        last = self._conditional_quantiles()[:, -1:].clamp(max=1e300)
        left = torch.exp(self._log_survival(last) - self._log_survival_at_since())
        index = self._tail_index()
        tail = last * left / (index - 1)
        return torch.where(index > 1, self._survival_since(last) + tail, torch.inf)

    def _invert(self, log_s: Tensor) -> Tensor:
        """Return the times at which ``log S`` is ``log_s``, ``[rows, values]``."""
        low, high = self._bracket(log_s)
        return invert(self._log_survival, self._log_cdf, self._log_pdf, log_s, low, high)

    def _by_time(self, t: ArrayLike, function: Callable[[Self, Tensor], Tensor]) -> Floats:
        times = torch.as_tensor(check_times(t, "t"))[None]
        return self._by_chunk(lambda part: function(part, times.expand(len(part), -1)), times.shape[1])

    @torch.no_grad()
    def _by_chunk(self, function: Callable[[Self], Tensor], n_values: int) -> Floats:
        """Apply a function to groups of rows, a bounded number of values at a time, and join what comes out."""
        size = max(1, _CHUNK // max(1, n_values * self._width))
        if len(self) <= size:
            return function(self).numpy()
        result = np.empty((len(self), n_values))
        for start in range(0, len(self), size):
            rows = slice(start, start + size)
            result[rows] = function(self._take(rows)).numpy()
        return result
