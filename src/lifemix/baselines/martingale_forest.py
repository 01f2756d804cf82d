"""A fast random forest for survival, on scikit-learn's regression trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from .._types import FloatArray, IndexArray, IntArray
from ..checks import Jobs, Number, Seed, Whole
from ..partial_likelihood import RiskSets
from ..registry import register_model
from ..target import Target
from .base import (
    DiscreteTimeModel,
    check_curves,
    check_steps,
    chunks,
    incidences_of_hazards,
    interval_ends,
)
from .trees import Trees, single_precision

__all__ = ["MartingaleForest", "leaf_hazards", "martingale_residuals", "observed_intervals"]

_RESIDUAL_TIMES = 8
_MAX_ROWS_OF_TREE = 10_000


@register_model
@dataclass(eq=False, repr=False)
class MartingaleForest(DiscreteTimeModel):
    """A forest whose trees are split by martingale residuals; it averages life tables of the leaves.

    The residual of a subject at a time is the number of its events until then, 0 or 1, minus the
    Nelson-Aalen cumulative hazard to which it was exposed. A regression tree of scikit-learn
    separates the means of the residuals at eight times (of each event type), which are scores of
    the log-rank test: similar splits to those of a random survival forest in a fraction of the
    time, and for several event types and late entry. Within an interval events are uniform in time;
    after the last event time the curves are constant.

    Parameters
    ----------
    n_trees : int, default 200
        Number of trees; each grows on as many rows as there are (at most 10,000), drawn with replacement.
    min_samples_leaf : int, optional
        Minimum number of rows per leaf; None for a twentieth of the number of events, from 5 to 15.
    max_features : float, default 1/3
        Share of the features that each split chooses from.
    n_intervals : int, default 100
        Number of intervals of the life tables, which end at quantiles of the event times.
    n_jobs : int, optional
        Threads that grow the trees, as in joblib; None for one.
    random_state : int, Generator or None, default 0
        Random seed.
    preprocessor : "auto", None or transformer, default "auto"
        ``"auto"`` imputes, encodes and scales ``X``; None takes it as it is.

    Attributes
    ----------
    grid_ : float array of shape (n_intervals,)
        The ends of the intervals.

    References
    ----------
    Ishwaran, Kogalur, Blackstone and Lauer (2008). Random survival forests. Annals of Applied Statistics 2, 841-860.
    https://doi.org/10.1214/08-AOAS169
    Therneau, Grambsch and Fleming (1990). Martingale-based residuals for survival models. Biometrika 77, 147-160.
    https://doi.org/10.1093/biomet/77.1.147

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.baselines import MartingaleForest
    >>> data = datasets.load_metabric()
    >>> model = MartingaleForest(n_trees=10).fit(data.X[:500], data.y[:500])
    >>> model.predict_survival_function(data.X[500:503], [60, 120]).shape
    (3, 2)
    """

    _takes_entry = True
    _takes_weights = True

    _rules = {
        "n_trees": Whole(1),
        "min_samples_leaf": Whole(1, optional=True),
        "max_features": Number(above=0.0, most=1.0),
        "n_intervals": Whole(1),
        "n_jobs": Jobs(),
        "random_state": Seed(),
    }

    _saved = ("_trees", "_curves")

    n_trees: int = 200
    min_samples_leaf: int | None = None
    max_features: float = 1 / 3
    n_intervals: int = 100
    n_jobs: int | None = None
    random_state: int | np.random.Generator | None = 0
    preprocessor: Any = "auto"

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        self.grid_ = interval_ends(target, self.n_intervals)
        residuals = martingale_residuals(target, weight, self.n_events_)
        rng = np.random.default_rng(self.random_state)
        n_rows = len(target)
        samples = []
        for _ in range(self.n_trees):
            drawn_rows = rng.integers(n_rows, size=min(n_rows, _MAX_ROWS_OF_TREE))
            count = np.bincount(drawn_rows, minlength=n_rows)
            rows = np.flatnonzero(count)
            samples.append((rows, count[rows] * weight[rows]))
        seeds = rng.integers(2**31, size=self.n_trees).tolist()
        n_events = int((target.event > 0).sum())
        regressor = DecisionTreeRegressor(
            min_samples_leaf=self.min_samples_leaf or int(np.clip(n_events // 20, 5, 15)),
            max_features=float(self.max_features),
        )
        inputs = single_precision(x)
        trees = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(clone(regressor).set_params(random_state=seed).fit)(
                inputs[rows], residuals[rows], sample_weight, check_input=False
            )
            for (rows, sample_weight), seed in zip(samples, seeds, strict=True)
        )
        self._trees = Trees.of(tree.tree_ for tree in trees)
        observed = observed_intervals(target, self.grid_)
        curves = []
        for tree, (rows, sample_weight) in enumerate(samples):
            nodes = self._trees.leaves(inputs[rows], slice(tree, tree + 1))[0]
            leaves, leaf = np.unique(nodes, return_inverse=True)
            shape = (len(leaves), self.n_events_, len(self.grid_))
            intervals = [column[rows] for column in observed]
            hazards = leaf_hazards(leaf, sample_weight, intervals, shape)
            no_event = np.maximum(1.0 - hazards.sum(axis=1), 0.0)
            curves.append(incidences_of_hazards(no_event, hazards).astype(np.float32))
        self._curves = np.concatenate(curves)  # [n_leaves, n_events, n_intervals]

    def _validate(self) -> None:
        super()._validate()
        self._trees.check_columns(self._n_inputs)
        n_leaves = int(self._trees.is_leaf.sum())
        check_steps("_curves", self._curves, (n_leaves, self.n_events_, len(self.grid_)))
        check_curves(self, self._n_inputs)

    def _incidences_at_ends(self, x: FloatArray) -> FloatArray:
        total = np.zeros((len(x), self.n_events_, len(self.grid_)))
        for rows in chunks(len(x), len(self._trees)):
            for leaves in self._trees.leaves(x[rows]):
                total[rows] += self._curves[self._trees.leaf_number[leaves]]
        return np.minimum(np.moveaxis(total, 1, 0) / len(self._trees), 1.0)


def martingale_residuals(target: Target, weight: FloatArray, n_events: int) -> FloatArray:
    """Return the martingale residuals of each event type at several times, one column each."""
    columns = []
    for event in range(1, n_events + 1):
        has_event = target.event == event
        times, index = np.unique(target.time[has_event], return_inverse=True)
        sets = RiskSets(times, target.time, target.entry)
        hazard = np.bincount(index, weight[has_event]) / sets.over_rows(weight)
        levels = np.linspace(0, 1, _RESIDUAL_TIMES + 1)[1:]
        for t in np.unique(np.quantile(target.time[has_event], levels, method="higher")):
            exposure = sets.over_times(np.where(times <= t, hazard, 0.0))
            columns.append((has_event & (target.time <= t)) - exposure)
    return np.column_stack(columns)


def observed_intervals(
    target: Target, ends: FloatArray
) -> tuple[IntArray, IndexArray, IndexArray, FloatArray, FloatArray]:
    """Return event, first and last interval of each row, and the unobserved share of these two.

    Unobserved is the part of the first interval before entry, and that of the last one after a
    censoring; an interval with the event counts as observed throughout. Rows observed beyond the
    last end have no event, and the number of intervals as their last.
    """
    starts = np.append(0.0, ends)
    widths = np.append(np.diff(ends, prepend=0.0), np.inf)
    first = np.searchsorted(ends, target.entry, side="right")
    last = np.searchsorted(ends, target.time, side="left")
    event = np.where(last < len(ends), target.event, 0)
    has_event = event > 0
    before_entry = (target.entry - starts[first]) / widths[first]
    before_entry[has_event & (first == last)] = 0.0
    after_time = 1.0 - (target.time - starts[last]) / widths[last]
    after_time[has_event] = 0.0
    return event, first, last, before_entry, after_time


def leaf_hazards(
    leaf: IndexArray,
    weight: FloatArray,
    intervals: Any,
    shape: tuple[int, int, int],
) -> FloatArray:
    """Return the hazards ``[n_leaves, n_events, n_intervals]``; 0 if nobody is at risk.

    intervals: of the rows, from ``observed_intervals``.
    """
    event, first, last, before_entry, after_time = intervals
    n_leaves, n_events, n_intervals = shape

    def sums(interval: IndexArray, values: FloatArray) -> FloatArray:
        width = n_intervals + 2
        cells = np.bincount(leaf * width + interval, values, n_leaves * width)
        return np.asarray(cells.reshape(n_leaves, width), dtype=np.float64)

    at_risk = np.cumsum(sums(first, weight) - sums(last + 1, weight), axis=1)
    at_risk -= sums(first, weight * before_entry) + sums(last, weight * after_time)
    hazards = np.empty(shape)
    for number in range(n_events):
        n_happened = sums(last, weight * (event == number + 1))
        hazard = np.divide(n_happened, at_risk, out=np.zeros_like(at_risk), where=n_happened > 0)
        hazards[:, number] = hazard[:, :n_intervals]
    return hazards
