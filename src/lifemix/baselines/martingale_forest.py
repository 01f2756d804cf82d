"""A fast random forest for survival, on scikit-learn's regression trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.tree import DecisionTreeRegressor

from .._types import Float32Array, FloatArray, IndexArray
from ..checks import Jobs, Number, Rule, Seed, Whole
from ..partial_likelihood import RiskSets
from ..registry import check_finite, register_model
from ..target import Target
from ._grid import check_grid, interval_ends
from ._life_tables import Periods, incidences_from_hazards
from ._steps import from_zero, net_incidence
from ._trees import Trees
from .base import Baseline, chunks

__all__ = ["MartingaleForest"]

_RESIDUAL_TIMES = 8  # at which the splits see residuals
_ROWS_OF_A_TREE = 10_000  # at most
_TINY = 1e-12
_ROUNDING = 1e-5  # of sums of incidences in single precision


@register_model
class MartingaleForest(Baseline):
    """A forest whose trees are split by martingale residuals; leaves hold life tables, whose mean is predicted.

    The residual of a subject at time c is 1 if the event has happened by then, else 0, minus the cumulative hazard that
    it was exposed to, by Nelson and Aalen. A tree of scikit-learn separates the means of the residuals at eight times
    (of each event type), which are scores of the log-rank test: much the same splits as those of a random survival
    forest, at a fraction of its time, for several event types and late entry too. Within an interval events are
    uniform in time; after the last event time the curves are constant.

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

    _several_events = True
    _saves_event_times = False
    _takes_entry = True
    _takes_weights = True

    _rules: ClassVar[Mapping[str, Rule]] = {
        "n_trees": Whole(1),
        "min_samples_leaf": Whole(1, optional=True),
        "max_features": Number(above=0.0, most=1.0),
        "n_intervals": Whole(1),
        "n_jobs": Jobs(),
        "random_state": Seed(),
    }

    _saved = ("_trees", "_curves")

    def __init__(
        self,
        n_trees: int = 200,
        min_samples_leaf: int | None = None,
        max_features: float = 1 / 3,
        n_intervals: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = 0,
        preprocessor: Any = "auto",
    ) -> None:
        self.n_trees = n_trees
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.n_intervals = n_intervals
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.preprocessor = preprocessor

    def _validate(self) -> None:
        super()._validate()
        check_grid(self.grid_)
        if not isinstance(self._trees, Trees) or self._trees.n_features > self._n_inputs:
            raise ValueError("trees of the columns expected")
        check_finite(
            "life tables",
            self._curves,
            (len(self._trees.leaf_nodes), self.n_events_, len(self.grid_)),
        )
        descends = (self._curves[..., 0] < 0).any() or (np.diff(self._curves, axis=2) < 0).any()
        if descends or self._curves[..., -1].sum(axis=1).max() > 1 + _ROUNDING:
            raise ValueError("incidences must not descend or add up to more than 1")

    # Fitting.

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        self.grid_ = interval_ends(target, self.n_intervals, "quantiles")
        single, scores = _single(x), _scores(target, weight, self.n_events_)
        generator = np.random.default_rng(self.random_state)
        leaf = self.min_samples_leaf or int(np.clip((target.event > 0).sum() // 20, 5, 15))
        drawn = [_draw(generator, weight) for _ in range(self.n_trees)]
        seeds = generator.integers(2**31, size=self.n_trees).tolist()
        trees = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_grow)(single, scores, rows, count, leaf, float(self.max_features), seed)
            for (rows, count), seed in zip(drawn, seeds, strict=True)
        )
        self._trees = Trees.join(trees)
        self._curves = self._life_tables(single, target, drawn)

    def _life_tables(self, x: Float32Array, target: Target, drawn: Any) -> Float32Array:
        periods = Periods.of(target, self.grid_)
        number = self._trees.leaves_before
        starts = np.append(
            number[self._trees.roots], len(self._trees.leaf_nodes)
        )  # the first leaf of each tree
        curves = np.empty((starts[-1], self.n_events_, len(self.grid_)), dtype=np.float32)
        for tree, (rows, count) in enumerate(drawn):
            leaf = number[self._trees.leaves_of(tree, x[rows])] - starts[tree]
            shape = (int(starts[tree + 1] - starts[tree]), self.n_events_, len(self.grid_))
            own = incidences_from_hazards(periods.hazards(leaf, count, rows, shape))
            curves[starts[tree] : starts[tree + 1]] = own
        return curves

    # Prediction.

    def _incidence(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        return self._incidences(x, times)[event - 1]

    def _incidences(self, x: FloatArray, times: FloatArray) -> FloatArray:
        return from_zero(self.grid_, self._at_ends(x), times)

    def _net_survival(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        gained = np.diff(self._at_ends(x), axis=2, prepend=0.0)
        some = gained.sum(axis=0)
        left = np.maximum(1.0 - np.cumsum(some, axis=1), _TINY)
        through = left / np.concatenate([np.ones((len(x), 1)), left[:, :-1]], axis=1)
        return 1.0 - from_zero(self.grid_, net_incidence(through, gained[event - 1], some), times)

    def _risk_times(self) -> FloatArray:
        return self.grid_  # between which the curves are linear

    def _at_ends(self, x: FloatArray) -> FloatArray:
        """Return the incidences at the ends of the intervals, (events, n, intervals): the mean over trees."""
        number = self._trees.leaves_before
        total = np.zeros((len(x), self.n_events_, len(self.grid_)))
        for rows in chunks(len(x), len(self._trees)):
            for leaves in self._trees.leaves(_single(x[rows])):
                total[rows] += self._curves[number[leaves]]
        return np.minimum(np.moveaxis(total, 1, 0) / len(self._trees), 1.0)


def _single(x: FloatArray) -> Float32Array:
    """Return the numbers as scikit-learn's trees read them."""
    largest = np.finfo(np.float32).max
    return np.ascontiguousarray(np.clip(x, -largest, largest), dtype=np.float32)


def _draw(generator: np.random.Generator, weight: FloatArray) -> tuple[IndexArray, FloatArray]:
    """Return rows drawn with replacement, each once, and how much each counts."""
    count = np.bincount(
        generator.integers(len(weight), size=min(len(weight), _ROWS_OF_A_TREE)),
        minlength=len(weight),
    )
    rows = np.flatnonzero(count)
    return rows, count[rows] * weight[rows]


def _grow(
    x: Float32Array,
    scores: FloatArray,
    rows: IndexArray,
    count: FloatArray,
    leaf: int,
    share: float,
    seed: int,
) -> tuple[Any, Any, Any, Any, Any]:
    """Return a tree as arrays."""
    grown = DecisionTreeRegressor(min_samples_leaf=leaf, max_features=share, random_state=seed)
    tree = grown.fit(x[rows], scores[rows], sample_weight=count, check_input=False).tree_
    value = np.zeros(tree.node_count)  # what a leaf predicts is its life table
    return tree.feature, tree.threshold, tree.children_left, tree.children_right, value


def _scores(target: Target, weight: FloatArray, n_events: int) -> FloatArray:
    """Return the martingale residuals of each event type at several times, one column each."""
    columns = []
    for event in range(1, n_events + 1):
        own = target.event == event
        at, place = np.unique(target.time[own], return_inverse=True)
        risk = RiskSets(at, target.time, target.entry)
        hazard = np.bincount(place, weight[own]) / risk.over_rows(weight)
        levels = np.linspace(0, 1, _RESIDUAL_TIMES + 1)[1:]
        for until in np.unique(np.quantile(target.time[own], levels, method="higher")):
            columns.append(
                (own & (target.time <= until)) - risk.over_times(np.where(at <= until, hazard, 0.0))
            )
    return np.column_stack(columns)
