"""Decision trees as flat arrays, and the leaves that rows reach: those of scikit-learn's trees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import BoolArray, Float32Array, FloatArray, IndexArray
from ..registry import check_finite, register_model
from .base import chunks

__all__ = ["Trees", "single_precision"]

_CELLS = 1 << 16  # rows times trees that walk together: their state stays in the processor's cache


def single_precision(x: NDArray[Any]) -> Float32Array:
    """Return the numbers as scikit-learn's decision trees read them."""
    largest = np.finfo(np.float32).max
    return np.ascontiguousarray(np.clip(x, -largest, largest), dtype=np.float32)


@register_model
@dataclass(frozen=True, eq=False)
class Trees:
    """Binary trees, one entry per node; the nodes of a tree are consecutive, its root is first.

    A row goes to ``children[node, 1]`` if ``x[feature] > threshold``, else to ``children[node,
    0]``; both children of a leaf are the leaf itself. ``value`` is the prediction of a leaf.
    """

    roots: IndexArray  # [n_trees]
    feature: IndexArray  # [n_nodes]
    threshold: FloatArray  # [n_nodes]
    children: IndexArray  # [n_nodes, 2]
    value: FloatArray  # [n_nodes]

    def __post_init__(self) -> None:
        """Refuse trees in which a walk does not end at a leaf of its tree."""
        n_nodes = len(self.feature)
        shapes: dict[str, tuple[int | None, ...]] = {
            "roots": (None,),
            "feature": (n_nodes,),
            "threshold": (n_nodes,),
            "children": (n_nodes, 2),
            "value": (n_nodes,),
        }
        for name, shape in shapes.items():
            check_finite(f"the trees are malformed: {name}", getattr(self, name), shape)
        parent = np.flatnonzero(~self.is_leaf)
        children = self.children[parent]
        roots_and_children = np.sort(np.append(self.roots, children))
        indices = (self.roots, self.feature, self.children)
        is_index = all(index.dtype == np.intp and (index >= 0).all() for index in indices)
        has_one_parent = np.array_equal(roots_and_children, np.arange(n_nodes))
        if not (is_index and has_one_parent and (children > parent[:, None]).all()):
            raise ValueError(
                "the trees are malformed: every node must be a root or the child of one node, "
                "which comes before it"
            )

    @classmethod
    def join(cls, trees: Iterable[tuple[Any, Any, Any, Any, Any]]) -> Trees:
        """Return trees from (feature, threshold, left, right, value); leaves have no feature."""
        columns = list(zip(*trees, strict=True))
        sizes = [len(feature) for feature in columns[0]]
        roots = np.cumsum([0, *sizes[:-1]])
        feature, threshold, left, right, value = map(np.concatenate, columns)
        is_leaf = feature < 0
        children = np.stack([left, right], axis=1) + np.repeat(roots, sizes)[:, None]
        children = np.where(is_leaf[:, None], np.arange(len(feature))[:, None], children)
        return cls(
            roots.astype(np.intp),
            np.where(is_leaf, 0, feature).astype(np.intp),
            np.where(is_leaf, 0.0, threshold).astype(np.float64),
            children.astype(np.intp),
            value.astype(np.float64),
        )

    @classmethod
    def of(cls, trees: Iterable[Any]) -> Trees:
        """Return the trees from ``tree_`` of fitted trees of scikit-learn."""
        nodes = attrgetter("feature", "threshold", "children_left", "children_right")
        return cls.join((*nodes(tree), tree.value[:, 0, 0]) for tree in trees)

    def __len__(self) -> int:
        return len(self.roots)

    def check_columns(self, n_columns: int) -> None:
        """Raise ``ValueError`` if the trees of a file read more columns than rows have."""
        if self.feature.max() >= n_columns:
            raise ValueError("the trees read more columns than there are")

    @cached_property
    def is_leaf(self) -> BoolArray:
        """Which nodes are leaves."""
        return np.asarray((self.children == np.arange(len(self.children))[:, None]).all(axis=1))

    @cached_property
    def leaf_number(self) -> IndexArray:
        """The number of a leaf among the leaves of all trees, at its node."""
        return np.cumsum(self.is_leaf) - 1

    def leaves(self, x: NDArray[Any], trees: slice = slice(None)) -> IndexArray:
        """Return the leaf of each row of ``x`` in each of the trees, ``[n_trees, n_rows]``."""
        roots = self.roots[trees]
        leaves = np.empty((len(roots), len(x)), dtype=np.intp)
        for rows in chunks(len(x), len(roots), _CELLS):
            leaves[:, rows] = self._walk(roots, single_precision(x[rows]))
        return leaves

    def _walk(self, roots: IndexArray, x: Float32Array) -> IndexArray:
        cells = x.ravel()
        children = self.children.ravel()
        start = np.arange(len(x)) * x.shape[1]  # of each row among the cells
        node = np.repeat(roots[:, None], len(x), axis=1)
        while not self.is_leaf.take(node).all():
            is_right = cells.take(start + self.feature.take(node)) > self.threshold.take(node)
            node = children.take(2 * node + is_right)
        return node
