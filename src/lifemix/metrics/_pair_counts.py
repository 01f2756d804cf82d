"""Counts of pairs: the points that come later than a case and have a lower risk.

In order of time, the points from a position on are a few blocks of 1, 2, 4, ... points, whose
numbers are the bits of the position. With the points of each block in order of risk, those of lower
risk are looked up: O(n log^2 n) time and linear memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray, IndexArray
from .inputs import look_up

__all__ = ["compare"]


def compare(
    point_key: NDArray[Any],
    point_risk: FloatArray,
    case_key: NDArray[Any],
    case_risk: FloatArray,
    point_weight: FloatArray | None = None,
    tolerance: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Compare each case with the points whose key is at least the case's key.

    Return two arrays of shape (n_cases,): the weight of those points whose risk is lower than the
    case's, plus half the weight of those whose risk is tied (differs by at most ``tolerance``); and
    the weight of all those points.
    """
    by_key = np.argsort(point_key)
    risk = point_risk[by_key]
    weight = np.ones(len(risk)) if point_weight is None else point_weight[by_key]
    start = look_up(point_key[by_key], case_key, "left")
    by_risk = np.argsort(risk)
    n_lower = look_up(risk[by_risk], case_risk - tolerance, "left")
    n_up_to_ties = look_up(risk[by_risk], case_risk + tolerance, "right")
    rank = np.argsort(by_risk)
    limits = np.append(n_lower, n_up_to_ties)
    lower, up_to_ties = np.split(_sums_from(rank, weight, np.tile(start, 2), limits), 2)
    all_from = np.append(np.cumsum(weight[::-1])[::-1], 0.0)
    return (lower + up_to_ties) / 2, all_from[start]


def _sums_from(
    rank: IndexArray, weight: FloatArray, start: IndexArray, limit: IndexArray
) -> FloatArray:
    """Return the weight of the points from position ``start`` on whose rank is below ``limit``.

    One value per pair of start and limit; ``rank`` and ``weight`` are in the order of the points.
    """
    n_points = len(rank)
    position = np.arange(1, n_points + 1)  # from 1, so that every position has a bit
    next_position = start + 1
    sums = np.zeros(len(start))
    for level in range(n_points.bit_length()):
        key = (position >> level) * n_points + rank  # by block, within a block by rank
        order = np.argsort(key)
        cumulative = np.append(0.0, np.cumsum(weight[order]))
        has_block = (next_position >> level) % 2 == 1
        query = np.flatnonzero(has_block & (next_position <= n_points))
        first = next_position[query]
        end = look_up(key[order], (first >> level) * n_points + limit[query], "left")
        sums[query] += cumulative[end] - cumulative[first - 1]
        next_position[query] += 1 << level
    return sums
