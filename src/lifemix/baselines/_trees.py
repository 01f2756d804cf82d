"""Decision trees as flat arrays, and the walk of rows through them: the leaves that scikit-learn's own trees give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._types import BoolArray, FloatArray, IndexArray
from ..registry import register_model

__all__ = ["Trees"]


_AT_ONCE = (
    1 << 16
)  # rows times trees that walk together: their state stays in the processor's cache
_STEPS = 4  # splits passed before rows that have arrived at a leaf are put aside


@register_model
@dataclass(frozen=True, eq=False)
class Trees:
    """Binary trees, one entry per node, the nodes of a tree side by side and each tree's root first.

    A row goes to ``children[node, 1]`` where ``x[feature] > threshold``, else to ``children[node, 0]``; both children
    of a leaf are the leaf itself. ``value`` is what a leaf predicts.
    """

    roots: IndexArray  # (n_trees,)
    feature: IndexArray  # (n_nodes,)
    threshold: FloatArray  # (n_nodes,)
    children: IndexArray  # (n_nodes, 2)
    value: FloatArray  # (n_nodes,)

    def __post_init__(self) -> None:
        problem = _problem(self)
        if problem:
            raise ValueError(f"the trees are malformed: {problem}")

    @classmethod
    def join(cls, trees: Iterable[tuple[Any, Any, Any, Any, Any]]) -> Trees:
        """Return trees given as (feature, threshold, left, right, value), each numbered from 0; no feature: a leaf."""
        parts = list(trees)
        roots = np.cumsum([0] + [len(part[0]) for part in parts])
        feature, threshold, left, right, value = (
            np.concatenate(arrays) for arrays in zip(*parts, strict=True)
        )
        leaf = feature < 0
        offset = np.repeat(roots[:-1], np.diff(roots))
        children = np.stack([left, right], axis=1).astype(np.intp) + offset[:, None]
        children[leaf] = np.flatnonzero(leaf)[:, None]
        return cls(
            roots[:-1].astype(np.intp),
            np.where(leaf, 0, feature).astype(np.intp),
            np.where(leaf, 0.0, threshold).astype(np.float64),
            children,
            np.asarray(value, dtype=np.float64),
        )

    def __len__(self) -> int:
        return len(self.roots)

    @property
    def n_features(self) -> int:
        """The least number of columns that rows must have."""
        return int(self.feature.max(initial=-1)) + 1

    @cached_property
    def is_leaf(self) -> BoolArray:
        """Which nodes are leaves."""
        return np.asarray(self.children[:, 0] == np.arange(len(self.children)))

    @cached_property
    def leaves_before(self) -> IndexArray:
        """How many leaves come before each node: of a leaf, its number among the leaves."""
        return np.asarray(np.cumsum(self.is_leaf) - self.is_leaf, dtype=np.intp)

    @property
    def leaf_nodes(self) -> IndexArray:
        """The nodes that are leaves, ascending."""
        return np.flatnonzero(self.is_leaf)

    def leaves(self, x: NDArray[Any]) -> IndexArray:
        """Return the leaf that each row of ``x`` (n, features) reaches in each tree, of shape (n_trees, n)."""
        result = np.empty((len(self), len(x)), dtype=np.intp)
        for trees, rows in _blocks(len(self), len(x)):
            result[trees, rows] = self._walk(self.roots[trees], x[rows])
        return result

    def leaves_of(self, tree: int, x: NDArray[Any]) -> IndexArray:
        """Return the leaf that each row of ``x`` reaches in one tree, of shape (n,)."""
        return self._walk(self.roots[tree : tree + 1], x)[0]

    def _walk(self, roots: IndexArray, x: NDArray[Any]) -> IndexArray:
        cells, children = np.ascontiguousarray(x).reshape(-1), self.children.reshape(-1)
        node = np.repeat(roots, len(x))
        start = np.tile(np.arange(len(x)) * x.shape[1], len(roots))  # of each row among the cells
        reached, walking = node.copy(), np.arange(len(node))
        while len(walking):
            for _ in range(_STEPS):
                right = cells.take(start + self.feature.take(node)) > self.threshold.take(node)
                node = children.take(2 * node + right)
            reached[walking] = node
            going = np.flatnonzero(~self.is_leaf.take(node))
            node, start, walking = node[going], start[going], walking[going]
        return reached.reshape(len(roots), len(x))


def _blocks(n_trees: int, n_rows: int) -> Iterator[tuple[slice, slice]]:
    """Yield blocks of trees and rows: of many rows as many as fit in one tree, of few rows several trees at once."""
    rows = min(n_rows, _AT_ONCE)
    trees = _AT_ONCE // max(rows, 1)
    for row in range(0, n_rows, rows or 1):
        for tree in range(0, n_trees, trees):
            yield slice(tree, tree + trees), slice(row, row + rows)


def _problem(trees: Trees) -> str | None:
    """Return what is wrong with trees, if anything: a walk must stay within its tree and come to an end."""
    arrays = (trees.roots, trees.feature, trees.threshold, trees.children, trees.value)
    kinds = [array.dtype.kind if isinstance(array, np.ndarray) else "" for array in arrays]
    if kinds != ["i", "i", "f", "i", "f"] or trees.roots.ndim != 1 or trees.feature.ndim != 1:
        return "nodes must be arrays of numbers"
    n = len(trees.feature)
    if not len(trees.roots) or trees.roots[0] != 0 or (np.diff(trees.roots, append=n) < 1).any():
        return "every tree needs a root of its own, the first one at node 0"
    for name, shape in {"threshold": (n,), "children": (n, 2), "value": (n,)}.items():
        if getattr(trees, name).shape != shape:
            return f"{name} has shape {getattr(trees, name).shape}, not {shape}"
    if (
        not (np.isfinite(trees.threshold).all() and np.isfinite(trees.value).all())
        or (trees.feature < 0).any()
    ):
        return "thresholds and values must be finite and features at least 0"
    node = np.arange(n)
    leaf = (trees.children == node[:, None]).all(axis=1)
    tree = np.searchsorted(trees.roots, node, side="right")
    end = np.append(trees.roots[1:], n)[tree - 1]
    below = trees.children[~leaf]
    if not ((below > node[~leaf, None]) & (below < end[~leaf, None])).all():
        return "children must come after their parent, in the same tree"
    if not np.array_equal(np.sort(below, axis=None), np.setdiff1d(node, trees.roots)):
        return "every node but a root must be the child of one node"
    return None
