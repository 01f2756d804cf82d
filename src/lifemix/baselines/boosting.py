"""Gradient boosting of discrete-time hazards, on scikit-learn's histogram trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.extmath import softmax

from .._types import FloatArray, IntArray
from ..checks import Number, Seed, Whole
from ..registry import check_finite, register_model
from ..splits import train_validation_split
from ..target import Target
from .base import (
    DiscreteTimeModel,
    check_curves,
    chunks,
    draw_seed,
    incidences_of_hazards,
    interval_ends,
)
from .trees import Trees

__all__ = ["BoostedClassifier", "GradientBoosting"]

_BINS = 255  # the limit of scikit-learn's trees
_TINY = 1e-12  # of a probability in the validation loss


@register_model
@dataclass(frozen=True, eq=False)
class BoostedClassifier:
    """The trees of a fitted ``HistGradientBoostingClassifier`` of classes 0, 1, ....

    Each round has one tree per score. With two classes the score is the log-odds of the second; one
    class alone, which scikit-learn does not support, has probability 1.
    """

    classes: IntArray  # [n_classes]
    baseline: FloatArray  # [n_scores]
    trees: Trees

    def __post_init__(self) -> None:
        check_finite("classes", self.classes, (None,))
        n_scores = 1 if len(self.classes) == 2 else len(self.classes)
        check_finite("baseline", self.baseline, (n_scores,))
        if len(self.trees) % n_scores or self.classes.min() < 0:
            raise ValueError(f"{len(self.trees)} trees for the classes {self.classes}")

    @classmethod
    def of(cls, booster: Any) -> BoostedClassifier:
        """Return the trees of a fitted ``HistGradientBoostingClassifier``."""
        nodes = [tree.nodes for trees in booster._predictors for tree in trees]
        trees = Trees.join(
            (
                np.where(node["is_leaf"], -1, node["feature_idx"]),
                node["num_threshold"],
                node["left"],
                node["right"],
                node["value"],
            )
            for node in nodes
        )
        classes = np.asarray(booster.classes_, dtype=np.int64)
        baseline = np.asarray(booster._baseline_prediction, dtype=np.float64)
        return cls(classes, baseline.ravel(), trees)

    def predict_proba(self, x: FloatArray, n_classes: int) -> FloatArray:
        """Return the probabilities ``[n_rows, n_classes]``, identical to those of scikit-learn."""
        scores = np.zeros((len(self.baseline), len(x))) + self.baseline[:, None]
        for tree, leaves in enumerate(self.trees.leaves(x)):  # sums in scikit-learn's order
            scores[tree % len(scores)] += self.trees.value.take(leaves)
        probabilities = np.zeros((len(x), n_classes))
        if len(self.classes) == 2:
            second = expit(scores[0])
            probabilities[:, self.classes] = np.stack([1 - second, second], axis=1)
        else:
            probabilities[:, self.classes] = softmax(scores.T, copy=False)
        return probabilities


@register_model
@dataclass(eq=False, repr=False)
class GradientBoosting(DiscreteTimeModel):
    """Boosted trees for the discrete-time hazard ``P(event m in interval j | no event before, x, j)``.

    A subject becomes one row for each interval in which it was at risk, with the number of the interval as a further
    covariate, so that hazards need not be proportional; a row without event is weighted by the share of the interval
    that was observed. The number of trees is chosen on a validation part of the subjects; the model is then fitted to
    all. Within an interval events are uniform in time; after the last event time the curves are constant.

    Parameters
    ----------
    n_intervals : int, default 16
        Number of intervals, which end at quantiles of the event times.
    learning_rate : float, default 0.1
        Shrinkage of each tree.
    max_iter : int, default 500
        Maximum number of boosting rounds.
    patience : int, default 20
        The search ends after this many rounds without a better validation loss, evaluated every tenth round.
    max_leaf_nodes : int, default 16
        Maximum number of leaves per tree.
    min_samples_leaf : int, default 50
        Minimum number of rows per leaf.
    l2 : float, default 1.0
        L2 penalty of the leaf values.
    max_features : float, default 0.5
        Share of the features that each split chooses from.
    validation_fraction : float, default 0.2
        Share of the subjects in the validation part.
    random_state : int, Generator or None, default 0
        Random seed.
    preprocessor : "auto", None or transformer, default "auto"
        ``"auto"`` imputes, encodes and scales ``X``; None takes it as it is.

    Attributes
    ----------
    grid_ : float array of shape (n_intervals,)
        The ends of the intervals.
    n_iter_ : int
        The number of rounds chosen.
    history_ : list of float
        Validation loss after every tenth round.

    References
    ----------
    Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of Statistics 29, 1189-1232.
    https://doi.org/10.1214/aos/1013203451

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.baselines import GradientBoosting
    >>> data = datasets.load_metabric()
    >>> model = GradientBoosting(n_intervals=4, max_iter=20).fit(data.X[:500], data.y[:500])
    >>> model.predict_survival_function(data.X[500:503], [60, 120]).shape
    (3, 2)
    """

    _takes_entry = True
    _takes_weights = True

    _rules = {
        "n_intervals": Whole(1),
        "learning_rate": Number(above=0.0),
        "max_iter": Whole(1),
        "patience": Whole(1),
        "max_leaf_nodes": Whole(2),
        "min_samples_leaf": Whole(1),
        "l2": Number(0.0),
        "max_features": Number(above=0.0, most=1.0),
        "validation_fraction": Number(above=0.0, most=0.9),
        "random_state": Seed(),
    }

    _saved = ("_cuts", "_hazard")

    n_intervals: int = 16
    learning_rate: float = 0.1
    max_iter: int = 500
    patience: int = 20
    max_leaf_nodes: int = 16
    min_samples_leaf: int = 50
    l2: float = 1.0
    max_features: float = 0.5
    validation_fraction: float = 0.2
    random_state: int | np.random.Generator | None = 0
    preprocessor: Any = "auto"

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        self.grid_ = interval_ends(target, self.n_intervals)
        self._cuts = [_cuts(column) for column in x.T]
        x = self._bins(x)
        seed = draw_seed(self.random_state)
        training, validation = (
            _person_periods(x[rows], target.take(rows), weight[rows], self.grid_)
            for rows in train_validation_split(
                target, fraction=self.validation_fraction, random_state=seed
            )
        )
        booster = HistGradientBoostingClassifier(
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            l2_regularization=self.l2,
            max_features=float(self.max_features),
            early_stopping=False,
            warm_start=True,
            random_state=seed,
        )
        covariates, label, exposure = validation
        self.history_ = []
        counts = range(min(10, self.max_iter), self.max_iter + 1, 10)
        for n_rounds in counts:
            booster.set_params(max_iter=n_rounds).fit(*training)
            hazard = BoostedClassifier.of(booster).predict_proba(covariates, self.n_events_ + 1)
            log_likelihood = np.log(np.maximum(hazard[np.arange(len(label)), label], _TINY))
            self.history_.append(-float(exposure @ log_likelihood / exposure.sum()))
            self.n_iter_ = counts[int(np.argmin(self.history_))]
            if n_rounds - self.n_iter_ >= self.patience:
                break
        booster = clone(booster).set_params(max_iter=self.n_iter_)
        booster.fit(*_person_periods(x, target, weight, self.grid_))
        self._hazard = BoostedClassifier.of(booster)

    def _bins(self, x: FloatArray) -> FloatArray:
        """Return the bin of each value, so that no step of the search bins the rows again."""
        columns = zip(self._cuts, x.T, strict=True)
        bins = [np.searchsorted(cuts, column) for cuts, column in columns]
        return np.column_stack(bins).astype(np.float64)

    def _validate(self) -> None:
        super()._validate()
        if len(self._cuts) != self._n_inputs:
            raise ValueError("the edges of the bins of every column expected")
        for cuts in self._cuts:
            check_finite("the edges of the bins", cuts, (None,))
        self._hazard.trees.check_columns(self._n_inputs + 1)
        check_curves(self, self._n_inputs)

    def _incidences_at_ends(self, x: FloatArray) -> FloatArray:
        n_intervals = len(self.grid_)
        n_classes = self.n_events_ + 1
        bins = self._bins(x)
        blocks = []
        for rows in chunks(len(x), n_intervals * max(bins.shape[1] + 1, len(self._hazard.trees))):
            covariates = np.column_stack(
                [
                    np.repeat(bins[rows], n_intervals, axis=0),
                    np.tile(np.arange(n_intervals), len(bins[rows])),
                ]
            )
            probabilities = self._hazard.predict_proba(covariates, n_classes)
            hazards = probabilities.reshape(-1, n_intervals, n_classes).swapaxes(1, 2)
            blocks.append(incidences_of_hazards(hazards[:, 0], hazards[:, 1:]))
        return np.concatenate(blocks).swapaxes(0, 1)


def _cuts(column: FloatArray) -> FloatArray:
    """Return the edges of at most 255 bins: between all values, or between quantiles."""
    values = np.unique(column)
    if len(values) > _BINS:
        values = np.unique(np.quantile(column, np.linspace(0, 1, _BINS)))
    return (values[1:] + values[:-1]) / 2


def _person_periods(
    x: FloatArray, target: Target, weight: FloatArray, ends: FloatArray
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Return covariates, outcome (0 none, 1..M) and weight of each interval of each row."""
    starts = np.concatenate([[0.0], ends[:-1]])
    first = np.searchsorted(ends, target.entry, side="right")
    last = np.searchsorted(ends, target.time, side="left")
    count = np.maximum(np.minimum(last + 1, len(ends)) - first, 0)
    row = np.repeat(np.arange(len(target)), count)
    interval = np.arange(len(row)) - np.repeat(np.cumsum(count) - count - first, count)
    has_event = (interval == last[row]) & (target.event[row] > 0)
    until = np.minimum(target.time[row], ends[interval])
    observed = until - np.maximum(target.entry[row], starts[interval])
    exposure = np.where(has_event, 1.0, observed / (ends - starts)[interval])
    label = np.where(has_event, target.event[row], 0)
    return np.column_stack([x[row], interval]), label, exposure * weight[row]
