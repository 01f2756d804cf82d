"""``LifeMix``: a weighted average of networks, Cox regression, boosted trees and a forest.

The censoring-weighted Brier score of ``sum_j w_j F_j`` is a quadratic function of the weights.
Integrated over time and summed over event types, it is minimised over weights that are non-negative
and add up to 1. A penalty towards equal weights fades as the number of events grows, because a few
events do not show which model is better.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain, compress
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls
from sklearn.base import clone

from .._types import BoolArray, FloatArray
from ..baselines import CauseSpecific, CoxPH, GradientBoosting, MartingaleForest
from ..baselines.base import chunks, draw_seed
from ..baselines.combined import WrappingModel
from ..checks import Check, Jobs, Rule, Seed, Whole, take_rows, warn_user
from ..distribution import AverageDistribution, GridDistribution, SurvivalDistribution
from ..errors import CovariateError, InputError, LifemixWarning, SettingError
from ..metrics.censoring import horizon_weights
from ..preprocessing import TableLike, TabularPreprocessor, shape_of
from ..progress import progress_bar, report_progress
from ..registry import check_finite, register_model
from ..splits import EventStratifiedKFold
from ..streaming import TableSource
from ..target import Target, TargetLike
from .cross_fit import cross_fit, with_seed
from .dsm import DeepSurvivalMachines

__all__ = ["LifeMix", "best_weights", "default_parts", "simplex_minimum"]

_N_TIMES = 30  # at which cross-fitted curves are compared
_MAX_STEP_TIMES = 128
_PRIOR_EVENTS = 100.0
_MIN_WEIGHT = 0.05
_MIN_ROWS_FOR_3_FOLDS = 4000
_MAX_ROWS_FOR_SMALL_TREES = 2000
_N_RISK_TIMES = 19
_MIN_PROBABILITY = 1e-12


def default_parts(n_events: int, n_rows: int) -> dict[str, Any]:
    """Return the parts by name.

    Networks get numbers as they are, in a second part piecewise linearly encoded, and have no
    hidden layer in a third. Cox regression chooses its ridge penalty. Boosted trees (smaller, with
    smaller steps, for few rows) and the forest find steps and interactions.
    """
    trees = GradientBoosting()
    if n_rows <= _MAX_ROWS_FOR_SMALL_TREES:
        trees.set_params(learning_rate=0.05, max_leaf_nodes=8)
    cox = CoxPH(penalty="auto")
    return {
        "networks": DeepSurvivalMachines(),
        "networks on encoded numbers": DeepSurvivalMachines(
            "lognormal", preprocessor=TabularPreprocessor(numbers="piecewise", bins=8)
        ),
        "networks without hidden layer": DeepSurvivalMachines(hidden=()),
        "Cox": CauseSpecific(cox) if n_events > 1 else cox,
        "boosted trees": trees,
        "forest": MartingaleForest(),
    }


def _check_parts(parts: Any) -> None:
    if parts is None:
        return
    is_mapping = isinstance(parts, Mapping) and len(parts) > 0
    if not is_mapping or not all(isinstance(name, str) for name in parts):
        raise SettingError(
            f"parts must be None or a dictionary from names to models; got {parts!r:.200}."
        )
    for name, part in parts.items():
        if isinstance(part, type) or not hasattr(part, "predict_cumulative_incidences"):
            raise SettingError(
                f"parts must be models of lifemix that are not fitted; got {part!r:.80} as "
                f"{name!r}."
            )


@register_model
@dataclass(eq=False, repr=False)
class LifeMix(WrappingModel):
    """A weighted average of different models: the default if you do not know which model to use.

    Deep Survival Machines (networks, with numbers as they are and piecewise encoded, and linear
    ones), Cox regression with a ridge penalty, boosted trees and a forest are cross-fitted. Their
    weights minimise the censoring-weighted Brier score over time of the curves for held-out rows,
    with a prior towards equal weights for few events. Parts with positive weight are fitted again
    to all rows; of boosted trees the models of all folds are averaged.

    Parameters
    ----------
    parts : mapping of str to estimator, optional
        Models of lifemix by name; None for those above (with competing risks the cause-specific Cox
        models).
    n_folds : int, optional
        Number of folds; None for 5, and for 3 if there are at least 4,000 rows.
    random_state : int, Generator or None, default 0
        Random seed.
    n_jobs : int, optional
        Processes that fit the parts, as in joblib; None for one.
    verbose : bool, default False
        Whether to show a progress bar.

    Attributes
    ----------
    part_names_ : array of str
        The parts with positive weight.
    shares_ : float array of shape (n_parts,)
        Their weights; the sum is 1.
    dropped_ : array of str
        Parts that were fitted and dropped (weight below 0.05).
    models_ : list of estimators
        The fitted models of all parts.
    n_folds_ : int
        The number of folds that was used.

    Notes
    -----
    Step curves (Cox, trees) are made continuous: between neighbouring training event times (at most
    128 of them, evenly spread) the probability of an event is spread uniformly. Beyond the last one
    they continue as the curves of the networks do, given survival to that time; without networks,
    with the mean hazard up to that time. With late entry or intervals all weights are equal, and
    parts that cannot use such rows are dropped with a warning.

    Examples
    --------
    >>> from lifemix import LifeMix, datasets
    >>> data = datasets.load_metabric()
    >>> model = LifeMix().fit(data.X[:300], data.y[:300])
    >>> model.predict_survival_function(data.X[300:302], [50, 100, 150]).shape
    (2, 3)
    >>> float(round(sum(model.weights_.values()), 6))
    1.0
    """

    _takes_intervals = True
    _takes_paths = False  # the weights are computed row by row
    _rules: ClassVar[Mapping[str, Rule]] = {
        "parts": Check(_check_parts),
        "n_folds": Whole(2, optional=True),
        "random_state": Seed(),
        "n_jobs": Jobs(),
    }

    parts: Mapping[str, Any] | None = None
    n_folds: int | None = None
    random_state: int | np.random.Generator | None = 0
    n_jobs: int | None = None
    verbose: bool = False

    def fit(
        self,
        X: TableLike,
        y: TargetLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        validation_data: None = None,
    ) -> Self:
        """Fit the parts and their weights.

        Parameters
        ----------
        X : table of n rows
            Numbers, categories, missing values.
        y : target of n rows
            See ``lifemix.make_target``.
        sample_weight : array-like of shape (n,), optional
            Case weights; a row of weight 0 is left out.
        groups : array-like of shape (n,), optional
            The subject of each row, unless the target has it.
        validation_data : None
            Not supported: every row is held out once to weight the parts.

        Returns
        -------
        self
            The fitted model.

        """
        if isinstance(X, TableSource):
            raise CovariateError(
                "LifeMix needs a table in memory; got a TableSource. Use DeepSurvivalMachines, or "
                "read a sample of the rows with pandas."
            )
        if validation_data is not None:
            raise SettingError(
                "LifeMix takes no validation_data, because it holds out every row once to weight its "
                "parts; got some. Leave it out, or use DeepSurvivalMachines."
            )
        return super().fit(X, y, sample_weight, groups)  # type: ignore[arg-type]  # refuses None

    @property
    def weights_(self) -> dict[str, float]:
        """The weight of each part, by name."""
        return dict(zip(self.part_names_.tolist(), self.shares_.tolist(), strict=True))

    def _fit(self, x: Any, target: Target, weight: FloatArray) -> None:
        with progress_bar() if self.verbose else nullcontext():
            self._fit_parts(x, target, weight)

    def _fit_parts(self, x: Any, target: Target, weight: FloatArray) -> None:
        seed = draw_seed(self.random_state)
        rows = np.flatnonzero((weight > 0) & target.informative)
        x, target, weight = take_rows(x, rows), target.take(rows), weight[rows]
        y = target.to_array()
        sample_weight = None if (weight == 1).all() else weight
        parts = self.parts or default_parts(self.n_events_, len(target))
        event_times = np.fmax(target.time, target.upper)[target.event > 0]
        first, last = np.quantile(event_times, [0.05, 0.9])
        times = np.unique(np.linspace(first, last, _N_TIMES))
        self.n_folds_ = self._n_folds(target)
        splitter = EventStratifiedKFold(self.n_folds_, random_state=seed)
        folds = list(splitter.split(x, y))
        fits, errors = cross_fit(parts, x, y, sample_weight, folds, times, seed, self.n_jobs)
        for name, error in errors.items():
            if isinstance(error, CovariateError):  # of the table, not of the model
                raise error
            if not fits:
                raise InputError(f"no part of LifeMix could be fitted; {name}: {error}") from error
            warn_user(f"LifeMix continues without {name}, which could not be fitted: {error}")
        shares = _shares({name: fit.curves for name, fit in fits.items()}, target, times, weight)
        names = [name for name, share in shares.items() if share > 0]
        self.part_names_ = np.array(names, dtype=object)
        self.shares_ = np.array([shares[name] for name in names])
        self.dropped_ = np.array([name for name in fits if name not in names], dtype=object)
        models_of_parts = []
        for number, name in enumerate(names):
            report_progress("fitting the chosen parts to all rows", number, len(names))
            if _is_boosting(parts[name]):  # the mean of several sets of trees is better
                models_of_parts.append(fits[name].models)
            else:
                model = with_seed(clone(parts[name]), seed)
                options = {} if sample_weight is None else {"sample_weight": sample_weight}
                models_of_parts.append([model.fit(x, y, **options)])
        report_progress("fitting the chosen parts to all rows", len(names), len(names))
        self.models_ = list(chain.from_iterable(models_of_parts))
        self.part_of_ = np.repeat(
            np.arange(len(names)), [len(models) for models in models_of_parts]
        )
        self.steps_ = self.event_times_
        if len(self.steps_) > _MAX_STEP_TIMES:
            levels = np.linspace(0, 1, _MAX_STEP_TIMES)
            self.steps_ = np.unique(np.quantile(self.steps_, levels, method="nearest"))

    def _n_folds(self, target: Target) -> int:
        n_rarest = int(np.bincount(target.event, minlength=2)[1:].min())
        if n_rarest < 2:
            raise InputError(
                f"LifeMix needs at least 2 events of each type to weight its parts; got {n_rarest}. "
                "Use CoxPH or DeepSurvivalMachines, or fit on more rows."
            )
        n_folds = 3 if len(target) >= _MIN_ROWS_FOR_3_FOLDS else 5
        return self.n_folds or min(n_folds, n_rarest)

    def _chosen_settings(self) -> list[str]:
        if not hasattr(self, "part_names_"):
            return []
        n_rows = f"{len(self.training_target_):,} training rows"
        weights = ", ".join(f"{name} {share:.2f}" for name, share in self.weights_.items())
        notes = [f"weights: {weights}: the lowest Brier score of held-out rows"]
        if len(self.dropped_):
            notes.append(f"dropped: {', '.join(self.dropped_)}: weight below {_MIN_WEIGHT}")
        if self.n_folds is None:
            notes.append(f"n_folds={self.n_folds_}: for {n_rows}")
        return notes

    def _validate(self) -> None:
        super()._validate()
        check_finite("shares_", self.shares_, (len(self.part_names_),))
        check_finite("steps_", self.steps_, (None,))
        if not len(self.steps_) or (np.diff(self.steps_, prepend=0.0) <= 0).any():
            raise ValueError("steps_ must be ascending times above 0")
        if (self.shares_ < 0).any() or abs(self.shares_.sum() - 1.0) > 1e-9:
            raise ValueError("shares_ must be weights that add up to 1")
        is_count = self.part_of_.dtype == np.int64 and len(self.part_of_) == len(self.models_)
        if not is_count or set(self.part_of_.tolist()) != set(range(len(self.shares_))):
            raise ValueError("every model must belong to a part, and every part needs a model")
        if any(model.n_events_ != self.n_events_ for model in self.models_):
            raise ValueError("models of the same event types expected")
        Whole(2)("n_folds_", self.n_folds_)

    # Prediction.

    def predict_distribution(self, X: Any) -> AverageDistribution:
        """Return the predicted distribution of every row.

        Parameters
        ----------
        X : table of n rows
            The columns of training.

        Returns
        -------
        AverageDistribution
            n distributions, with ``survival``, ``quantile``, ``mean``, ``given``, ``net`` and more.

        """
        return self._average(self.preprocess(X))

    def predict_survival_function(
        self,
        X: TableLike,
        times: ArrayLike | None = None,
        return_std: bool = False,
        *,
        return_array: bool = False,
    ) -> Any:
        """Return ``P(T > t | x)``, T the time of the first event of any type.

        Parameters
        ----------
        X : table of n rows
            The columns of training.
        times : array-like of shape (n_times,), optional
            None returns the curves as functions of time, one per row, as in scikit-survival.
        return_std : bool, default False
            Not supported: the parts are models of different kinds.
        return_array : bool, default False
            Whether to return an array at ``event_times_`` if ``times`` is None.

        Returns
        -------
        array of shape (n, n_times), or of n functions
            Probabilities.

        """
        if return_std:
            raise SettingError(
                "LifeMix does not support return_std, because its parts are models of different "
                "kinds; got return_std=True. Use DeepSurvivalMachines."
            )
        return super().predict_survival_function(X, times, return_array=return_array)

    def _average(self, x: Any) -> AverageDistribution:
        """Return the average of the continuous distributions and of the joined step curves."""
        weights = self.shares_[self.part_of_] / np.bincount(self.part_of_)[self.part_of_]
        is_step = np.array([not _is_continuous(model) for model in self.models_])
        distributions: list[SurvivalDistribution] = [
            model.predict_distribution(x) for model in compress(self.models_, ~is_step)
        ]
        shares = weights[~is_step].tolist()
        if is_step.any():
            tail = AverageDistribution(distributions, shares) if distributions else None
            distributions.append(self._step_curves(x, is_step, weights, tail))
            shares.append(weights[is_step].sum())
        return AverageDistribution(distributions, shares)

    def _step_curves(
        self,
        x: Any,
        is_step: BoolArray,
        weights: FloatArray,
        tail: SurvivalDistribution | None,
    ) -> GridDistribution:
        """Return the average of the models with step curves; ``tail`` continues it."""
        models, shares = list(compress(self.models_, is_step)), weights[is_step]
        curves = [model.predict_cumulative_incidences(x, self.steps_) for model in models]
        incidences, nets = np.average(curves, axis=0, weights=shares), None
        if self.n_events_ > 1 and self._has_net_survival():
            events = range(1, self.n_events_ + 1)
            net_curves = [
                [model.predict_net_survival(x, self.steps_, event) for event in events]
                for model in models
            ]
            nets = np.average(net_curves, axis=0, weights=shares)
        return GridDistribution.of(self.steps_, incidences, nets, tail)

    def _in_blocks(
        self, x: Any, ask: Callable[[AverageDistribution], FloatArray], axis: int = 0
    ) -> FloatArray:
        blocks = chunks(shape_of(x)[0], 2 * _MAX_STEP_TIMES * self.n_events_)
        answers = [ask(self._average(take_rows(x, rows))) for rows in blocks]
        return np.concatenate(answers, axis=axis)

    def _survival(self, x: Any, times: FloatArray) -> FloatArray:
        return self._in_blocks(x, lambda average: average.survival(times))

    def _incidence(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        return self._incidences(x, times)[event - 1]

    def _incidences(self, x: Any, times: FloatArray) -> FloatArray:
        return self._in_blocks(x, lambda average: average.cumulative_incidences(times), axis=1)

    def _net_survival(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        return self._in_blocks(x, lambda average: average.net(event).survival(times))

    def _has_net_survival(self) -> bool:
        return all(
            _is_continuous(model) or hasattr(model, "predict_net_survival")
            for model in getattr(self, "models_", [])
        )

    def _risk(self, x: Any) -> FloatArray:
        """Return the mean log cumulative hazard over the central 90 % of the event times.

        With proportional hazards it is the linear predictor. The mean survival time up to the last
        event, which other models use, depends on the end of the curves, where few rows are at risk.
        """
        times = np.quantile(self.steps_, np.linspace(0.05, 0.95, _N_RISK_TIMES))
        survival = np.clip(self._survival(x, times), _MIN_PROBABILITY, 1.0 - _MIN_PROBABILITY)
        return np.asarray(np.log(-np.log(survival)).mean(axis=1))


def _is_continuous(model: Any) -> bool:
    return hasattr(model, "predict_distribution")


def _is_boosting(model: Any) -> bool:
    estimator = model.estimator if isinstance(model, CauseSpecific) else model
    return isinstance(estimator, GradientBoosting)


# Weights.


def _shares(
    curves: Mapping[str, FloatArray], target: Target, times: FloatArray, weight: FloatArray
) -> dict[str, float]:
    """Return the weight of each part; 0 for those that are dropped."""
    names = list(curves)
    if len(names) == 1 or len(times) < 2 or target.truncated.any() or target.interval.any():
        return dict.fromkeys(names, 1 / len(names))
    while True:
        stacked = np.stack([curves[name] for name in names])
        weights = best_weights(stacked, target, times, weight, _PRIOR_EVENTS)
        if weights.min() >= _MIN_WEIGHT:
            return dict.fromkeys(curves, 0.0) | dict(zip(names, weights.tolist(), strict=True))
        names.pop(int(weights.argmin()))


def best_weights(
    curves: FloatArray, target: Target, times: FloatArray, weight: FloatArray, prior_events: float
) -> FloatArray:
    """Return the weight of each model.

    The weights do not depend on the unit of time, on the scale of the case weights, or on whether
    each row occurs once or several times.

    Parameters
    ----------
    curves : array of shape (n_models, n_events, n_rows, n_times)
        Cumulative incidences, predicted for rows that the models were not trained on.
    target : Target
        The outcome of these rows, without late entry and intervals.
    times : array of shape (n_times,)
        Times of the curves, ascending.
    weight : array of shape (n_rows,)
        Case weights.
    prior_events : float
        The penalty towards equal weights is as strong as this number of events.

    Returns
    -------
    array of shape (n_models,)
        Non-negative, with sum 1.
    """
    n_models, n_events = curves.shape[:2]
    products = np.zeros((n_models, n_models))  # errors of two models, summed over rows and times
    steps = np.gradient(times)
    for event in range(1, n_events + 1):
        error_weight, happened = _error_weights(target, times, event if n_events > 1 else None)
        error_weight *= weight[:, None] * steps
        errors = (curves[:, event - 1] - happened).reshape(n_models, -1)
        products += (errors * error_weight.ravel()) @ errors.T
    centre = np.eye(n_models) - 1 / n_models
    spread = np.trace(centre @ products @ centre) / n_models
    penalty = prior_events / _distinct_events(curves, target) * spread
    return simplex_minimum(products + penalty * np.eye(n_models))


def _distinct_events(curves: FloatArray, target: Target) -> int:
    """Return the number of events, where copies of a row (same outcome, same curves) count once."""
    has_event = target.event > 0
    last_values = curves[:, :, has_event, -1].reshape(-1, int(has_event.sum()))
    rows = np.vstack([target.time[has_event], target.event[has_event], last_values])
    return max(1, np.unique(rows, axis=1).shape[1])


def _error_weights(
    target: Target, times: FloatArray, event: int | None
) -> tuple[FloatArray, BoolArray]:
    """Return the weight of each squared error, and whether the event has happened by then."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # times beyond the follow-up have weight 0
        inverse = horizon_weights(target, target, times, event, None)
    past = target.time[:, None] <= times
    happened = past & (inverse.case > 0)[:, None]
    weight = np.where(past, (inverse.case + inverse.rival)[:, None], inverse.control)
    return np.where(inverse.defined, weight, 0.0), happened


def simplex_minimum(products: FloatArray) -> FloatArray:
    """Return the non-negative weights with sum 1 that minimise ``w' products w``.

    Non-negative least squares minimises ``u' products u + (1 - sum(u))^2``. For u = s w, sum(w) =
    1, its minimum over s is ``q / (1 + q)`` with ``q = w' products w``, so the best u is a multiple
    of the best w.
    """
    n_models = len(products)
    scale = np.trace(products) / n_models
    if scale <= 0:
        return np.full(n_models, 1 / n_models)
    values, vectors = np.linalg.eigh(products / scale)
    root = np.sqrt(np.clip(values, 0.0, None))[:, None] * vectors.T
    solution, _ = nnls(np.vstack([root, np.ones(n_models)]), np.append(np.zeros(n_models), 1.0))
    return np.asarray(solution / solution.sum())
