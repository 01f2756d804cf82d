"""Rows of one subject that must follow each other, in a table that is not in memory.

Rows that overlap, or that follow an event, are found where they stand in one block. All rows of some subjects, chosen
by a hash, are kept and checked as in memory, gaps included: of all subjects where the table has few rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..path_rows import checked_starts
from ..subjects import first_appearance
from .blocks import RowBlock
from .hashing import unit_hash

__all__ = ["PathCheck"]

_CHOOSING = 3  # added to the seed, so that the subjects are not those held out
_KEPT = 2**18  # rows


@dataclass
class PathCheck:
    """What was seen of the rows of subjects; those of several parts of a table can be merged."""

    share: float
    seed: int
    followed: bool = False  # whether any row begins later than at 0: only then rows make paths
    rows: list[NDArray[np.float64]] = field(default_factory=list)  # entry, time, [rows] each
    whole: list[NDArray[np.int64]] = field(default_factory=list)  # subject, event, number in the table

    @classmethod
    def of(cls, n_rows: int, seed: int) -> PathCheck:
        """Return the check of a table."""
        return cls(min(1.0, _KEPT / max(n_rows, 1)), seed + _CHOOSING)

    def add(self, block: RowBlock) -> None:
        """Look at some rows, and keep those of the chosen subjects."""
        target = block.outcome
        assert target.subject is not None
        rows = np.stack([target.entry, target.time])
        whole = np.stack([target.subject, target.event, block.row])
        if target.truncated.any():
            self.followed = True
            _check(rows, whole, all_rows=False)
        chosen = unit_hash(target.subject, self.seed) < self.share
        if chosen.any():
            self.rows.append(rows[:, chosen])
            self.whole.append(whole[:, chosen])

    def merge(self, other: PathCheck) -> None:
        """Add what was seen in another part of the table."""
        self.followed |= other.followed
        self.rows += other.rows
        self.whole += other.whole

    def finish(self) -> None:
        """Refuse rows of the chosen subjects that do not follow each other."""
        if self.followed and self.rows:
            _check(np.concatenate(self.rows, axis=1), np.concatenate(self.whole, axis=1), all_rows=True)


def _check(rows: NDArray[np.float64], whole: NDArray[np.int64], all_rows: bool) -> None:
    (start, stop), (subject, event, number) = rows, whole
    path, count = first_appearance(subject)
    if count < len(path):
        checked_starts(path, None, start, stop, event, number + 1, all_rows)
