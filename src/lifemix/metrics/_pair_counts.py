"""Counts of pairs: the points that come later than a case and have a lower risk.

The points and cases, in order of risk, are split by the highest bit of their position in time, then
each half by the next bit, and so on. At each split, the points on the right (later) that precede a
case on the left have a lower risk. That takes O(n log n) time and linear memory.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray, IndexArray

__all__ = ["compare"]

_FEW = 16  # cases, which are compared with all points one by one


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
    if point_weight is None:
        point_weight = np.ones(len(point_key))
    if len(case_key) <= _FEW:
        concordant, comparable = np.zeros(len(case_key)), np.zeros(len(case_key))
        for case, (key, risk) in enumerate(zip(case_key, case_risk, strict=True)):
            is_later = point_key >= key
            difference = point_risk[is_later] - risk
            share = np.where(np.abs(difference) <= tolerance, 0.5, difference < 0)
            weight = point_weight[is_later]
            concordant[case], comparable[case] = weight @ share, weight.sum()
        return concordant, comparable
    order = np.argsort(point_key)
    start = _look_up(point_key[order], case_key, "left")
    risk, weight = point_risk[order], point_weight[order]
    by_risk = np.argsort(risk)
    sorted_risk = risk[by_risk]
    n_lower = _look_up(sorted_risk, _last_tie(case_risk, tolerance, -np.inf), "left")
    n_up_to_ties = _look_up(sorted_risk, _last_tie(case_risk, tolerance, np.inf), "right")
    has_ties = np.flatnonzero(n_up_to_ties > n_lower)
    starts = np.append(start, start[has_ties])
    limits = np.append(n_lower, n_up_to_ties[has_ties])
    concordant, with_ties = np.split(_sums_from(by_risk, weight, starts, limits), [len(start)])
    concordant[has_ties] = (concordant[has_ties] + with_ties) / 2
    return concordant, np.append(np.cumsum(weight[::-1])[::-1], 0.0)[start]


def _sums_from(
    by_risk: IndexArray, point_weight: FloatArray, start: IndexArray, limit: IndexArray
) -> FloatArray:
    """Return the weight of the points at positions >= start among the ``limit`` lowest risks.

    ``by_risk`` are the positions of the points in order of risk; the result has one value per pair
    of start and limit.
    """
    n_points, n_rows = len(by_risk), len(by_risk) + len(start)
    query_position, point_position = _interleave(start, n_points)
    query_rank, point_rank = _interleave(limit, n_points)
    weight, sums = np.zeros(n_rows), np.zeros(n_rows)
    weight[point_position] = point_weight
    rows = np.empty(n_rows, dtype=np.intp)  # positions in order of risk
    rows[query_rank], rows[point_rank] = query_position, point_position[by_risk]
    count = np.arange(n_rows)
    for level in reversed(range((n_rows - 1).bit_length())):
        is_right = (rows >> level) & 1 == 1
        left_index, right_index = np.flatnonzero(~is_right), np.flatnonzero(is_right)
        left_rows, right_rows = rows[left_index], rows[right_index]
        n_left, n_right = count[: len(left_rows)], count[: len(right_rows)]
        right_sums = np.append(0.0, np.cumsum(weight[right_rows]))
        n_right_in_earlier_blocks = (left_rows >> (level + 1)) << level
        n_left_up_to_block = ((right_rows >> (level + 1)) + 1) << level
        sums[left_rows] += right_sums[left_index - n_left] - right_sums[n_right_in_earlier_blocks]
        rows[n_left + n_right_in_earlier_blocks] = left_rows
        rows[n_right + n_left_up_to_block] = right_rows
    return sums[query_position]


def _interleave(next_point: IndexArray, n_points: int) -> tuple[IndexArray, IndexArray]:
    """Return the positions of queries and of points if each query precedes its next point."""
    order = np.argsort(next_point)
    query_position = np.empty(len(next_point), dtype=np.intp)
    query_position[order] = next_point[order] + np.arange(len(next_point))
    n_queries = np.cumsum(np.bincount(next_point, minlength=n_points))[:n_points]
    return query_position, np.arange(n_points) + n_queries


def _look_up(
    ordered: NDArray[Any], values: NDArray[Any], side: Literal["left", "right"]
) -> IndexArray:
    """Return ``searchsorted(ordered, values, side)``, faster by searching in order."""
    order = np.argsort(values)
    index = np.empty(len(values), dtype=np.intp)
    index[order] = np.searchsorted(ordered, values[order], side)
    return index


def _last_tie(risk: FloatArray, tolerance: float, direction: float) -> FloatArray:
    """Return the outermost number whose computed difference is within the tolerance."""
    if not tolerance:
        return risk
    edge = risk + np.copysign(tolerance, direction)
    outward = np.nextafter(edge, direction)
    edge = np.where(np.abs(outward - risk) <= tolerance, outward, edge)
    return np.asarray(np.where(np.abs(edge - risk) > tolerance, np.nextafter(edge, risk), edge))
