"""One pass over a table: statistics of all its rows, a sample of them, and the rows that are held out.

What is needed of the outcome (the unit of time, the warm start, quartiles, the counts that a model file keeps) comes
from the sample, which has in it the first and the last row of every event type. A table of fewer rows is the sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..preprocessing.merging import TableStatistics
from ..target import Target
from .blocks import RowBlock, join_blocks
from .hashing import unit_hash
from .path_check import PathCheck

__all__ = ["SPLITTING", "Scan", "Shares", "held_out_rows"]

_SAMPLING = 1  # added to the seed, so that held-out rows are as often in the sample as others
_MOST_EXAMPLES = 64  # blocks of some rows each
SPLITTING = 2
"""Added to the seed, so that rows held out for early stopping are not those of a split."""


@dataclass(frozen=True)
class Shares:
    """Which share of the rows (or subjects) is held out, and which share of the rows is in the sample."""

    held_out: float
    sample: float
    seed: int

    def sampled(self, block: RowBlock) -> NDArray[np.bool_]:
        """Tell which rows are in the sample."""
        if self.sample >= 1:
            return np.ones(len(block), dtype=bool)
        return np.asarray(unit_hash(block.row, self.seed + _SAMPLING) < self.sample)


def held_out_rows(block: RowBlock, share: float, seed: int) -> NDArray[np.bool_]:
    """Tell which rows are held out: by their number, or by their subject, whose rows stay together."""
    if share <= 0:
        return np.zeros(len(block), dtype=bool)
    subject = None if block.target is None else block.target.subject
    return np.asarray(unit_hash(block.row if subject is None else subject, seed) < share)


@dataclass
class Scan:
    """What was found in some rows; scans of several parts of a table can be merged."""

    statistics: TableStatistics
    shares: Shares
    rows: int = 0
    skipped: int = 0
    weight: float = 0.0
    piece_rows: dict[int, int] = field(default_factory=dict)
    sample: list[RowBlock] = field(default_factory=list)
    examples: list[RowBlock] = field(default_factory=list)  # the first and the last of every sort
    held_out: list[RowBlock] = field(default_factory=list)
    paths: PathCheck | None = None

    def add(self, block: RowBlock) -> None:
        """Add some rows."""
        self.skipped += block.skipped
        if not len(block):
            return
        self.rows += len(block)
        self.weight += float(block.weight.sum())
        self.statistics.add(block.numbers, block.labels)
        for kept, rows in (
            (self.sample, self.shares.sampled(block)),
            (self.held_out, held_out_rows(block, self.shares.held_out, self.shares.seed)),
        ):
            if rows.any():
                kept.append(block.take(np.flatnonzero(rows)))
        if self.paths is not None:
            self.paths.add(block)
        if block.target is not None:
            self._keep_examples([block.take(_examples(block.outcome))])

    def _keep_examples(self, more: list[RowBlock], most: int = _MOST_EXAMPLES) -> None:
        """Keep examples of some rows; once they are many, those that stand for all of them."""
        self.examples += more
        if len(self.examples) > most:
            joined = join_blocks(self.examples)
            self.examples = [joined.take(_examples(joined.outcome))]

    def merge(self, other: Scan) -> None:
        """Add what was found in another part of the table; the held-out rows stay where they were read."""
        self.statistics.merge(other.statistics)
        self.rows, self.skipped = self.rows + other.rows, self.skipped + other.skipped
        self.weight += other.weight
        self.piece_rows |= other.piece_rows
        self.sample += other.sample
        if self.paths is not None and other.paths is not None:
            self.paths.merge(other.paths)
        if other.examples:
            self._keep_examples(other.examples)

    def sampled(self) -> RowBlock:
        """Return the sample, examples included, in the order of the table."""
        self._keep_examples([], 1)
        joined = join_blocks([*self.sample, *self.examples])
        _, first = np.unique(joined.row, return_index=True)
        return joined if np.array_equal(first, np.arange(len(joined))) else joined.take(first)

    def held_out_block(self) -> RowBlock | None:
        """Return the held-out rows that this scan has read; None where there are none."""
        return join_blocks(self.held_out) if self.held_out else None


def _examples(target: Target) -> NDArray[np.intp]:
    """Return rows that stand for all there are: of every code the first, the earliest and the last, and odd rows."""
    last = np.fmax(target.time, target.upper)
    exact = (target.event > 0) & (target.time > 0) & ~target.interval
    found: list[int] = []
    for code in np.unique(target.event):
        own = np.flatnonzero(target.event == code)
        found += [int(own[0]), int(own[last[own].argmax()])]
    if exact.any():
        found.append(int(np.flatnonzero(exact)[target.time[exact].argmin()]))
    odd: Iterable[Any] = (target.interval, target.truncated, (target.time == 0) & (target.event > 0))
    for rows in odd:
        found += np.flatnonzero(rows)[:1].tolist()
    return np.unique(np.array(found, dtype=np.intp))
