"""Rows of one subject that follow each other in time: a path of covariates, one interval ``(entry, time]`` per row.

Along a path the hazard at t is that of the row in force at t, so each row counts given survival to its start. Rows make
a path where they neither overlap nor leave a gap, and only the last of them may end with an event.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ._types import FloatArray, IndexArray, IntArray
from .errors import TargetError

__all__ = ["checked_starts", "path_order"]


_ROUNDING = 1e-9  # of a time: an end and the next start that differ by less are the same
_APART = "Where they are separate observations that only stay together in splits, give paths=False"


def path_order(
    path: IntArray, start: FloatArray, stop: FloatArray
) -> tuple[IndexArray, IndexArray]:
    """Return the rows sorted by path, then by time, and where each path begins among them; all arguments (n,).

    path: numbers 0, 1, 2 ...; paths come in the order of their numbers.
    """
    order = np.lexsort((stop, start, path))
    return order, np.flatnonzero(np.diff(path[order], prepend=-1))


def checked_starts(
    path: IntArray,
    names: Any,
    start: FloatArray,
    stop: FloatArray,
    event: IntArray,
    number: IntArray | None = None,
    all_rows: bool = True,
) -> FloatArray:
    """Return the starts, each exactly the end of the row before; rows that do not follow each other are refused.

    path: numbers 0, 1, 2 ... of the subjects; names: what the user calls the subject of each row, None where that is
    not known; number: that of each row in a larger table; all_rows: whether no row of a subject is elsewhere, so that a
    gap is one.
    """
    order, firsts = path_order(path, start, stop)
    before, after = order[:-1], order[1:]
    same = np.ones(len(after), dtype=bool)
    same[firsts[1:] - 1] = False
    before, after = before[same], after[same]
    difference = start[after] - stop[before]
    differs = np.abs(difference) > _ROUNDING * stop[before]
    for wrong, what, fix in (
        (differs & (difference < 0), "which overlap", f"Correct the times. {_APART}"),
        (event[before] > 0, f"the first with event {_first(event[before])}, after which nothing can follow",
         f"Count an event that does not end the observation as 0. {_APART}"),
        (differs & (difference > 0) & all_rows, "with a gap between them",
         f"Keep the covariates of the row before until the next begins. {_APART}"),
    ):  # fmt: skip
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            one, other = int(before[i]), int(after[i])
            subject = "one" if names is None else f"subject {pd.Series(names).iloc[one]}"
            shown = (one, other) if number is None else (int(number[one]), int(number[other]))
            raise TargetError(
                f"with entry and subject, the rows of one subject must be consecutive intervals; got {subject} in "
                f"({start[one]:g}, {stop[one]:g}] and ({start[other]:g}, {stop[other]:g}], {what} (rows {shown[0]} and "
                f"{shown[1]}; {int(wrong.sum())} such pairs). {fix}."
            )
    snapped = start.copy()
    snapped[after] = stop[before]
    return snapped


def _first(events: IntArray) -> int:
    return int(events[events > 0][0]) if (events > 0).any() else 0
