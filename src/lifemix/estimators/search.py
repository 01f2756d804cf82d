"""Search over settings by cross-validation, many models in one matrix product.

Every candidate is fitted on every fold. Fits of the same shape train together as fleets; joblib
distributes the fleets, and its backends (processes here, Dask or Ray on a cluster) may span
machines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from numbers import Integral
from typing import Any, ClassVar, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid, ParameterSampler, check_cv
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray, IndexArray
from ..checks import (
    Check,
    Flag,
    Jobs,
    Rule,
    Seed,
    Whole,
    check_settings,
    check_weight,
    take_rows,
    warn_user,
)
from ..errors import LifemixError, SettingError
from ..histories import as_input
from ..preprocessing import TableLike
from ..progress import parallel_results, progress_bar, report_progress
from ..splits import EventStratifiedKFold
from ..target import Target, TargetLike, as_target
from .dsm import DeepSurvivalMachines
from .fleet_groups import FitRequest, FleetMember, fit_fleet, prepare_fleets

__all__ = ["FleetSearchCV"]

Fold = tuple[IndexArray, IndexArray]
Scorer = Callable[[Any, Any, Any], float]
_RESULTS = ("fit_time", "score_time", "test_score")


def _check_estimator(estimator: Any) -> None:
    if not isinstance(estimator, DeepSurvivalMachines):
        raise SettingError(
            f"FleetSearchCV searches over DeepSurvivalMachines; got {type(estimator).__name__}. "
            "Use scikit-learn's GridSearchCV for other models."
        )


def _check_cv(cv: Any) -> None:
    is_number = not isinstance(cv, bool) and isinstance(cv, Integral) and int(cv) >= 2
    is_splitter = hasattr(cv, "split") or hasattr(cv, "__iter__")
    if isinstance(cv, str) or not (is_number or is_splitter or cv is None):
        raise SettingError(
            "cv must be a number of folds from 2 on, a splitter or pairs of row numbers; got "
            f"{cv!r}."
        )


def _concordance(model: DeepSurvivalMachines, X: Any, y: Any) -> float:
    return model.score(X, y)


def _mean_log_likelihood(model: DeepSurvivalMachines, X: Any, y: Any) -> float:
    return model.log_likelihood(X, y) / len(as_target(y))


def _scorer(scoring: Any) -> Scorer:
    if callable(scoring):
        return scoring
    if scoring is None or scoring == "concordance":
        return _concordance
    if scoring == "log_likelihood":
        return _mean_log_likelihood
    raise SettingError(
        "scoring must be one of 'concordance', 'log_likelihood', a function of (estimator, X, y) "
        f"or None; got {scoring!r}."
    )


def _of_best_estimator(name: str) -> Callable[..., Any]:
    """Return a method that calls the method of this name of ``best_estimator_``."""
    method = getattr(DeepSurvivalMachines, name)

    @wraps(method)
    def call(search: FleetSearchCV, *arguments: Any, **options: Any) -> Any:
        return getattr(search._best(), name)(*arguments, **options)

    return call


@dataclass(eq=False, repr=False)
class FleetSearchCV(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Grid or random search for ``DeepSurvivalMachines``; models of one shape train together.

    The interface is that of scikit-learn's ``GridSearchCV``.

    Parameters
    ----------
    estimator : DeepSurvivalMachines
        The model whose settings are searched. Its callbacks and its checkpoint are used in the last
        fit on all rows.
    param_grid : dict or list of dict
        Lists of values by name; with ``n_iter`` also distributions to draw from.
    n_iter : int, optional
        Number of candidates to draw at random instead of the whole grid.
    scoring : {"concordance", "log_likelihood"} or callable, optional
        ``"concordance"`` or None is the estimator's ``score``, ``"log_likelihood"`` its mean per
        row; a callable takes (estimator, X, y).
    cv : int, splitter or iterable, default 5
        A number of folds, stratified by event; a scikit-learn splitter; or pairs of row numbers.
    refit : bool, default True
        Whether to fit the best candidate on all rows.
    n_jobs : int, optional
        Fleets that train at the same time, as in joblib: None is 1, or what
        ``joblib.parallel_config`` says. The data are sent with each fleet.
    max_fleet : int, default 32
        The most models that train together.
    random_state : int or None, default 0
        Random seed of the candidates that ``n_iter`` draws.
    verbose : bool, default False
        Whether to show a progress bar.

    Attributes
    ----------
    cv_results_ : dict
        As in scikit-learn.
    best_params_ : dict
        The candidate with the best mean score.
    best_score_ : float
        That score.
    best_index_ : int
        Its index in ``cv_results_``.
    best_estimator_ : DeepSurvivalMachines
        That candidate, fitted on all rows, if ``refit`` is true.
    n_splits_ : int
        The number of folds.
    refit_time_ : float
        Seconds.

    Examples
    --------
    >>> from lifemix import DeepSurvivalMachines, FleetSearchCV, datasets
    >>> data = datasets.load_metabric()
    >>> model = DeepSurvivalMachines(hidden=(8,), max_epochs=2)
    >>> search = FleetSearchCV(model, {"k": [2, 3]}, cv=2).fit(data.X[:400], data.y[:400])
    >>> sorted(search.best_params_)
    ['k']

    """

    # Scikit-learn passes groups to fit if they are given.
    __metadata_request__fit: ClassVar[Mapping[str, bool]] = {"groups": True}
    _rules: ClassVar[Mapping[str, Rule]] = {
        "estimator": Check(_check_estimator),
        "n_iter": Whole(1, optional=True),
        "scoring": Check(_scorer),
        "cv": Check(_check_cv),
        "refit": Flag(),
        "n_jobs": Jobs(),
        "max_fleet": Whole(1),
        "random_state": Seed(),
    }

    estimator: DeepSurvivalMachines
    param_grid: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    _: KW_ONLY
    n_iter: int | None = None
    scoring: str | Callable[[Any, Any, Any], float] | None = None
    cv: Any = 5
    refit: bool = True
    n_jobs: int | None = None
    max_fleet: int = 32
    random_state: int | None = 0
    verbose: bool = False

    def fit(
        self,
        X: TableLike,
        y: TargetLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Score every candidate on every fold, and fit the best on all rows.

        Parameters
        ----------
        X, y : table and target of n rows
            As in ``DeepSurvivalMachines.fit``.
        sample_weight : array-like of shape (n,), optional
            Case weights; they count in training only.
        groups : array-like of shape (n,), optional
            The subject of each row, unless the target has it (``subject`` of
            ``lifemix.make_target``). No subject is on both sides of a fold or of early stopping.

        Returns
        -------
        self
            The fitted search.

        """
        check_settings(self)
        for name in ("best_estimator_", "refit_time_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        candidates = self._candidates()
        X, target = as_input(X), as_target(y)
        grouped = target.grouped(groups)
        weight = check_weight(sample_weight, len(target))
        folds = self._folds(X, grouped)
        scores = self._cross_validate(candidates, X, grouped, weight, folds)
        self.cv_results_ = _results_table(candidates, scores)
        self.n_splits_ = len(folds)
        means = self.cv_results_["mean_test_score"]
        if np.isnan(means).all():
            raise SettingError(
                "no candidate has a score: all are NaN on some fold. See the warnings; use other "
                "folds."
            )
        self.best_index_ = int(np.argmin(self.cv_results_["rank_test_score"]))
        self.best_score_ = float(means[self.best_index_])
        self.best_params_ = candidates[self.best_index_]
        if self.refit:
            start = time.perf_counter()
            model = self._model(self.best_params_)
            self.best_estimator_ = model.fit(X, target, sample_weight, groups=groups)
            self.refit_time_ = time.perf_counter() - start
        return self

    def _candidates(self) -> list[dict[str, Any]]:
        """Return the settings of every candidate; all are checked."""
        try:
            if self.n_iter is None:
                candidates = list(ParameterGrid(self.param_grid))
            else:
                candidates = list(
                    ParameterSampler(self.param_grid, self.n_iter, random_state=self.random_state)
                )
        except (TypeError, ValueError) as error:
            raise SettingError(
                "param_grid must hold lists of values by name, as in {'k': [2, 4]}; got "
                f"{self.param_grid!r}: {error}"
            ) from None
        for candidate in candidates:
            self._model(candidate)._check_settings()
        return candidates

    def _model(self, candidate: Mapping[str, Any]) -> DeepSurvivalMachines:
        try:
            model: DeepSurvivalMachines = clone(self.estimator).set_params(**candidate)
        except ValueError as error:
            raise SettingError(
                f"param_grid must name options of the estimator; got {dict(candidate)}: {error}"
            ) from None
        return model

    def _folds(self, X: TableLike, target: Target) -> list[Fold]:
        """Return the folds; each trains on all event types and no subject of its test part."""
        is_number = isinstance(self.cv, Integral)
        splitter = EventStratifiedKFold(int(self.cv)) if is_number else check_cv(self.cv)
        folds: list[Fold] = []
        event_types = set(np.unique(target.event).tolist()) - {0}
        for train, test in splitter.split(X, target.to_array(), target.subject):
            missing = sorted(event_types - set(target.event[train].tolist()))
            if missing:
                raise SettingError(
                    "every training part must have every event type; "
                    f"fold {len(folds)} has none of {missing}. Use fewer folds, or "
                    "cv=EventStratifiedKFold(...)."
                )
            subject = target.subject
            n_shared = 0 if subject is None else len(np.intersect1d(subject[train], subject[test]))
            if n_shared:
                raise SettingError(
                    f"all rows of a subject must be in the same part of a fold; got {n_shared} subjects on both "
                    f"sides of fold {len(folds)}. Use cv=5, cv=EventStratifiedKFold(...) or "
                    "scikit-learn's GroupKFold."
                )
            folds.append((np.asarray(train), np.asarray(test)))
        return folds

    def _cross_validate(
        self,
        candidates: Sequence[Mapping[str, Any]],
        X: TableLike,
        target: Target,
        weight: FloatArray,
        folds: Sequence[Fold],
    ) -> dict[str, FloatArray]:
        """Return scores and times, each of shape (n_candidates, n_folds)."""
        requests, tests = [], []
        for train, test in folds:
            training = take_rows(X, train), target.take(train), None, weight[train]
            requests += [FitRequest(self._model(candidate), *training) for candidate in candidates]
            tests += [(take_rows(X, test), target.take(test).to_array())] * len(candidates)
        fleets = prepare_fleets(requests, int(self.max_fleet))
        tasks = [(fleet, [tests[member.number] for member in fleet]) for fleet in fleets]
        score = joblib.delayed(_fit_and_score)
        calls = [score(*task, _scorer(self.scoring)) for task in tasks]
        results = np.full((len(requests), len(_RESULTS)), np.nan)
        n_scored = 0
        with progress_bar() if self.verbose else nullcontext():
            for scores in parallel_results(calls, self.n_jobs):
                for number, *values in scores:
                    results[int(number)] = values
                n_scored += len(scores)
                report_progress("cross-validation", n_scored, len(requests))
        shape = len(folds), len(candidates)
        return {name: results[:, i].reshape(shape).T for i, name in enumerate(_RESULTS)}

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)

    # The best estimator's methods.

    def _best(self) -> DeepSurvivalMachines:
        check_is_fitted(self, "cv_results_")
        if not hasattr(self, "best_estimator_"):
            raise SettingError(
                "refit=False: no model was fitted on all rows. Use refit=True, or fit best_params_."
            )
        return self.best_estimator_

    predict = _of_best_estimator("predict")
    predict_distribution = _of_best_estimator("predict_distribution")
    predict_survival_function = _of_best_estimator("predict_survival_function")
    predict_cumulative_incidence = _of_best_estimator("predict_cumulative_incidence")
    predict_path = _of_best_estimator("predict_path")
    log_likelihood = _of_best_estimator("log_likelihood")
    transform = _of_best_estimator("transform")

    def score(self, X: TableLike, y: TargetLike) -> float:
        """Return the best estimator's score, by the same measure as the search.

        Parameters
        ----------
        X, y : table and target of n rows
            Rows that were not searched on.

        Returns
        -------
        float
            Higher is better.

        """
        return _scorer(self.scoring)(self._best(), X, y)


def _fit_and_score(
    fleet: Sequence[FleetMember], tests: Sequence[tuple[Any, Any]], score: Scorer
) -> list[tuple[float, ...]]:
    """Train one fleet; return for each model its number, fit time, score time and score."""
    start = time.perf_counter()
    fits = fit_fleet(fleet)
    fit_time = (time.perf_counter() - start) / len(fleet)
    results: list[tuple[float, ...]] = []
    for fit, test in zip(fits, tests, strict=True):
        start = time.perf_counter()
        try:
            if fit.error is not None:
                raise fit.error
            value = float(score(fit.model, *test))
        except LifemixError as error:
            warn_user(f"a candidate scores NaN: {error} Settings: {fit.model}")
            value = np.nan
        results.append((fit.number, fit_time, time.perf_counter() - start, value))
    return results


def _results_table(
    candidates: Sequence[Mapping[str, Any]], results: Mapping[str, FloatArray]
) -> dict[str, Any]:
    """Return ``cv_results_`` from arrays of shape (n_candidates, n_folds)."""
    table: dict[str, Any] = {"params": [dict(candidate) for candidate in candidates]}
    for name, values in results.items():
        table[f"mean_{name}"], table[f"std_{name}"] = values.mean(1), values.std(1)
    scores, means = results["test_score"], table["mean_test_score"]
    table |= {f"split{fold}_test_score": scores[:, fold] for fold in range(scores.shape[1])}
    ranks = rankdata(-np.where(np.isnan(means), -np.inf, means), method="min")
    table["rank_test_score"] = ranks.astype(np.int32)
    for name in sorted({name for candidate in candidates for name in candidate}):
        column: Any = np.ma.MaskedArray(np.empty(len(candidates), dtype=object), mask=True)
        for index, candidate in enumerate(candidates):
            if name in candidate:
                column[index] = candidate[name]
        table[f"param_{name}"] = column
    return table
