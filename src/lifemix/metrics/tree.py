"""Counting pairs in O(n log n): how many points lie beyond a case and have a lower risk.

A binary tree over the points' positions, one level at a time from the root: every node holds its points in order of
risk, so a case descends to its own position with one look-up per level and sums the right-hand nodes it passes.
All cases move at once, in numpy: O((n + q) log n) time and linear memory for n points and q cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import FloatArray, IndexArray
from .lookup import look_up

__all__ = ["compare", "sum_beyond"]


def compare(
    point_key: NDArray[Any],
    point_risk: FloatArray,
    case_key: NDArray[Any],
    case_risk: FloatArray,
    point_weight: FloatArray | None = None,
    tolerance: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Compare every case with the points beyond it, those whose key is at least the case's key.

    concordant = sum of weight [risk < case risk] + 1/2 weight [risk tied];  comparable = sum of weight
    over the points beyond. Risks tie where they differ by at most ``tolerance``. Points: shape (n,), cases and both
    results: shape (q,).
    """
    if len(case_key) <= len(point_key).bit_length():  # too few to pay for the tree
        return _compare_each(point_key, point_risk, case_key, case_risk, point_weight, tolerance)
    order = np.argsort(point_key)
    start = look_up(point_key[order], case_key, "left")
    risk = point_risk[order]
    by_risk = np.argsort(risk)
    ranked = risk[by_risk]
    low = look_up(ranked, _edge(case_risk, tolerance, -np.inf), "left")
    high = look_up(ranked, _edge(case_risk, tolerance, np.inf), "right")
    weight = None if point_weight is None else point_weight[order]

    ties = np.flatnonzero(high > low)
    starts, limits = np.concatenate([start, start[ties]]), np.concatenate([low, high[ties]])
    sums = sum_beyond(by_risk, starts, limits, weight)
    concordant = sums[: len(start)]
    concordant[ties] = (concordant[ties] + sums[len(start) :]) / 2
    if weight is None:
        return concordant, (len(order) - start).astype(np.float64)
    return concordant, np.concatenate([np.cumsum(weight[::-1])[::-1], [0.0]])[start]


def sum_beyond(
    by_rank: IndexArray, start: IndexArray, limit: IndexArray, weight: FloatArray | None = None
) -> FloatArray:
    """Return, for each query, the number (or weight) of the points at position >= start with rank < limit.

    by_rank: (n,), the position of the point of each rank; start, limit: (q,), from 0 to n; weight: (n,), by position.
    """
    n = len(by_rank)
    levels = n.bit_length()
    size = 1 << levels  # > n: a query may start after the last point
    points: NDArray[Any] = np.arange(size, dtype=np.int32 if levels < 31 else np.int64)
    points[:n] = by_rank
    padded = None if weight is None else np.concatenate([weight, np.zeros(size - n)])
    cut = limit  # where the ranks of a query end, as an index into the level
    total = np.zeros(len(start))
    for level in range(levels - 1, -1, -1):
        half = 1 << level
        is_right = (points & half) != 0
        node = (start >> (level + 1)) << (level + 1)
        right = _running(is_right, points.dtype)[cut] - (
            node >> 1
        )  # half of all points before a node were right
        goes_left = (start & half) == 0
        if padded is None:
            total += right * goes_left
        else:
            weights = _running(padded[points] * is_right, padded.dtype)
            total += (weights[cut] - weights[node]) * goes_left
        cut = np.where(goes_left, cut - right, node + half + right)
        halves = [points.compress(side).reshape(-1, half) for side in (~is_right, is_right)]
        points = np.stack(halves, axis=1).reshape(-1)
    reached = cut > start  # the point at the query's own position
    return total + (reached if padded is None else reached * padded[start])


def _compare_each(
    point_key: NDArray[Any],
    point_risk: FloatArray,
    case_key: NDArray[Any],
    case_risk: FloatArray,
    point_weight: FloatArray | None,
    tolerance: float,
) -> tuple[FloatArray, FloatArray]:
    concordant, comparable = np.zeros(len(case_key)), np.zeros(len(case_key))
    for case, (key, risk) in enumerate(zip(case_key, case_risk, strict=True)):
        beyond = point_key >= key
        difference = point_risk[beyond] - risk
        share = np.where(np.abs(difference) <= tolerance, 0.5, difference < 0)
        weight = np.ones(len(share)) if point_weight is None else point_weight[beyond]
        concordant[case], comparable[case] = weight @ share, weight.sum()
    return concordant, comparable


def _running(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    sums = np.zeros(len(values) + 1, dtype=dtype)
    np.cumsum(values, out=sums[1:])
    return sums


def _edge(wanted: FloatArray, tolerance: float, towards: float) -> FloatArray:
    """Return the outermost number whose floating-point difference from the wanted one is within the tolerance."""
    if not tolerance:
        return wanted
    edge = wanted + np.copysign(tolerance, towards)
    further = np.nextafter(edge, towards)
    edge = np.where(np.abs(further - wanted) <= tolerance, further, edge)
    return np.asarray(np.where(np.abs(edge - wanted) > tolerance, np.nextafter(edge, wanted), edge))
