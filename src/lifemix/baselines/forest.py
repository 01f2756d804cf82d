"""The random survival forest of scikit-survival, with leaf curves that take little memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from .._types import FloatArray, IndexArray
from ..checks import Check, Jobs, Rule, Seed, Whole
from ..errors import SettingError
from ..registry import register_model
from ..target import Target
from ._leaf_curves import LeafCurves
from ._optional import optional_module
from ._trees import Trees
from .base import Baseline, chunks

__all__ = ["PAPER_TREES", "RandomSurvivalForest"]

PAPER_TREES = (10, 20, 50, 100)
"""The numbers of trees that the paper chooses from; its trees have depth 4."""


def _check_share_or_count(name: str, least: int) -> Callable[[Any], None]:
    """Return a check of a number of rows, or a share of them."""

    def check(value: Any) -> None:
        if isinstance(value, float) and 0 < value < 1:
            return
        Whole(least)(name, value)

    return check


def _check_max_features(value: Any) -> None:
    if value in ("sqrt", "log2", None) or (isinstance(value, float) and 0 < value <= 1):
        return
    if isinstance(value, (bool, str)) or not isinstance(value, int) or value < 1:
        raise SettingError(
            f"max_features must be 'sqrt', 'log2', None, a whole number or a share; got {value!r}."
        )


@register_model
class RandomSurvivalForest(Baseline):
    """A forest of trees split by the log-rank test; survival is the mean of the Kaplan-Meier curves of the leaves.

    scikit-survival (GPL-3, optional) grows the trees in its low-memory mode, in which it keeps no curves. The curves
    of the leaves are computed here from the rows that fell into them and kept as their steps alone: the same numbers,
    in megabytes instead of the gigabytes of one value per leaf and event time. ``predict`` is the forest's mortality:
    the sum of its cumulative hazard over the times that its splits distinguish.

    Parameters
    ----------
    n_trees : int, default 100
        Number of trees.
    max_depth : int or None, default None
        Maximum depth; None: no limit.
    min_samples_split : int or float, default 6
        Minimum number (or share) of rows in a node that is split.
    min_samples_leaf : int or float, default 3
        Minimum number (or share) of rows in a leaf.
    max_features : {"sqrt", "log2"}, int, float or None, default "sqrt"
        Number (or share) of features that each split chooses from.
    split_times : int or None, default None
        Number of times that the log-rank test of a split distinguishes, quantiles of the event times; None: all. The
        time to grow a tree is proportional to it; the curves of the leaves have all event times in any case.
    n_jobs : int or None, default None
        Number of threads that grow the trees.
    random_state : int, Generator or None, default 0
        Random seed.
    preprocessor : "auto", None or transformer, default "auto"
        ``"auto"`` imputes, encodes and scales ``X``; None takes it as it is.

    References
    ----------
    Ishwaran, Kogalur, Blackstone and Lauer (2008). Random survival forests. Annals of Applied Statistics 2, 841-860.
    https://doi.org/10.1214/08-AOAS169

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.baselines import RandomSurvivalForest
    >>> data = datasets.load_metabric()
    >>> model = RandomSurvivalForest(n_trees=5, max_depth=3).fit(data.X[:500], data.y[:500])
    >>> model.predict_survival_function(data.X[500:503], [60, 120]).shape
    (3, 2)
    """

    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_trees": Whole(1),
        "max_depth": Whole(1, optional=True),
        "min_samples_split": Check(_check_share_or_count("min_samples_split", 2)),
        "min_samples_leaf": Check(_check_share_or_count("min_samples_leaf", 1)),
        "max_features": Check(_check_max_features),
        "split_times": Whole(1, optional=True),
        "n_jobs": Jobs(),
        "random_state": Seed(),
    }

    _saved = ("_trees", "_curves")

    def __init__(
        self,
        n_trees: int = 100,
        max_depth: int | None = None,
        min_samples_split: int = 6,
        min_samples_leaf: int = 3,
        max_features: Any = "sqrt",
        split_times: int | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = 0,
        preprocessor: Any = "auto",
    ) -> None:
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.split_times = split_times
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.preprocessor = preprocessor

    @classmethod
    def paper(cls, n_trees: int = 100, **settings: Any) -> Self:
        """Return the paper's forest: depth 4.

        Parameters
        ----------
        n_trees : int, default 100
            Number of trees; the paper chooses from 10, 20, 50 and 100 (``PAPER_TREES``).
        **settings : object
            Other options of the class.

        Returns
        -------
        RandomSurvivalForest
            Not fitted.
        """
        return cls(n_trees=n_trees, max_depth=4, **settings)

    def _validate(self) -> None:
        super()._validate()
        if not isinstance(self._trees, Trees) or not isinstance(self._curves, LeafCurves):
            raise ValueError("trees and the curves of their leaves expected")
        if self._curves.width != len(self.event_times_) + 1 or not self._curves.cover(
            self._trees.leaf_nodes
        ):
            raise ValueError("every leaf must have a curve at the event times")
        if self._trees.n_features > self._n_inputs:
            raise ValueError("the trees read more columns than there are")

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        ensemble = optional_module("sksurv.ensemble", "scikit-survival", "RandomSurvivalForest")
        times = self._times_of_splits(target)
        y = np.array(
            list(zip(target.event > 0, times, strict=True)), dtype=[("event", "?"), ("time", "f8")]
        )
        forest = ensemble.RandomSurvivalForest(
            n_estimators=self.n_trees,
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            n_jobs=self.n_jobs,
            random_state=int(np.random.default_rng(self.random_state).integers(2**31)),
            low_memory=True,
        ).fit(x, y)
        self._trees = _trees_of(forest)
        place = np.searchsorted(self.event_times_, target.time, side="right")
        width = len(self.event_times_) + 1
        self._curves = LeafCurves.of(
            self._leaves(x), forest.estimators_samples_, place, target.event > 0, width
        )

    def _times_of_splits(self, target: Target) -> FloatArray:
        """Return the times that the splits see: where they are coarse, the number of the interval, from 1 on."""
        if self.split_times is None or self.split_times >= len(self.event_times_):
            return target.time
        ends = np.quantile(
            target.time[target.event > 0], np.linspace(0, 1, self.split_times + 1)[1:]
        )
        return np.asarray(1.0 + np.searchsorted(np.unique(ends), target.time), dtype=np.float64)

    def _survival(self, x: FloatArray, times: FloatArray) -> FloatArray:
        place = np.searchsorted(self.event_times_, times, side="right")
        survival = np.zeros((len(x), len(times)))
        for rows in chunks(len(x), max(len(times), len(self._trees))):
            for leaf in self._leaves(x[rows]):
                survival[rows] += self._curves.at(leaf, place)
        return np.minimum(survival / len(self._trees), 1.0)  # above 1 only by rounding

    def _risk(self, x: FloatArray) -> FloatArray:
        mortality = np.zeros(len(x))
        for rows in chunks(len(x), len(self._trees)):
            for leaf in self._leaves(x[rows]):
                mortality[rows] += self._trees.value.take(leaf)
        return mortality / len(self._trees)

    def _leaves(self, x: FloatArray) -> IndexArray:
        """Return the leaf of each row in each tree, (n_trees, n); scikit-learn's trees read single precision."""
        with np.errstate(over="ignore"):  # infinity is above every threshold, as it should
            return self._trees.leaves(x.astype(np.float32))


def _trees_of(forest: Any) -> Trees:
    """Take over the trees of a fitted forest of scikit-survival."""
    trees = [estimator.tree_ for estimator in forest.estimators_]
    return Trees.join(
        (tree.feature, tree.threshold, tree.children_left, tree.children_right, tree.value[:, 0, 0])
        for tree in trees
    )
