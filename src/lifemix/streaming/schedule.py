"""In which order an epoch reads the rows: a pure function of the row counts, the seed and the epoch.

The pieces of the table (row groups, ranges of a text file) are put in random order one behind the other, and every lane
gets a stretch of the same length. A lane keeps some pieces open and takes a slice of each for every window, so that a
window mixes rows of several places; inside a window rows are shuffled. The lanes of one window together make its
batches: one process runs all lanes, or each of several processes one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Slice", "plan_windows", "stretch"]

_OPEN = 4  # pieces that a lane reads at the same time; each takes about two megabytes per column


class Slice(NamedTuple):
    """Some consecutive rows of a piece."""

    piece: int
    start: int
    stop: int


def stretch(rows: Sequence[int], order: Sequence[int], part: int, parts: int) -> list[Slice]:
    """Return one of several stretches of nearly equal length of the pieces in an order."""
    total = sum(rows)
    first, last = part * total // parts, (part + 1) * total // parts
    found, position = [], 0
    for piece in order:
        start, stop = max(first - position, 0), min(last - position, rows[piece])
        if start < stop:
            found.append(Slice(piece, start, stop))
        position += rows[piece]
    return found


def plan_windows(
    rows: Sequence[int], lanes: int, window_rows: int, seed: int, epoch: int
) -> list[tuple[list[Slice], ...]]:
    """Return what each lane reads for each window of an epoch; windows of a lane differ by one row at most."""
    order = np.random.default_rng([seed, 7, epoch]).permutation(len(rows)).tolist()
    count = max(1, math.ceil(sum(rows) / window_rows))
    return list(zip(*(_windows(stretch(rows, order, lane, lanes), count) for lane in range(lanes)), strict=True))


def _windows(segments: list[Slice], count: int) -> list[list[Slice]]:
    """Divide the rows of a lane among windows, each from several open segments."""
    total = sum(segment.stop - segment.start for segment in segments)
    waiting, opened = list(reversed(segments)), list[Slice]()
    windows = []
    for number in range(count):
        needed = (number + 1) * total // count - number * total // count
        window: list[Slice] = []
        while needed:
            while waiting and len(opened) < _OPEN:
                opened.append(waiting.pop())
            quota = math.ceil(needed / len(opened))
            left = []
            for segment in opened:
                taken = min(quota, needed, segment.stop - segment.start)
                middle = segment.start + taken
                if taken:
                    window.append(Slice(segment.piece, segment.start, middle))
                needed -= taken
                if middle < segment.stop:
                    left.append(Slice(segment.piece, middle, segment.stop))
            opened = left
        windows.append(_joined(window))
    return windows


def _joined(window: list[Slice]) -> list[Slice]:
    """Put consecutive slices of one piece together."""
    found: dict[tuple[int, int], Slice] = {}  # by piece and end
    for piece, start, stop in window:
        before = found.pop((piece, start), None)
        found[piece, stop] = Slice(piece, start if before is None else before.start, stop)
    return list(found.values())
