"""The Kaplan-Meier curves of the leaves of a forest, kept as their steps alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .._types import BoolArray, FloatArray, IndexArray
from ..registry import check_finite, register_model

__all__ = ["LeafCurves"]


@register_model
@dataclass(frozen=True, eq=False)
class LeafCurves:
    """The steps of all curves, sorted by leaf and time.

    A step is found by its key, leaf * width + place; place k is the k-th of the event times, of which there are
    ``width - 1``, and place 0 is before the first. Every leaf has a step at place 0.
    """

    width: int
    keys: IndexArray  # (n_steps,)
    survival: FloatArray  # (n_steps,)

    def __post_init__(self) -> None:
        check_finite("keys", self.keys, (None,))
        check_finite("survival", self.survival, self.keys.shape)
        if type(self.width) is not int or self.width < 1 or self.keys.dtype.kind != "i":
            raise ValueError("the steps of the leaves' curves must have whole numbers as keys")
        if (np.diff(self.keys) < 1).any():
            raise ValueError(
                "the steps of the leaves' curves must be sorted, each with its survival"
            )
        if not ((self.survival >= 0) & (self.survival <= 1)).all():
            raise ValueError("the survival of a leaf must be from 0 to 1")
        is_same_leaf = np.diff(self.keys // self.width) == 0
        if (np.diff(self.survival)[is_same_leaf] > 0).any():
            raise ValueError("the survival of a leaf must not increase")

    @classmethod
    def of(
        cls,
        leaves: Iterable[IndexArray],
        samples: Iterable[IndexArray],
        place: IndexArray,
        happened: BoolArray,
        width: int,
    ) -> LeafCurves:
        """Return the curves from the leaf of each row in each tree, the rows each tree grew on, and their outcomes."""
        parts = [
            _steps(leaf[rows], place[rows], happened[rows], width)
            for leaf, rows in zip(leaves, samples, strict=True)
        ]
        return cls(
            width,
            np.concatenate([keys for keys, _ in parts]),
            np.concatenate([curve for _, curve in parts]),
        )

    def at(self, leaf: IndexArray, place: IndexArray) -> FloatArray:
        """Return the curves of the leaves (n,) at the places (n_times,), of shape (n, n_times)."""
        wanted, inverse = np.unique(leaf, return_inverse=True)
        steps = (
            np.searchsorted(self.keys, wanted[:, None] * self.width + place[None, :], side="right")
            - 1
        )
        return np.asarray(self.survival[steps][inverse])

    def cover(self, leaves: IndexArray) -> bool:
        """Tell whether exactly these leaves, sorted, have curves."""
        starts = self.keys[self.keys % self.width == 0] // self.width
        return np.array_equal(starts, leaves) and np.array_equal(
            np.unique(self.keys // self.width), leaves
        )


def _steps(
    leaf: IndexArray, place: IndexArray, happened: BoolArray, width: int
) -> tuple[IndexArray, FloatArray]:
    """Return the keys and the survival of one tree from the leaf, exit place and event of each of its rows."""
    leaves, index = np.unique(leaf, return_inverse=True)
    key = index * width + place
    steps, events = np.unique(key[happened], return_counts=True)
    order = np.sort(key)
    leaf_end = np.cumsum(np.bincount(index, minlength=len(leaves)))
    at_risk = leaf_end[steps // width] - np.searchsorted(order, steps, side="left")
    starts = np.arange(len(leaves)) * width
    keys = np.union1d(starts, steps)  # place 0 of every leaf: nothing happened yet
    factor = np.ones(len(keys))
    factor[np.searchsorted(keys, steps)] = 1.0 - events / at_risk
    survival = np.concatenate(
        [np.cumprod(part) for part in np.split(factor, np.searchsorted(keys, starts)[1:])]
    )
    return leaves[keys // width] * width + keys % width, survival
