"""Piecewise linear encoding of numbers: how far a value has come through each of several bins.

With knots ``k_0 < ... < k_B`` a value x becomes B numbers, ``min(max((x - k_b) / (k_b+1 - k_b), 0), 1) - 1/2`` for each
bin: a function that is linear in them is piecewise linear in x with bends at the knots, and constant beyond the outer
knots, so that outliers have no leverage.

References: Gorishniy, Rubachev and Babenko (2022), On embeddings for numerical features in tabular deep learning,
Advances in Neural Information Processing Systems 35. doi:10.48550/arXiv.2203.05556
"""

from __future__ import annotations

import numpy as np

from .._types import FloatArray

__all__ = ["encode_piecewise", "learn_knots"]


_OUTER = (
    0.005  # share of the values beyond each outer knot: extremes shape nothing, and are not stored
)


def learn_knots(x: FloatArray, bins: int) -> tuple[float, ...] | None:
    """Return at most ``bins + 1`` different values of ``x`` (n,) at evenly spaced ranks; None if fewer than three.

    With two knots or one there is nothing to bend: a column of two values, or of one value and rare others.
    """
    values = np.quantile(x, np.linspace(_OUTER, 1 - _OUTER, bins + 1), method="nearest")
    _, first = np.unique(
        values / 2, return_index=True
    )  # halves, which ``encode_piecewise`` subtracts, must differ too
    knots = values[first]
    return tuple(knots.tolist()) if len(knots) > 2 else None


def encode_piecewise(x: FloatArray, knots: tuple[float, ...]) -> FloatArray:
    """Return the encoding (n, bins) of ``x`` (n,)."""
    left, right = np.asarray(knots[:-1]), np.asarray(knots[1:])
    inside = np.clip(x[:, None], left, right)
    return (inside / 2 - left / 2) / (
        right / 2 - left / 2
    ) - 0.5  # halves: the difference of two numbers may overflow
