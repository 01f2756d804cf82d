"""The random survival forest of scikit-survival, with leaf curves that take little memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._types import BoolArray, FloatArray, IndexArray
from ..checks import Jobs, Number, Rule, Seed, Whole
from ..errors import MissingExtraError
from ..registry import check_finite, register_model
from ..target import Target
from .base import Baseline, chunks, draw_seed
from .trees import Trees

__all__ = ["PAPER_TREES", "RandomSurvivalForest"]

PAPER_TREES = (10, 20, 50, 100)
"""The numbers of trees that the paper chooses from; its trees have depth 4."""


@register_model
@dataclass(eq=False, repr=False)
class RandomSurvivalForest(Baseline):
    """A forest of trees split by the log-rank test; it averages Kaplan-Meier curves of the leaves.

    scikit-survival (GPL-3, optional) grows the trees in its low-memory mode, in which it stores no
    curves. The curves of the leaves are computed here from the rows in them, and stored as steps:
    the same numbers, in megabytes instead of the gigabytes of one value per leaf and event time.
    ``predict`` is the forest's mortality: the sum of its cumulative hazard over the times that its
    splits distinguish.

    Parameters
    ----------
    n_trees : int, default 100
        Number of trees.
    max_depth : int or None, default None
        Maximum depth; None: no limit.
    min_samples_split : int, default 6
        Minimum number of rows in a node that is split.
    min_samples_leaf : int, default 3
        Minimum number of rows in a leaf.
    max_features : {"sqrt", "log2"}, int, float or None, default "sqrt"
        Number (or share) of features that each split chooses from.
    split_times : int or None, default None
        Number of times that the log-rank test of a split distinguishes, quantiles of the event
        times; None: all. The time to grow a tree is proportional to it; the curves of the leaves
        always have all event times.
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

    _rules = {
        "n_trees": Whole(1),
        "max_depth": Whole(1, optional=True),
        "min_samples_split": Whole(2),
        "min_samples_leaf": Whole(1),
        "max_features": Rule(
            "'sqrt', 'log2', None, a whole number or a share",
            lambda value: (
                value in ("sqrt", "log2", None)
                or Whole(1).accepts(value)
                or Number(above=0.0, most=1.0).accepts(value)
            ),
        ),
        "split_times": Whole(1, optional=True),
        "n_jobs": Jobs(),
        "random_state": Seed(),
    }

    _saved = ("_trees", "_steps", "_step_survival")

    n_trees: int = 100
    max_depth: int | None = None
    min_samples_split: int = 6
    min_samples_leaf: int = 3
    max_features: Any = "sqrt"
    split_times: int | None = None
    n_jobs: int | None = None
    random_state: int | np.random.Generator | None = 0
    preprocessor: Any = "auto"

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

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        try:
            from sksurv.ensemble import RandomSurvivalForest as Forest
            from sksurv.util import Surv
        except ImportError as error:
            name = type(self).__name__
            raise MissingExtraError("scikit-survival", "baselines", name) from error
        has_event = target.event > 0
        y = Surv.from_arrays(has_event, self._times_of_splits(target))
        forest = Forest(
            n_estimators=self.n_trees,
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            max_features=self.max_features,
            n_jobs=self.n_jobs,
            random_state=draw_seed(self.random_state),
            low_memory=True,
        ).fit(x, y)
        self._trees = Trees.of(estimator.tree_ for estimator in forest.estimators_)
        n_times = np.searchsorted(self.event_times_, target.time, side="right")
        curves = []
        for tree, rows in enumerate(forest.estimators_samples_):
            leaf = self._trees.leaves(x[rows], slice(tree, tree + 1))[0]
            n_steps = len(self.event_times_) + 1
            curves.append(_leaf_curves(leaf, n_times[rows], has_event[rows], n_steps))
        # The Kaplan-Meier curves of all leaves, sorted by leaf and time. A step has the number
        # ``leaf * (number of event times + 1) + number of event times so far``; each leaf has one
        # before the first event time.
        steps, survival = zip(*curves, strict=True)
        self._steps = np.concatenate(steps)
        self._step_survival = np.concatenate(survival)

    def _times_of_splits(self, target: Target) -> FloatArray:
        """Return the times for the splits: with ``split_times`` numbers of intervals, from 1 on."""
        if self.split_times is None or self.split_times >= len(self.event_times_):
            return target.time
        levels = np.linspace(0, 1, self.split_times + 1)[1:]
        ends = np.unique(np.quantile(target.time[target.event > 0], levels))
        return np.asarray(1.0 + np.searchsorted(ends, target.time), dtype=np.float64)

    def _validate(self) -> None:
        super()._validate()
        self._trees.check_columns(self._n_inputs)
        check_finite("_steps", self._steps, (None,))
        check_finite("_step_survival", self._step_survival, self._steps.shape)
        leaf_of_step = self._steps // (len(self.event_times_) + 1)
        if not np.array_equal(np.unique(leaf_of_step), np.flatnonzero(self._trees.is_leaf)):
            raise ValueError("every leaf must have a curve at the event times")
        if (np.diff(self._steps) < 1).any():
            raise ValueError("the steps of the leaf curves must ascend")
        rises = np.diff(self._step_survival)[np.diff(leaf_of_step) == 0] > 0
        if rises.any() or not ((self._step_survival >= 0) & (self._step_survival <= 1)).all():
            raise ValueError("the survival of a leaf must descend within [0, 1]")

    def _survival(self, x: FloatArray, times: FloatArray) -> FloatArray:
        n_times = np.searchsorted(self.event_times_, times, side="right")
        survival = np.zeros((len(x), len(times)))
        for rows in chunks(len(x), max(len(times), len(self._trees))):
            for leaf in self._trees.leaves(x[rows]):
                leaves, inverse = np.unique(leaf, return_inverse=True)
                wanted = leaves[:, None] * (len(self.event_times_) + 1) + n_times
                step = np.searchsorted(self._steps, wanted, side="right") - 1
                survival[rows] += self._step_survival[step][inverse]
        return np.minimum(survival / len(self._trees), 1.0)  # above 1 only by rounding

    def _risk(self, x: FloatArray) -> FloatArray:
        mortality = np.zeros(len(x))
        for rows in chunks(len(x), len(self._trees)):
            for leaf in self._trees.leaves(x[rows]):
                mortality[rows] += self._trees.value.take(leaf)
        return mortality / len(self._trees)


def _leaf_curves(
    leaf: IndexArray, n_times: IndexArray, has_event: BoolArray, n_steps: int
) -> tuple[IndexArray, FloatArray]:
    """Return the steps of the Kaplan-Meier curves of the leaves of a tree, and their survival."""
    leaves, index = np.unique(leaf, return_inverse=True)
    key = index * n_steps + n_times
    starts = np.arange(len(leaves)) * n_steps
    steps = np.union1d(starts, key[has_event])
    n_events = np.bincount(np.searchsorted(steps, key[has_event]), minlength=len(steps))
    rows_up_to_leaf = np.cumsum(np.bincount(index))
    at_risk = rows_up_to_leaf[steps // n_steps] - np.searchsorted(np.sort(key), steps)
    factors = np.split(1.0 - n_events / at_risk, np.searchsorted(steps, starts[1:]))
    survival = np.concatenate([np.cumprod(factor) for factor in factors])
    return leaves[steps // n_steps] * n_steps + steps % n_steps, survival
