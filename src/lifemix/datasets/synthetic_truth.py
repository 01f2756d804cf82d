"""The distribution that each row of the simulated data was drawn from, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._types import FloatArray
from ..errors import SettingError

__all__ = ["LIMIT", "SyntheticTruth"]


LIMIT = 200.0  # draws in which either event would come later are rejected


@dataclass(frozen=True, eq=False)
class SyntheticTruth:
    """The true survival and incidence of every row given its covariates.

    Given x the two times are independent exponentials with means m_1, m_2, both truncated to [0, 200), since draws
    beyond were rejected. With a_j = 1 / m_j, L = 200 and A_j = 1 - exp(-a_j L)::

        S_j(t) = (exp(-a_j t) - exp(-a_j L)) / A_j                       net survival
        S(t)   = S_1(t) S_2(t)
        F_1(t) = {a_1 / (a_1 + a_2) (1 - exp(-(a_1 + a_2) t)) - exp(-a_2 L) (1 - exp(-a_1 t))} / (A_1 A_2)

    and F_2 likewise; F_1 + F_2 + S = 1. This is the distribution in continuous time. Times rounded to integers follow
    another one: the rounded time is <= t when the time itself is <= floor(t) + 1/2. ``rounded`` is that distribution,
    the one to use for the best reachable scores on rounded times; at t = 0 its survival is already below 1.

    Censoring in these data is uniform on [0, time] and so depends on the time: a model fitted to the censored rows does
    not estimate these functions without bias, however many rows there are, and weights by the inverse probability of
    censoring are biased too. Scores computed from ``y`` have no such bias.

    Methods take a number or an array of times and return shape (n, n_times).

    Attributes
    ----------
    means : float array of shape (n, 2)
        The means of the two exponentials.
    y : structured array of shape (n,)
        The target before censoring.
    is_rounded : bool, default False
        Whether the times are rounded to integers.
    """

    means: FloatArray  # (n, 2)
    y: NDArray[np.void]
    is_rounded: bool = False

    @property
    def rounded(self) -> SyntheticTruth:
        """The distribution of the times rounded to integers."""
        return replace(self, is_rounded=True)

    def survival(self, times: ArrayLike) -> FloatArray:
        """Return P(no event by t | x)."""
        return self.net_survival(times, 1) * self.net_survival(times, 2)

    def net_survival(self, times: ArrayLike, event: int) -> FloatArray:
        """Return P(T_event > t | x), as if the other event did not exist."""
        rate, _ = self._rates(event)
        t = self._clip(times)
        survival: FloatArray = (
            np.exp(-rate * t) * np.expm1(rate * (t - LIMIT)) / np.expm1(-rate * LIMIT)
        )
        return survival

    def cumulative_incidence(self, times: ArrayLike, event: int) -> FloatArray:
        """Return P(T <= t, the event is this one | x)."""
        rate, other = self._rates(event)
        t = self._clip(times)
        total = rate + other
        both = -rate / total * np.expm1(-total * t) + np.exp(-other * LIMIT) * np.expm1(-rate * t)
        incidence: FloatArray = both / (np.expm1(-rate * LIMIT) * np.expm1(-other * LIMIT))
        return incidence

    def _rates(self, event: int) -> tuple[FloatArray, FloatArray]:
        if event not in (1, 2):
            raise SettingError(f"event must be 1 or 2; got {event!r}.")
        rates = 1.0 / self.means
        return rates[:, [event - 1]], rates[:, [2 - event]]

    def _clip(self, times: ArrayLike) -> FloatArray:
        """Return times as a row vector, clipped to where survival is between 0 and 1."""
        t = np.atleast_1d(np.asarray(times, dtype=np.float64))[None, :]
        if self.is_rounded:
            t = np.floor(t) + 0.5
        return np.clip(t, 0.0, LIMIT)
