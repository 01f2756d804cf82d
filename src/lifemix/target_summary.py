"""What a model file keeps of the training target: counts on a grid of times, and no row of any subject.

``TargetSummary.of(target)`` counts events and censorings in cells of time with at least ten rows each; times that ten
rows share are cells of their own. ``to_target`` puts the counted rows back, evenly spread over their cells: curves of
Kaplan-Meier, the censoring distribution and all that is estimated from the target come out nearly as from the rows
themselves, and the quartiles of the event times exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .target import Target

__all__ = ["Cells", "SummarisedTarget", "TargetSummary"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST = 10  # rows in a cell
_NUMBERS = 2**15  # in all cells together
_QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Cells:
    """How many values of each code lie in each cell ``(left, right]``; where both are equal, all lie there.

    ``last`` is the largest value of each code, NaN where there is none.
    """

    left: Floats  # [cells]
    right: Floats  # [cells]
    counts: Ints  # [cells, codes]
    last: Floats  # [codes]

    def __post_init__(self) -> None:
        if (self.left > self.right).any() or (self.right[:-1] > self.left[1:]).any():
            raise ValueError("cells of time must follow each other")
        if not np.array_equal(np.isnan(self.last), self.counts.sum(axis=0) == 0):
            raise ValueError("the last value must be known where there is one")

    @classmethod
    def of(cls, values: Floats, codes: Ints, n_codes: int) -> Cells:
        """Count values ``[rows]`` by cell and code."""
        distinct, place, size = np.unique(values, return_inverse=True, return_counts=True)
        least = max(LEAST, -(-len(values) * (n_codes + 2) // _NUMBERS))
        ends = np.array(list(_ends(size, least)), dtype=np.intp)
        starts = np.append(0, ends[:-1] + 1)[: len(ends)]
        shared = np.maximum.reduceat(size, starts) >= least if len(ends) else np.empty(0, dtype=bool)
        most = np.array([distinct[a + np.argmax(size[a : b + 1])] for a, b in zip(starts, ends, strict=True)])
        # Between two cells the edge lies half way, so that it is nobody's time.
        after, before = np.append(distinct[1:], distinct[-1:]), np.append(distinct[:1], distinct[:-1])
        right = np.where(shared, most, (distinct / 2 + after / 2)[ends])
        left = np.where(shared, most, (distinct / 2 + before / 2)[starts])
        cell = np.searchsorted(ends, place)
        counts = np.bincount(cell * n_codes + codes, minlength=len(ends) * n_codes).reshape(-1, n_codes)
        last = np.array([values[codes == code].max(initial=-np.inf) for code in range(n_codes)])
        return cls(left, right, counts, np.where(np.isinf(last), np.nan, last))

    def __len__(self) -> int:
        return int(self.counts.sum())

    def spread(self) -> tuple[Floats, Ints]:
        """Return as many values, ascending, and their codes; the largest of each code is its last."""
        parts, codes = [], []
        for code in range(self.counts.shape[1]):
            count = self.counts[:, code]
            number = np.arange(count.sum()) - np.repeat(count.cumsum() - count, count)
            share = (number + 0.5) / np.repeat(count, count)
            left, right = np.repeat(self.left, count), np.repeat(self.right, count)
            values = left + (right - left) * share
            values[-1:] = self.last[code]
            parts.append(np.minimum(values, self.last[code]))
            codes.append(np.full(len(values), code, dtype=np.int64))
        joined = np.concatenate(parts)
        order = np.argsort(joined, kind="stable")
        return joined[order], np.concatenate(codes)[order]


def _ends(size: Ints, least: int) -> Iterator[int]:
    """Yield the place of the last distinct value of each cell, given how many rows have each value.

    Fewer than ``least`` rows before a value that so many share go with it, and such a rest at the end with the cell
    before.
    """
    total = size.cumsum()
    shared = np.append(np.flatnonzero(size >= least), len(size))
    start, done, following = 0, 0, 0
    while start < len(size):
        while shared[following] < start:
            following += 1
        end = int(np.searchsorted(total, done + least))
        if shared[following] <= end:
            few = shared[following] > start and total[shared[following] - 1] - done < least
            end = int(shared[following]) if few or shared[following] == start else int(shared[following]) - 1
        end = min(end, len(size) - 1)
        if total[-1] - total[end] < least:
            end = len(size) - 1
        yield end
        start, done = end + 1, int(total[end])


@dataclass(frozen=True, eq=False)
class SummarisedTarget(Target):
    """Rows that have been put back from counts; their quartiles are those of the rows that were counted."""

    quartiles: Floats = field(default_factory=lambda: np.empty((0, 3)))  # [1 + events, 3], the first of any event

    def event_quantiles(self, levels: Sequence[float], event: int | None) -> Floats:
        """Return quantiles of the event times; quartiles as they were among the rows themselves."""
        if tuple(levels) == _QUARTILES and (event or 0) < len(self.quartiles):
            return self.quartiles[event or 0].copy()
        return super().event_quantiles(levels, event)


@dataclass(frozen=True, eq=False)
class TargetSummary:
    """Counts of a training target in cells of time.

    Attributes
    ----------
    times : Cells
        Exact event times and censorings by code, 0 for censored.
    lower, upper : Cells
        The ends of intervals, the lower ones by code.
    entry : Cells
        Times at which observation began, where that was not the origin.
    quartiles : float array of shape (1 + n_events, 3)
        Quartiles of the event times, of all event types and of each.
    last_event_time : float
        The last time of an event; the upper end of an interval.
    event_times : float array or None
        All distinct event times, for models whose curves jump at each of them.

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import make_target
    >>> from lifemix.target import as_target
    >>> from lifemix.target_summary import TargetSummary
    >>> y = make_target(np.arange(1.0, 101.0), np.tile([1, 0], 50))
    >>> summary = TargetSummary.of(as_target(y))
    >>> summary.times.counts[:2].tolist()  # censored, events
    [[5, 5], [5, 5]]
    >>> len(summary.to_target())
    100

    """

    times: Cells
    lower: Cells
    upper: Cells
    entry: Cells
    quartiles: Floats
    last_event_time: float
    event_times: Floats | None = None

    def __post_init__(self) -> None:
        codes = self.times.counts.shape[1]
        seen = self.times.counts.sum(axis=0) + self.lower.counts.sum(axis=0) if self._alike(codes) else np.zeros(codes)
        if codes < 2 or not seen[1:].all() or self.quartiles.shape != (codes, 3):
            raise ValueError("every event type 1..M must happen in some row")
        if self.event_times is not None and (
            not len(self.event_times) or (np.diff(self.event_times) <= 0).any() or self.event_times[0] < 0
        ):
            raise ValueError("event times must ascend")

    def _alike(self, codes: int) -> bool:
        return self.lower.counts.shape[1] == codes and len(self.upper) == len(self.lower)

    @classmethod
    def of(cls, target: Target, with_event_times: bool = False) -> TargetSummary:
        """Count the rows of a target.

        Parameters
        ----------
        target : Target
            The training rows.
        with_event_times : bool, default False
            Whether to keep all distinct event times.

        Returns
        -------
        TargetSummary

        """
        codes, interval = target.n_events + 1, target.interval
        entries = target.entry[target.truncated]
        levels = [None, *range(1, codes)]
        return cls(
            Cells.of(target.time[~interval], target.event[~interval], codes),
            Cells.of(target.time[interval], target.event[interval], codes),
            Cells.of(target.upper[interval], np.zeros(int(interval.sum()), dtype=np.int64), 1),
            Cells.of(entries, np.zeros(len(entries), dtype=np.int64), 1),
            np.array([target.event_quantiles(_QUARTILES, level) for level in levels]),
            float(target.event_times.max()),
            target.event_times if with_event_times else None,
        )

    @property
    def n_events(self) -> int:
        """The number of event types."""
        return self.times.counts.shape[1] - 1

    @property
    def grid(self) -> Floats:
        """Event times as far as the counts tell: the ends of the cells with events, the last event time included."""
        happened = (self.times.counts[:, 1:] > 0).any(axis=1)
        ends = np.concatenate([self.times.right[happened], self.upper.right, [self.last_event_time]])
        return np.unique(np.minimum(ends, self.last_event_time))

    def matches(self, target: Target) -> bool:
        """Tell whether a target has the same counts in the same cells, as these very rows have.

        Parameters
        ----------
        target : Target
            Any rows.

        Returns
        -------
        bool

        """
        target = target.joined()
        interval = target.interval
        other = Cells.of(target.time[~interval], np.minimum(target.event[~interval], self.n_events), self.n_events + 1)
        names = ("left", "right", "counts", "last")
        return all(np.array_equal(getattr(self.times, n), getattr(other, n), equal_nan=n == "last") for n in names)

    def to_target(self) -> SummarisedTarget:
        """Return as many rows as were counted, evenly spread over their cells.

        Returns
        -------
        SummarisedTarget
            Without subjects.

        """
        time, event = self.times.spread()
        lower, code = self.lower.spread()
        upper = np.maximum(self.upper.spread()[0], np.nextafter(lower, np.inf))
        times = np.concatenate([time, lower])
        order = np.argsort(times, kind="stable")
        times = times[order]
        entry = np.zeros(len(times))
        late = self.entry.spread()[0]
        if len(late):  # the curves depend on how many have come by each time, not on who
            entry[-len(late) :] = np.minimum(late, np.nextafter(times[-len(late) :], 0.0))
        return SummarisedTarget(
            np.concatenate([event, code])[order],
            times,
            entry,
            np.concatenate([np.full(len(time), np.nan), upper])[order],
            quartiles=self.quartiles,
        )
