"""Life tables of the leaves of a forest: incidences of every event type at the ends of intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import FloatArray, IndexArray, IntArray
from ..target import Target

__all__ = ["Periods", "incidences_from_hazards"]


@dataclass(frozen=True, eq=False)
class Periods:
    """In which intervals each row is observed, and what is missing of the first and the last of them.

    ``first`` and ``last`` are the numbers of the intervals; last is the number of intervals for rows observed beyond
    them. An event's interval counts whole, one that is cut by entry or censoring with its share that was observed.
    """

    event: IntArray  # (n,) the event types; 0 where none happens in an interval
    first: IndexArray  # (n,)
    last: IndexArray  # (n,)
    early: FloatArray  # (n,) share of the first interval before entry
    late: FloatArray  # (n,) share of the last interval after censoring

    @classmethod
    def of(cls, target: Target, ends: FloatArray) -> Periods:
        """Return where the rows are, for intervals that end at these times."""
        starts, widths = np.append(0.0, ends), np.append(np.diff(ends, prepend=0.0), np.inf)
        first = np.searchsorted(ends, target.entry, side="right")
        last = np.searchsorted(ends, target.time, side="left")
        event = np.where(last < len(ends), target.event, 0)
        late = np.where(event > 0, 0.0, 1.0 - (target.time - starts[last]) / widths[last])
        early = np.where(
            (event > 0) & (first == last), 0.0, (target.entry - starts[first]) / widths[first]
        )
        return cls(event, first, last, early, late)

    def hazards(
        self, leaf: IndexArray, weight: FloatArray, rows: IndexArray, shape: tuple[int, int, int]
    ) -> FloatArray:
        """Return the hazards of each leaf, of a shape (leaves, events, intervals); 0 where nobody is at risk.

        leaf, weight: of the rows; rows: which of all rows.
        """
        leaves, n_events, n_intervals = shape
        width = n_intervals + 2
        place = leaf * width

        def sums(at: IndexArray, values: FloatArray) -> FloatArray:
            return np.asarray(
                np.bincount(place + at, values, leaves * width).reshape(leaves, width),
                dtype=np.float64,
            )

        first, last, event = self.first[rows], self.last[rows], self.event[rows]
        at_risk = np.cumsum(sums(first, weight) - sums(last + 1, weight), axis=1)
        at_risk -= sums(first, weight * self.early[rows]) + sums(last, weight * self.late[rows])
        hazards = np.empty(shape)
        for number in range(n_events):
            happened = sums(last, weight * (event == number + 1))
            share = np.divide(happened, at_risk, out=np.zeros_like(at_risk), where=happened > 0)
            hazards[:, number] = share[:, :n_intervals]
        return hazards


def incidences_from_hazards(hazards: FloatArray) -> FloatArray:
    """Return the cumulative incidences at the ends of the intervals, (..., events, intervals)."""
    free = np.cumprod(np.maximum(1.0 - hazards.sum(axis=-2), 0.0), axis=-1)
    before = np.concatenate([np.ones_like(free[..., :1]), free[..., :-1]], axis=-1)
    return np.cumsum(hazards * before[..., None, :], axis=-1)
