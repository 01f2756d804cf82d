"""What a model file keeps of the training target: counts on a grid of times, and no row of any subject.

``TargetSummary.of(target)`` counts events and censorings in cells of time with at least ten rows each; times that ten
rows share are cells of their own. Where there are more rows, cells are larger, those of the first and the last rows
least so. ``to_target`` puts the counted rows back, evenly spread over their cells: curves of Kaplan-Meier, the
censoring distribution and all that is estimated from the target come out nearly as from the rows themselves, and the
quartiles of the event times exactly. A curve with a step at every event time is kept at some of them where they are
many; ``between`` puts the other steps back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from .target import Target

__all__ = ["MANY_TIMES", "Cells", "SummarisedTarget", "TargetSummary"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST = 10  # rows in a cell
MANY_TIMES = 4096
"""More event times than these are not kept, also where curves have a step at each of them."""
_NUMBERS = 2**13  # in all cells together, apart from what the finer cells at both ends take
_FINER = 64  # of so many parts of the rows before it, and of those after it, a cell has one, or ten rows
_JUMP = 1 / 800  # of a cumulative hazard, relative to it: larger ones stay where they are
_TOGETHER = 512  # event times of which one is kept
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
        cells = max(_NUMBERS // (n_codes + 2), 1)
        least = max(LEAST, -(-len(values) // cells))
        ends = np.array(list(_ends(size, least, min(_FINER, cells // 32))), dtype=np.intp)
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


def _ends(size: Ints, least: int, finer: int) -> Iterator[int]:
    """Yield the place of the last distinct value of each cell, given how many rows have each value.

    Fewer than ``least`` rows before a value that so many share go with it, and such a rest at the end with the cell
    before. Near both ends fewer make up a cell: one of ``finer`` parts of the rows before, or after.
    """
    total = size.cumsum()
    most = least
    shared = np.append(np.flatnonzero(size >= least), len(size))
    start, done, following = 0, 0, 0
    while start < len(size):
        least = max(LEAST, min(most, done // finer, (int(total[-1]) - done) // finer)) if finer else most
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


def chosen_times(target: Target, times: Floats, most: int) -> Ints:
    """Return the places of at most ``most`` event times, the first and the last included, for curves of all of them.

    A time is kept where the cumulative hazard jumps by a large part of itself: among the first events, and among the
    last, when few are left. The others are chosen evenly in the logarithm of the cumulative hazard, in the share of
    events so far, and in time.
    """
    late, come = np.searchsorted(np.sort(target.time), times), np.searchsorted(np.sort(target.entry), times)
    happened = np.sort(np.fmax(target.time, target.upper)[target.event > 0])
    events = np.diff(np.searchsorted(happened, times, side="right"), prepend=0)
    hazard = np.cumsum(np.maximum(events, 1) / np.maximum(come - late, 1))
    jump = np.diff(np.log(hazard), prepend=-np.inf)
    large = jump >= max(_JUMP, float(np.partition(jump, -most // 2)[-most // 2]))
    shares = (jump, np.diff(-np.expm1(-hazard), prepend=0.0), np.diff(times, prepend=0.0))
    weight = sum(np.where(large, 0.0, one) / max(float(one[~large].sum()), 1e-300) for one in shares)
    weight = np.where(large, 1.0, weight * (most - 1 - large.sum()) / 3)
    part = np.floor(np.cumsum(weight))
    return np.flatnonzero(np.append(part[1:] > part[:-1], True) | (np.arange(len(times)) == 0))


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
        The distinct event times, for models whose curves jump at each of them; where there are too many some of them.
    merged : int array or None
        For how many event times each of these stands, itself and those before it; None where all are kept.

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
    merged: Ints | None = None

    def __post_init__(self) -> None:
        codes = self.times.counts.shape[1]
        seen = self.times.counts.sum(axis=0) + self.lower.counts.sum(axis=0) if self._alike(codes) else np.zeros(codes)
        if codes < 2 or not seen[1:].all() or self.quartiles.shape != (codes, 3):
            raise ValueError("every event type 1..M must happen in some row")
        if self.event_times is not None and (
            not len(self.event_times) or (np.diff(self.event_times) <= 0).any() or self.event_times[0] < 0
        ):
            raise ValueError("event times must ascend")
        if self.merged is not None and (
            self.event_times is None
            or self.merged.shape != self.event_times.shape
            or not ((self.merged >= 1) & (self.merged <= _TOGETHER)).all()
            or self.merged[0] > 1
        ):
            raise ValueError("every event time must stand for 1 to 512, the first for itself")

    def _alike(self, codes: int) -> bool:
        return self.lower.counts.shape[1] == codes and len(self.upper) == len(self.lower)

    @classmethod
    def of(cls, target: Target, most_event_times: float = 0) -> TargetSummary:
        """Count the rows of a target.

        Parameters
        ----------
        target : Target
            The training rows.
        most_event_times : float, default 0
            The distinct event times are kept where there are no more than these.

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
            target.event_times if most_event_times else None,
        ).bounded(most_event_times, target)

    def bounded(self, most_event_times: float, target: Target | None = None) -> TargetSummary:
        """Return the same with at most so many event times; see ``chosen_times`` for which.

        Parameters
        ----------
        most_event_times : float
            How many may be kept; 0 for none.
        target : Target, optional
            The rows that were counted, by which the times are chosen; without, rows that stand for them.

        Returns
        -------
        TargetSummary

        """
        times = self.event_times
        if times is None or len(times) <= most_event_times:
            return self
        if not most_event_times:
            return replace(self, event_times=None, merged=None)
        kept = chosen_times(target or self.to_target(), times, int(most_event_times))
        return replace(self, event_times=times[kept], merged=np.minimum(np.diff(kept, prepend=-1), _TOGETHER))

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

    @property
    def steps(self) -> Floats:
        """The event times, those that are not kept put back between the others, evenly spread; or the grid."""
        if self.event_times is None or self.merged is None:
            return self.grid if self.event_times is None else self.event_times
        return self.between(self.event_times, 0.0)

    def between(self, values: Floats, start: float) -> Floats:
        """Return a curve at all event times from its values at those that are kept; it is linear between them.

        Parameters
        ----------
        values : float array of shape (n_kept,)
            Infinite ones are allowed.
        start : float
            The value before the first event.

        Returns
        -------
        float array of shape (n_event_times,)

        """
        if self.merged is None:
            return values
        kept = np.repeat(np.arange(len(values)), self.merged)
        number = np.arange(len(kept)) - np.repeat(self.merged.cumsum() - self.merged, self.merged) + 1
        after, before, share = values[kept], np.append(start, values[:-1])[kept], number / self.merged[kept]
        with np.errstate(invalid="ignore"):
            return np.where((share == 1.0) | (after == before), after, before + (after - before) * share)

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
