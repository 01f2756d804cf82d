"""The visits of all subjects, one below the other: what the rows of ``Histories`` are parts of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from .._types import BoolArray, FloatArray, IndexArray

__all__ = ["Visits", "positions_until"]


@dataclass(frozen=True, eq=False)
class Visits:
    """A long table, sorted by subject and then by time.

    Attributes
    ----------
    frame : DataFrame
        One row per visit, one column per measurement.
    times : float array
        The time of each visit.
    owner : int array
        The number of the subject of each visit, ascending.
    """

    frame: pd.DataFrame
    times: FloatArray
    owner: IndexArray

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def missing(self) -> BoolArray:
        """Which values are missing, ``[visits, columns]``."""
        return self.frame.isna().to_numpy()

    @cached_property
    def carried(self) -> pd.DataFrame:
        """The measurements with the last value of the subject in place of missing ones, where there is one."""
        if not self.missing.any():
            return self.frame
        return self.frame.groupby(self.owner, sort=False).ffill()

    def take(self, rows: IndexArray) -> Visits:
        """Return some visits, in ascending order."""
        return Visits(
            self.frame.iloc[rows].reset_index(drop=True), self.times[rows], self.owner[rows]
        )


def positions_until(
    times: FloatArray, starts: IndexArray, stops: IndexArray, limits: FloatArray
) -> IndexArray:
    """Return for each part ``starts[i]:stops[i]`` of ascending times where those up to ``limits[i]`` end."""
    low, high = starts.copy(), stops.copy()
    while (low < high).any():  # all parts are searched by halves at once
        middle = (low + high) // 2
        open_parts = low < high
        within = np.zeros(len(low), dtype=bool)
        within[open_parts] = times[middle[open_parts]] <= limits[open_parts]
        low = np.where(open_parts & within, middle + 1, low)
        high = np.where(open_parts & ~within, middle, high)
    return low
