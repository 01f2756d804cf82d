"""The counts of a training target that a model file may hold; they contain no row of any subject.

``TargetSummary.of(target)`` counts events and censorings in intervals of time ("cells") of at least ten rows each. If
ten or more rows share a time, this time is a cell of its own. ``to_target`` returns as many rows, evenly spread over
their cells: Kaplan-Meier curves, the censoring distribution and other estimates from these rows are close to those
from the training rows, and the quartiles of the event times are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ._types import FloatArray, IndexArray, IntArray
from .registry import check_finite, register_model
from .target import Target

__all__ = ["Cells", "SummarisedTarget", "TargetSummary"]


MIN_ROWS = 10  # in a cell
_MAX_NUMBERS = 2**13  # of all cells, apart from the additional cells at both ends
_MIN_FRACTION = (
    64  # a cell has at most 1/64 of the rows before it, and of those after it, or ten rows
)
_MAX_ROWS = 2**32
_QUARTILES = (0.25, 0.5, 0.75)


@register_model
@dataclass(frozen=True, eq=False)
class Cells:
    """Number of values of each code in each cell ``(left, right]``; if both ends are equal, all values are there.

    ``last`` is the largest value of each code, NaN if there is none.
    """

    left: FloatArray  # [n_cells]
    right: FloatArray  # [n_cells]
    counts: IntArray  # [n_cells, n_codes]
    last: FloatArray  # [n_codes]

    def __post_init__(self) -> None:
        check_finite("counts", self.counts, (None, None))
        n_cells, n_codes = self.counts.shape
        check_finite("left", self.left, (n_cells,))
        check_finite("right", self.right, (n_cells,))
        check_finite("last", np.nan_to_num(self.last, nan=0.0), (n_codes,))
        if (
            self.counts.dtype != np.int64
            or (self.counts < 0).any()
            or self.counts.sum(dtype=float) > _MAX_ROWS
        ):
            raise ValueError("counts must be numbers of rows")
        if (
            (self.left < 0).any()
            or (self.left > self.right).any()
            or (self.right[:-1] > self.left[1:]).any()
        ):
            raise ValueError("cells must be consecutive intervals of time")
        if (
            not np.array_equal(np.isnan(self.last), self.counts.sum(axis=0) == 0)
            or (self.last < 0).any()
        ):
            raise ValueError("the last value of a code must be a time if the code occurs, else NaN")

    @classmethod
    def of(cls, values: FloatArray, codes: IntArray, n_codes: int) -> Cells:
        """Count values ``[n_rows]`` by cell and code."""
        distinct, index, size = np.unique(values, return_inverse=True, return_counts=True)
        max_cells = max(_MAX_NUMBERS // (n_codes + 2), 1)
        rows_per_cell = max(MIN_ROWS, -(-len(values) // max_cells))
        ends = _last_of_cells(size, rows_per_cell, min(_MIN_FRACTION, max_cells // 32))
        starts = np.append(0, ends[:-1] + 1)[: len(ends)]
        is_shared = (
            np.maximum.reduceat(size, starts) >= rows_per_cell
            if len(ends)
            else np.empty(0, dtype=bool)
        )
        most_frequent = np.array(
            [distinct[a + np.argmax(size[a : b + 1])] for a, b in zip(starts, ends, strict=True)]
        )
        # The edge between two cells lies half way between two values, so that it is not the time of a subject.
        next_value, previous_value = (
            np.append(distinct[1:], distinct[-1:]),
            np.append(distinct[:1], distinct[:-1]),
        )
        right = np.where(is_shared, most_frequent, (distinct / 2 + next_value / 2)[ends])
        left = np.where(is_shared, most_frequent, (distinct / 2 + previous_value / 2)[starts])
        cell = np.searchsorted(ends, index)
        counts = np.bincount(cell * n_codes + codes, minlength=len(ends) * n_codes).reshape(
            -1, n_codes
        )
        last = np.array([values[codes == code].max(initial=-np.inf) for code in range(n_codes)])
        return cls(left, right, counts, np.where(np.isinf(last), np.nan, last))

    def __len__(self) -> int:
        return int(self.counts.sum())

    def spread(self) -> tuple[FloatArray, IntArray]:
        """Return as many values, ascending, and their codes; the largest value of each code is its last."""
        values_by_code, codes = [], []
        for code in range(self.counts.shape[1]):
            count = self.counts[:, code]
            rank = np.arange(count.sum()) - np.repeat(count.cumsum() - count, count)
            fraction = (rank + 0.5) / np.repeat(count, count)
            left, right = np.repeat(self.left, count), np.repeat(self.right, count)
            values = left + (right - left) * fraction
            values[-1:] = self.last[code]
            values_by_code.append(np.minimum(values, self.last[code]))
            codes.append(np.full(len(values), code, dtype=np.int64))
        joined = np.concatenate(values_by_code)
        order = np.argsort(joined, kind="stable")
        return joined[order], np.concatenate(codes)[order]


def _last_of_cells(size: IntArray, rows_per_cell: int, min_fraction: int) -> IndexArray:
    """Return the index of the last distinct value of each cell, for the number of rows of each value.

    A cell ends as soon as it has enough rows; the last cell takes the remaining rows. Cells near both ends are smaller.
    """
    total, ends, n_before = size.cumsum(), [], 0
    while n_before < size.sum():
        n_after = int(total[-1]) - n_before
        n_rows = rows_per_cell
        if min_fraction:
            n_rows = max(
                MIN_ROWS, min(rows_per_cell, n_before // min_fraction, n_after // min_fraction)
            )
        end = min(int(np.searchsorted(total, n_before + n_rows)), len(size) - 1)
        if total[-1] - total[end] < n_rows:
            end = len(size) - 1
        ends.append(end)
        n_before = int(total[end])
    return np.array(ends, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class SummarisedTarget(Target):
    """Rows that stand for the counted ones; their quartiles are those of the counted rows."""

    quartiles: FloatArray = field(
        default_factory=lambda: np.empty((0, 3))
    )  # [1 + n_events, 3], the first of any event

    def event_quantiles(self, levels: Sequence[float], event: int | None) -> FloatArray:
        """Return quantiles of the event times; quartiles are those of the counted rows."""
        if tuple(levels) == _QUARTILES and (event or 0) < len(self.quartiles):
            return self.quartiles[event or 0].copy()
        return super().event_quantiles(levels, event)


@register_model
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
        Entry times after the origin.
    quartiles : float array of shape (1 + n_events, 3)
        Quartiles of the event times, of all event types and of each.
    last_event_time : float
        The last time of an event; the upper end of an interval.
    event_times : float array or None
        The distinct event times, for models whose curves have a step at each of them.

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
    quartiles: FloatArray
    last_event_time: float
    event_times: FloatArray | None = None

    def __post_init__(self) -> None:
        n_codes = [
            cells.counts.shape[1] for cells in (self.times, self.lower, self.upper, self.entry)
        ]
        if n_codes != [self.n_events + 1, self.n_events + 1, 1, 1] or len(self.upper) != len(
            self.lower
        ):
            raise ValueError("the cells must have the same event types")
        if (
            self.n_events < 1
            or not (self.times.counts.sum(axis=0) + self.lower.counts.sum(axis=0))[1:].all()
        ):
            raise ValueError("every event type 1..M must occur")
        if len(self.entry) > len(self.times) + len(self.lower):
            raise ValueError("there are more entry times than rows")
        check_finite("quartiles", self.quartiles, (self.n_events + 1, 3))
        if not 0 <= self.last_event_time < np.inf:
            raise ValueError(f"the last event time must be a time; got {self.last_event_time}")
        if self.event_times is not None:
            check_finite("event_times", self.event_times, (None,))
            times = self.event_times
            if not len(times) or times[0] < 0 or (np.diff(times) <= 0).any():
                raise ValueError("event times must ascend")

    @classmethod
    def of(cls, target: Target, with_event_times: bool = False) -> TargetSummary:
        """Count the rows of a target.

        Parameters
        ----------
        target : Target
            The training rows.
        with_event_times : bool, default False
            Whether to keep the distinct event times.

        Returns
        -------
        TargetSummary

        """
        n_codes, interval = target.n_events + 1, target.interval
        entries = target.entry[target.truncated]
        return cls(
            Cells.of(target.time[~interval], target.event[~interval], n_codes),
            Cells.of(target.time[interval], target.event[interval], n_codes),
            Cells.of(target.upper[interval], np.zeros(int(interval.sum()), dtype=np.int64), 1),
            Cells.of(entries, np.zeros(len(entries), dtype=np.int64), 1),
            np.array(
                [target.event_quantiles(_QUARTILES, event) for event in (None, *range(1, n_codes))]
            ),
            float(target.event_times.max()),
            target.event_times if with_event_times else None,
        )

    @property
    def n_events(self) -> int:
        """The number of event types."""
        return self.times.counts.shape[1] - 1

    @property
    def grid(self) -> FloatArray:
        """The event times; if they are not kept, the ends of the cells with events and the last event time."""
        if self.event_times is not None:
            return self.event_times
        has_event = (self.times.counts[:, 1:] > 0).any(axis=1)
        ends = np.concatenate(
            [self.times.right[has_event], self.upper.right, [self.last_event_time]]
        )
        return np.unique(np.minimum(ends, self.last_event_time))

    def matches(self, target: Target) -> bool:
        """Return whether a target has the same counts in the same cells.

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
        other = Cells.of(
            target.time[~interval],
            np.minimum(target.event[~interval], self.n_events),
            self.n_events + 1,
        )
        names = ("left", "right", "counts", "last")
        return all(
            np.array_equal(getattr(self.times, n), getattr(other, n), equal_nan=n == "last")
            for n in names
        )

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
        if len(late):  # estimates depend on how many have entered by each time, not on which
            entry[-len(late) :] = np.minimum(late, np.nextafter(times[-len(late) :], 0.0))
        return SummarisedTarget(
            np.concatenate([event, code])[order],
            times,
            entry,
            np.concatenate([np.full(len(time), np.nan), upper])[order],
            quartiles=self.quartiles,
        )
