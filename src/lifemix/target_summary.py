"""The counts of a training target that a model file holds instead of the training rows.

``TargetSummary.of(target)`` counts events and censorings in cells of time with at least ten rows
each; a time that ten or more rows share is a cell of its own. ``to_target`` returns as many rows,
spread evenly over the cells. Estimates from these rows (Kaplan-Meier curves, the censoring
distribution) are close to those from the training rows; quartiles of the event times are exact.
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
_MAX_NUMBERS = 2**13  # of all cells
_MAX_ROWS = 10**9  # more would not fit into memory
_QUARTILES = (0.25, 0.5, 0.75)


@register_model
@dataclass(frozen=True, eq=False)
class Cells:
    """Counts of values by cell and code; if start and end are equal, all values are there."""

    start: FloatArray  # [n_cells]
    end: FloatArray  # [n_cells]
    counts: IntArray  # [n_cells, n_codes]
    last: FloatArray  # [n_codes], the largest value, 0 if there is none

    def __post_init__(self) -> None:
        check_finite("counts", self.counts, (None, None))
        n_cells, n_codes = self.counts.shape
        for name, length in (("start", n_cells), ("end", n_cells), ("last", n_codes)):
            check_finite(name, getattr(self, name), (length,))
        is_count = (self.counts >= 0) & (self.counts <= _MAX_ROWS)
        if self.counts.dtype != np.int64 or not is_count.all():
            raise ValueError(f"counts must be numbers of rows, at most {_MAX_ROWS}")
        if (np.diff(np.stack([self.start, self.end]).T.ravel(), prepend=0.0) < 0).any():
            raise ValueError("cells must be consecutive intervals of time")

    @classmethod
    def of(cls, values: FloatArray, codes: IntArray, n_codes: int) -> Cells:
        """Count values ``[n_rows]`` with codes ``[n_rows]``."""
        order = np.argsort(values)
        values, codes = values[order], codes[order]
        n_rows = len(values)
        min_rows = max(MIN_ROWS, -(-n_rows * (n_codes + 2) // _MAX_NUMBERS))
        first_rows = _first_rows(values, min_rows)
        next_rows = np.append(first_rows[1:], n_rows)[: len(first_rows)]
        # An edge lies half way between two values, so that it is not the time of a subject.
        edges = (values[first_rows[1:]] + values[first_rows[1:] - 1]) / 2
        start = np.append(values[:1], edges)
        end = np.append(edges, values[-1:])
        # If many rows of a cell share a time, it is the time of its middle row.
        middle = values[(first_rows + next_rows) // 2]
        n_below = np.searchsorted(values, middle, side="left")
        n_equal = np.searchsorted(values, middle, side="right") - n_below
        is_shared = n_equal >= min_rows
        start = np.where(is_shared, middle, start)
        end = np.where(is_shared, middle, end)
        cell = np.repeat(np.arange(len(first_rows)), next_rows - first_rows)
        counts = np.zeros((len(first_rows), n_codes), dtype=np.int64)
        np.add.at(counts, (cell, codes), 1)
        last = np.zeros(n_codes)
        np.maximum.at(last, codes, values)
        return cls(start, end, counts, last)

    def spread(self, code: int) -> FloatArray:
        """Return as many values of a code, ascending; the largest is exact."""
        counts = self.counts[:, code]
        n_before = np.repeat(counts.cumsum() - counts, counts)
        rank = np.arange(counts.sum()) - n_before  # of a value in its cell
        start = np.repeat(self.start, counts)
        end = np.repeat(self.end, counts)
        values = start + (end - start) * (rank + 0.5) / np.repeat(counts, counts)
        values[-1:] = self.last[code]
        return np.minimum(values, self.last[code])


def _first_rows(values: FloatArray, min_rows: int) -> IndexArray:
    """Return the first row of each cell of sorted values; equal values stay in one cell."""
    first_rows = [0] if len(values) else []
    for row in (np.flatnonzero(np.diff(values)) + 1).tolist():
        if first_rows[-1] + min_rows <= row <= len(values) - min_rows:
            first_rows.append(row)
    return np.array(first_rows, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class SummarisedTarget(Target):
    """Rows that stand for the counted rows; their quartiles are those of the counted rows."""

    quartiles: FloatArray = field(default_factory=lambda: np.empty((0, 3)))

    def event_quantiles(self, levels: Sequence[float], event: int | None) -> FloatArray:
        """Return quantiles of the event times."""
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
        Exact event times and censorings by event code, 0 for censored.
    lower, upper : Cells
        The ends of intervals by event code.
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
        n_lower, n_upper = self.lower.counts.sum(axis=0), self.upper.counts.sum(axis=0)
        n_rows = self.times.counts.sum(axis=0) + n_lower
        if self.n_events < 1 or not n_rows[1:].all():
            raise ValueError("every event type 1..M must occur")
        if not np.array_equal(n_lower, n_upper) or self.entry.counts.sum() > n_rows.sum():
            raise ValueError("there are more ends of intervals, or entry times, than rows")
        check_finite("quartiles", self.quartiles, (self.n_events + 1, 3))
        check_finite("last_event_time", np.array(self.last_event_time), ())
        if self.event_times is not None:
            check_finite("event_times", self.event_times, (None,))
            if not len(self.event_times) or (np.diff(self.event_times) <= 0).any():
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
        n_codes = target.n_events + 1
        exact = target.take(~target.interval)
        intervals = target.take(target.interval)
        late_entry = target.entry[target.truncated]
        events = (None, *range(1, n_codes))
        return cls(
            times=Cells.of(exact.time, exact.event, n_codes),
            lower=Cells.of(intervals.time, intervals.event, n_codes),
            upper=Cells.of(intervals.upper, intervals.event, n_codes),
            entry=Cells.of(late_entry, np.zeros(len(late_entry), dtype=np.int64), 1),
            quartiles=np.array([target.event_quantiles(_QUARTILES, event) for event in events]),
            last_event_time=float(target.event_times.max()),
            event_times=target.event_times if with_event_times else None,
        )

    @property
    def n_events(self) -> int:
        """The number of event types."""
        return self.times.counts.shape[1] - 1

    @property
    def grid(self) -> FloatArray:
        """The event times, or without them the ends of the cells with events."""
        if self.event_times is not None:
            return self.event_times
        ends = self.times.end[self.times.counts[:, 1:].any(axis=1)]
        ends = np.concatenate([ends, self.upper.end, [np.inf]])
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
        if target.n_events != self.n_events:
            return False
        cells = TargetSummary.of(target).times
        return all(
            np.array_equal(values, getattr(self.times, name))
            for name, values in vars(cells).items()
        )

    def to_target(self) -> SummarisedTarget:
        """Return as many rows as were counted, spread evenly over their cells.

        Returns
        -------
        SummarisedTarget
            Without subjects.

        """
        events, times, uppers = [], [], []
        for code in range(self.n_events + 1):
            exact, lower = self.times.spread(code), self.lower.spread(code)
            upper = np.maximum(self.upper.spread(code), np.nextafter(lower, np.inf))
            times += [exact, lower]
            uppers += [np.full(len(exact), np.nan), upper]
            events.append(np.full(len(exact) + len(lower), code))
        event, time, upper = map(np.concatenate, (events, times, uppers))
        order = np.argsort(time, kind="stable")
        event, time, upper = event[order], time[order], upper[order]
        # Estimates depend on how many rows have entered by each time, not on which.
        late_entry = self.entry.spread(0)
        first_late = len(time) - len(late_entry)
        entry = np.zeros(len(time))
        entry[first_late:] = np.minimum(late_entry, np.nextafter(time[first_late:], 0.0))
        return SummarisedTarget(event, time, entry, upper, quartiles=self.quartiles)
