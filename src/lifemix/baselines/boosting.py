"""Gradient boosting of discrete-time hazards, on scikit-learn's histogram trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from .._types import FloatArray, IndexArray, IntArray
from ..checks import Number, Rule, Seed, Whole
from ..registry import register_model
from ..splits import train_validation_split
from ..target import Target
from ._boosted import BoostedClassifier
from ._grid import check_grid, interval_ends
from ._steps import from_zero, net_incidence
from .base import Baseline, chunks

__all__ = ["GradientBoosting"]

_BINS = 255  # as many as scikit-learn's trees tell apart
_SMALLEST = 1e-12  # of a probability in the validation loss


@register_model
class GradientBoosting(Baseline):
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

    _several_events = True
    _saves_event_times = False
    _takes_entry = True
    _takes_weights = True

    _rules: ClassVar[Mapping[str, Rule]] = {
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

    def __init__(
        self,
        n_intervals: int = 16,
        learning_rate: float = 0.1,
        max_iter: int = 500,
        patience: int = 20,
        max_leaf_nodes: int = 16,
        min_samples_leaf: int = 50,
        l2: float = 1.0,
        max_features: float = 0.5,
        validation_fraction: float = 0.2,
        random_state: int | np.random.Generator | None = 0,
        preprocessor: Any = "auto",
    ) -> None:
        self.n_intervals = n_intervals
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.patience = patience
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2 = l2
        self.max_features = max_features
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.preprocessor = preprocessor

    def _validate(self) -> None:
        super()._validate()
        check_grid(self.grid_)
        if not isinstance(self._hazard, BoostedClassifier) or len(self._cuts) != self._n_inputs:
            raise ValueError("boosted trees and the edges of the bins of every column expected")
        for cuts in self._cuts:
            if not isinstance(cuts, np.ndarray) or cuts.ndim != 1 or not (np.diff(cuts) >= 0).all():
                raise ValueError("the edges of the bins must not descend")
        if (
            self._hazard.trees.n_features > self._n_inputs + 1
            or self._hazard.classes.max() > self.n_events_
        ):
            raise ValueError(
                "the trees read more columns, or predict more event types, than there are"
            )

    def _fit(self, x: FloatArray, target: Target, weight: FloatArray) -> None:
        self.grid_ = interval_ends(target, self.n_intervals, "quantiles")
        self._cuts = [_bin_edges(column) for column in x.T]
        x = self._binned(x)
        seed = int(np.random.default_rng(self.random_state).integers(2**31))
        training, validation = train_validation_split(
            target, fraction=self.validation_fraction, random_state=seed
        )
        self.n_iter_, self.history_ = self._search(
            self._person_periods(x, target, weight, training),
            self._person_periods(x, target, weight, validation),
            seed,
        )
        covariates, label, exposure = self._person_periods(
            x, target, weight, np.arange(len(target))
        )
        self._hazard = BoostedClassifier.of(
            self._booster(self.n_iter_, seed).fit(covariates, label, exposure)
        )

    def _binned(self, x: FloatArray) -> FloatArray:
        """Return the number of the bin of each value: binned once here, not for each interval and search step again."""
        columns = [
            np.searchsorted(cuts, column) for cuts, column in zip(self._cuts, x.T, strict=True)
        ]
        return np.column_stack(columns).astype(np.float64)

    def _booster(self, rounds: int, seed: int) -> Any:
        return HistGradientBoostingClassifier(
            learning_rate=self.learning_rate,
            max_iter=rounds,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            l2_regularization=self.l2,
            max_features=float(self.max_features),
            early_stopping=False,
            warm_start=True,
            random_state=seed,
        )

    def _search(self, training: Any, validation: Any, seed: int) -> tuple[int, list[float]]:
        """Return the best number of rounds, and the validation loss after every tenth."""
        booster = self._booster(1, seed)
        covariates, label, exposure = validation
        history: list[float] = []
        rounds = list(range(min(10, self.max_iter), self.max_iter + 1, 10))
        for count in rounds:
            booster.set_params(max_iter=count).fit(*training)
            hazard = BoostedClassifier.of(booster)
            probability = _in_columns(hazard, covariates, self.n_events_)[
                np.arange(len(label)), label
            ]
            history.append(
                -float(exposure @ np.log(np.maximum(probability, _SMALLEST)) / exposure.sum())
            )
            if count - rounds[int(np.argmin(history))] >= self.patience:
                break
        return rounds[int(np.argmin(history))], history

    def _person_periods(
        self, x: FloatArray, target: Target, weight: FloatArray, rows: IndexArray
    ) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return covariates, outcome (0 none, 1..M) and weight of each interval of each of the rows."""
        ends = self.grid_
        starts = np.concatenate([[0.0], ends[:-1]])
        entry, time, event = target.entry[rows], target.time[rows], target.event[rows]
        first = np.searchsorted(ends, entry, side="right")
        last = np.searchsorted(ends, time, side="left")
        count = np.maximum(np.minimum(last + 1, len(ends)) - first, 0)
        subject = np.repeat(np.arange(len(rows)), count)
        interval = (
            np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + first[subject]
        )
        happened = (interval == last[subject]) & (event[subject] > 0)
        observed = np.minimum(time[subject], ends[interval]) - np.maximum(
            entry[subject], starts[interval]
        )
        exposure = np.where(happened, 1.0, observed / (ends - starts)[interval])
        label = np.where(happened, event[subject], 0)
        return (
            np.column_stack([x[rows[subject]], interval]),
            label,
            exposure * weight[rows[subject]],
        )

    def _incidence(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        parts = []
        for hazard in self._hazards(x):
            free = np.cumprod(hazard[:, :, 0], axis=1)
            before = np.concatenate([np.ones((len(hazard), 1)), free[:, :-1]], axis=1)
            parts.append(
                from_zero(self.grid_, np.cumsum(before * hazard[:, :, event], axis=1), times)
            )
        return np.concatenate(parts)

    def _net_survival(self, x: FloatArray, times: FloatArray, event: int) -> FloatArray:
        parts = []
        for hazard in self._hazards(x):
            free = hazard[:, :, 0]
            parts.append(
                1.0
                - from_zero(self.grid_, net_incidence(free, hazard[:, :, event], 1.0 - free), times)
            )
        return np.concatenate(parts)

    def _hazards(self, x: FloatArray) -> Iterator[FloatArray]:
        """Yield for blocks of rows the probabilities of no event and of each type, (rows, intervals, n_events + 1)."""
        n_intervals = len(self.grid_)
        x = self._binned(x)
        for rows in chunks(len(x), n_intervals * max(x.shape[1] + 1, len(self._hazard.trees))):
            block = x[rows]
            covariates = np.column_stack(
                [np.repeat(block, n_intervals, axis=0), np.tile(np.arange(n_intervals), len(block))]
            )
            yield _in_columns(self._hazard, covariates, self.n_events_).reshape(
                len(block), n_intervals, -1
            )

    def _risk_times(self) -> FloatArray:
        return self.grid_  # between which the curves are linear


def _bin_edges(column: FloatArray) -> FloatArray:
    """Return the edges of at most 255 bins: between all values, or at quantiles where there are more."""
    values = np.unique(column)
    if len(values) > _BINS:
        values = np.unique(np.quantile(column, np.linspace(0, 1, _BINS)))
    return (values[1:] + values[:-1]) / 2


def _in_columns(hazard: BoostedClassifier, covariates: FloatArray, n_events: int) -> FloatArray:
    """Return the probabilities of the outcomes 0..M, also where some outcome was not among the rows."""
    probability = np.zeros((len(covariates), n_events + 1))
    probability[:, hazard.classes] = hazard.predict_proba(covariates)
    return probability
