"""Who is at risk when, as sums that take time linear in the rows.

Each class answers two questions for the K distinct event times: the sum of a quantity over the rows at risk at each
time, and, for each row, the sum of a quantity of the times over those at which the row is at risk.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from .._types import BoolArray, FloatArray, IndexArray

__all__ = ["ObservedRisk", "RiskSets", "SubdistributionRisk", "prefix_sums", "suffix_sums"]


class RiskSets(Protocol):
    """What the partial likelihood asks for."""

    def over_rows(self, values: FloatArray) -> FloatArray:
        """Return for each event time the sum of ``values`` (n, ...) over the rows at risk, of shape (K, ...)."""

    def over_times(self, values: FloatArray) -> FloatArray:
        """Return for each row the sum of ``values`` (K, ...) over the event times at which it is at risk, (n, ...)."""


class ObservedRisk:
    """Rows at risk over ``(entry, time]``, as in Cox regression."""

    def __init__(self, event_times: FloatArray, time: FloatArray, entry: FloatArray) -> None:
        self.last = np.searchsorted(
            event_times, time, side="right"
        )  # at risk at event times first, ..., last - 1
        self.first = np.searchsorted(event_times, entry, side="right")
        self.leaving = _Later(self.last, len(event_times))
        self.entering = _Later(self.first, len(event_times)) if self.first.any() else None

    def over_rows(self, values: FloatArray) -> FloatArray:
        """Sum over the rows that leave later, less those that enter later."""
        total = self.leaving.sums(values)
        return total if self.entering is None else total - self.entering.sums(values)

    def over_times(self, values: FloatArray) -> FloatArray:
        """Sum over the event times between entry and exit."""
        running = prefix_sums(values)
        return np.asarray(running[self.last] - running[self.first])


class SubdistributionRisk:
    """Rows at risk as in Fine and Gray: after an event of another type at T, still with weight G(t-) / G(T-).

    G is the Kaplan-Meier curve of the censoring: ``censoring`` holds G(u-) at the K event times, ``at_exit`` holds
    G(T-) of the rows, ``other`` marks the rows with an event of another type.
    """

    def __init__(
        self,
        event_times: FloatArray,
        time: FloatArray,
        other: BoolArray,
        censoring: FloatArray,
        at_exit: FloatArray,
    ) -> None:
        self.last = np.searchsorted(event_times, time, side="right")
        self.leaving = _Later(self.last, len(event_times))
        self.censoring = censoring
        rows = np.flatnonzero(other)
        self.other = rows[np.argsort(time[rows], kind="stable")]
        self.gone = np.searchsorted(
            time[self.other], event_times, side="left"
        )  # other events before each event time
        self.at_exit = at_exit

    def over_rows(self, values: FloatArray) -> FloatArray:
        """Sum over the rows still observed, plus the weighted rows with an event of another type before."""
        kept = prefix_sums((values[self.other].T / self.at_exit[self.other]).T)[self.gone]
        return self.leaving.sums(values) + (kept.T * self.censoring).T

    def over_times(self, values: FloatArray) -> FloatArray:
        """Sum over the event times up to exit, plus the weighted later ones after an event of another type."""
        sums = prefix_sums(values)[self.last]
        later = suffix_sums((values.T * self.censoring).T)[self.last[self.other]]
        sums[self.other] += (later.T / self.at_exit[self.other]).T
        return sums


class _Later:
    """Sums over the rows whose index is above k, for k = 0, ..., K - 1."""

    def __init__(self, index: IndexArray, n_times: int) -> None:
        self.order = np.argsort(-index, kind="stable")
        self.count = np.searchsorted(-index[self.order], -np.arange(n_times), side="left")

    def sums(self, values: FloatArray) -> FloatArray:
        return np.asarray(prefix_sums(values[self.order])[self.count])


def prefix_sums(values: FloatArray) -> FloatArray:
    """Return the sums of the first 0, 1, ..., n values along the first axis."""
    sums = np.zeros((len(values) + 1, *values.shape[1:]))
    np.cumsum(values, axis=0, out=sums[1:])
    return sums


def suffix_sums(values: FloatArray) -> FloatArray:
    """Return the sums of all values but the first 0, 1, ..., n along the first axis."""
    return prefix_sums(values[::-1])[::-1]
