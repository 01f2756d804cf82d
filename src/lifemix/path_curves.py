"""Curves along paths: the conditional curves of single intervals, put together.

Row j of a path holds over ``(start_j, stop_j]``. With ``S_j`` and ``F_mj`` the survival and the incidence of event m
under its covariates, given survival to ``start_j``, the survival at t in that interval is ``S_j(t)`` times the product
of ``S_i(stop_i)`` over the rows before, and the incidence is the sum over the rows of the survival at their start times
``F_mj``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._types import FloatArray, IndexArray, IntArray
from .checks import check_same_rows, check_times
from .errors import InputError
from .path_rows import checked_starts, path_order
from .subjects import first_appearance, subject_codes
from .warning import warn_user

__all__ = ["PathRows", "path_curves", "ratio_of_curves"]

# From rows, their starts and times to survival (rows, times), and where it is asked for the incidence, both given
# survival to the start.
Conditional = Callable[[IndexArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray | None]]

_BLOCK = 128


@dataclass(frozen=True, eq=False)
class PathRows:
    """The intervals of paths, sorted by path and then by time; ``rows`` are their places in the table."""

    rows: IndexArray
    start: FloatArray
    stop: FloatArray
    path: IntArray  # 0, 1, 2 ... by first appearance
    firsts: IndexArray  # where each path begins

    @classmethod
    def read(cls, n_rows: int, start: ArrayLike, stop: ArrayLike, subject: ArrayLike) -> PathRows:
        """Check the intervals of a table: one per row, consecutive for each subject."""
        starts, stops, codes = (
            check_times(start, "start"),
            check_times(stop, "stop"),
            subject_codes(subject),
        )
        for name, values in (("start", starts), ("stop", stops), ("subject", codes)):
            if len(values) != n_rows:
                raise InputError(
                    f"{name} must have one value per row of X, {n_rows}; got {len(values)}."
                )
        check_same_rows(n_rows, len(codes))
        if (starts >= stops).any():
            row = int(np.flatnonzero(starts >= stops)[0])
            raise InputError(
                f"start must be < stop; got ({starts[row]:g}, {stops[row]:g}] at row {row} "
                f"({int((starts >= stops).sum())} such rows). Drop empty intervals."
            )
        path, _ = first_appearance(codes)
        starts = checked_starts(path, subject, starts, stops, np.zeros(n_rows, dtype=np.int64))
        order, firsts = path_order(path, starts, stops)
        return cls(order, starts[order], stops[order], path[order], firsts)

    @property
    def lasts(self) -> IndexArray:
        """Where each path ends."""
        return np.append(self.firsts[1:], len(self.rows)) - 1


def path_curves(
    paths: PathRows, times: FloatArray, conditional: Conditional, incidence: bool, extend: bool
) -> FloatArray:
    """Return survival, or incidence, of every path at every time, (n_paths, n_times).

    Up to the first start of a path it is 1 (an incidence 0), beyond the last stop NaN with a warning, or with
    ``extend`` as if the last covariates were kept.
    """
    grid, place = np.unique(times, return_inverse=True)
    low, high = (
        np.searchsorted(grid, paths.start, side="right"),
        np.searchsorted(grid, paths.stop, side="right"),
    )
    low[paths.firsts] = 0
    if extend:
        high[paths.lasts] = len(grid)
    else:
        _warn_beyond(paths, grid)
    inside, at_stop = _conditional_values(paths, grid, low, high, conditional, incidence)
    before, sum_before = _before(paths, *at_stop)
    result = np.full((len(paths.firsts), len(grid)), np.nan)
    for row in range(len(paths.rows)):
        span, own = slice(low[row], high[row]), inside[row]
        result[paths.path[row], span] = (
            sum_before[row] + before[row] * own if incidence else before[row] * own
        )
    return result[:, place]


def _conditional_values(
    paths: PathRows,
    grid: FloatArray,
    low: IndexArray,
    high: IndexArray,
    conditional: Conditional,
    incidence: bool,
) -> tuple[list[FloatArray], tuple[FloatArray, FloatArray]]:
    """Return for each row the values at the times inside it, and survival and incidence at its end."""
    inside: list[FloatArray] = [np.empty(0)] * len(paths.rows)
    survived, happened = np.ones(len(paths.rows)), np.zeros(len(paths.rows))
    order = np.argsort(
        paths.start, kind="stable"
    )  # neighbours share times, so that a block has few distinct ones
    for first in range(0, len(order), _BLOCK):
        block = order[first : first + _BLOCK]
        wanted = np.unique(
            np.concatenate([paths.stop[block], grid[low[block].min() : high[block].max()]])
        )
        survival, incidences = conditional(paths.rows[block], paths.start[block], wanted)
        values = incidences if incidence and incidences is not None else survival
        ends = np.searchsorted(wanted, paths.stop[block])
        survived[block] = survival[np.arange(len(block)), ends]
        if incidence:
            happened[block] = values[np.arange(len(block)), ends]
        for place, row in enumerate(block.tolist()):
            inside[row] = values[place, np.searchsorted(wanted, grid[low[row] : high[row]])]
    return inside, (survived, happened)


def _before(
    paths: PathRows, survived: FloatArray, happened: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return survival and incidence at the start of each row: those of the rows before it, put together."""
    survival, total = np.ones(len(paths.rows)), np.zeros(len(paths.rows))
    rank = np.arange(len(paths.rows)) - paths.firsts[paths.path]
    for step in range(1, int(rank.max()) + 1):
        rows = np.flatnonzero(rank == step)
        survival[rows] = survival[rows - 1] * survived[rows - 1]
        total[rows] = total[rows - 1] + survival[rows - 1] * happened[rows - 1]
    return survival, total


def _warn_beyond(paths: PathRows, grid: FloatArray) -> None:
    short = paths.stop[paths.lasts] < grid[-1]
    if short.any():
        warn_user(
            f"the paths of {int(short.sum())} of {len(short)} subjects end before the last time, {grid[-1]:g}: NaN "
            "beyond their last stop. extend=True keeps the last covariates."
        )


def ratio_of_curves(at_times: FloatArray, at_start: FloatArray) -> Any:
    """Return ``S(t) / S(start)``, (rows, times) by (rows,), between 0 and 1; 0 where nobody survived to the start."""
    shape = at_times.shape
    ratio = np.divide(at_times, at_start[:, None], out=np.zeros(shape), where=at_start[:, None] > 0)
    return np.clip(ratio, 0.0, 1.0)
