"""Counting the pairs of one sample: for every row, how many rows come later and have a lower risk.

The rows in order of risk are split by the highest bit of their rank in time, then each half by the next bit, and so
on; each split keeps the order of risk. At each level, the rows that go right and stand before a row that goes left are
later rows with a lower risk; their number is the row's index less its index among the left ones. Every level is a few
vectorised passes over all rows: O(n log n) time, linear memory, no random access.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import BoolArray, FloatArray, IntArray

__all__ = ["later_and_lower", "later_pairs", "nearly_tied"]


def later_pairs(key: NDArray[Any], risk: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compare every row with the rows of a larger key; both arguments and both results have shape (n,).

    concordant_i = #(key_j > key_i, risk_j < risk_i) + 1/2 #(key_j > key_i, risk_j = risk_i)
    comparable_i = #(key_j > key_i)
    """
    n = len(key)
    bits = np.int64(n.bit_length())
    moment, level = _ranks(key), _ranks(risk)
    # Rows with one key stand in order of risk, so that none of them has a later row of its key with a lower risk.
    order = np.argsort((moment << bits) | level)
    moment, level = moment[order], level[order]
    ranked = np.sort((level << bits) | np.arange(n))
    by_rank = ranked & ((1 << bits) - 1)
    level = ranked >> bits

    counts = later_and_lower(by_rank).astype(np.float64)
    if n and level[-1] + 1 < n:  # some risks are equal
        counts[by_rank] += (_run_ends(level) - _run_ends((level << bits) | moment[by_rank])) / 2
    concordant, comparable = np.empty(n), np.empty(n)
    concordant[order] = counts
    comparable[order] = n - _run_ends(moment)
    return concordant, comparable


def later_and_lower(by_rank: NDArray[Any]) -> NDArray[Any]:
    """Return, for each position, how many later positions have a lower rank.

    by_rank: (n,), the position that has each rank, a permutation of 0..n-1. Result: (n,).
    """
    n = len(by_rank)
    levels = (n - 1).bit_length()
    size = 1 << levels
    dtype = np.int32 if levels < 31 else np.int64
    points: NDArray[Any] = np.arange(
        size, dtype=dtype
    )  # what is added to fill the last level is latest and highest
    points[:n] = by_rank
    counts: NDArray[Any] = np.zeros(size, dtype=dtype)
    nth = np.arange(size // 2)
    for level in range(levels - 1, -1, -1):
        half = 1 << level
        goes_right = (points & half) != 0
        left, right = np.flatnonzero(~goes_right), np.flatnonzero(goes_right)
        before = (
            left - nth - ((nth >> level) << level)
        )  # right ones before this left one, within its node
        points = _side_by_side(points.take(left), points.take(right), half)
        counts = _side_by_side(counts.take(left) + before.astype(dtype), counts.take(right), half)
    return counts[:n]


def nearly_tied(risk: FloatArray, tolerance: float) -> BoolArray:
    """Return which rows have another row whose risk is not equal to theirs, but within the tolerance."""
    ordered = np.sort(risk)
    gap = np.diff(ordered)
    near = np.flatnonzero((gap > 0) & (gap <= tolerance))
    return np.isin(risk, ordered[np.union1d(near, near + 1)])


def _side_by_side(left: NDArray[Any], right: NDArray[Any], half: int) -> NDArray[Any]:
    return np.stack([left.reshape(-1, half), right.reshape(-1, half)], axis=1).reshape(-1)


def _ranks(values: NDArray[Any]) -> IntArray:
    """Return 0, 1, ... by size, equal values sharing one."""
    order = np.argsort(values)
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[order] = _run_numbers(values[order])
    return ranks


def _run_numbers(ordered: NDArray[Any]) -> IntArray:
    numbers = np.zeros(len(ordered), dtype=np.int64)
    np.cumsum(ordered[1:] != ordered[:-1], out=numbers[1:])
    return numbers


def _run_ends(ordered: NDArray[Any]) -> IntArray:
    """Return, for each entry, one past the last index of its run of equal values."""
    ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1, len(ordered))
    return np.repeat(ends, np.diff(ends, prepend=0))
