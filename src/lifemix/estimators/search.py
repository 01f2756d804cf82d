"""Search over settings by cross-validation, many models in one matrix product.

Every (candidate, fold) is planned like a fit of its own. Plans whose models have the same shape train together as
fleets; fleets are distributed by joblib, whose backends (processes here, Dask or Ray on a cluster) may span machines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid, ParameterSampler, check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray, IndexArray
from ..checks import Check, Flag, Jobs, Rule, Seed, Whole, check_settings, check_weight, warn_user
from ..errors import LifemixError, SettingError
from ..histories import as_input
from ..preprocessing import TableLike, apply_preprocessor
from ..progress import tell_progress
from ..splits import EventStratifiedKFold
from ..target import Target, TargetLike, as_target
from .dsm import DeepSurvivalMachines
from .fleets import Planned, check_finite, group, train_fleet
from .plan import Memo, make_plan
from .progress import task_bar
from .results import cv_results

__all__ = ["FleetSearchCV"]

SCORES = ("concordance", "log_likelihood")


@dataclass(frozen=True, eq=False)
class _Test:
    """The held-out fold of a plan."""

    X: TableLike
    y: TargetLike
    matrix: FloatArray
    target: Target

    @classmethod
    def of(cls, preprocessor: Any, X: TableLike, target: Target) -> _Test:
        """Preprocess the held-out table with the statistics of the training rows."""
        return cls(
            X,
            target.to_array(),
            apply_preprocessor(preprocessor, X, columns_required=False),
            target,
        )


def _check_estimator(estimator: Any) -> None:
    if not isinstance(estimator, DeepSurvivalMachines):
        raise SettingError(
            f"FleetSearchCV searches over DeepSurvivalMachines; got {type(estimator).__name__}. "
            "Use scikit-learn's GridSearchCV for other models."
        )


def _check_cv(cv: Any) -> None:
    folds = not isinstance(cv, bool) and isinstance(cv, Integral) and int(cv) >= 2
    if (
        not folds
        and cv is not None
        and (isinstance(cv, str) or not (hasattr(cv, "split") or hasattr(cv, "__iter__")))
    ):
        raise SettingError(
            f"cv must be a number of folds from 2 on, a splitter or pairs of row numbers; got {cv!r}."
        )


class FleetSearchCV(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Grid or random search with cross-validation for ``DeepSurvivalMachines``; models of one shape train together.

    The interface is that of scikit-learn's ``GridSearchCV``.

    Parameters
    ----------
    estimator : DeepSurvivalMachines
        The model whose settings are searched. Its callbacks and its checkpoint are used in the last fit on all rows.
    param_grid : dict or list of dict
        Lists of values by name; with ``n_iter`` also distributions to draw from.
    n_iter : int, optional
        Where given, that many candidates are drawn at random instead of the whole grid.
    scoring : {"concordance", "log_likelihood"} or callable, optional
        ``"concordance"`` is the estimator's ``score``, also None; ``"log_likelihood"`` the mean per row; a callable
        takes (estimator, X, y).
    cv : int, splitter or iterable, default 5
        A number of folds, stratified by event; a scikit-learn splitter; or pairs of row numbers.
    refit : bool, default True
        Whether to fit the best candidate on all rows.
    n_jobs : int, optional
        Fleets at a time, as in joblib: None is 1, or what ``joblib.parallel_config`` says. The data are sent with each
        fleet.
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
        Its place in ``cv_results_``.
    best_estimator_ : DeepSurvivalMachines
        That candidate, fitted on all rows, where ``refit`` is true.
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

    __metadata_request__fit: ClassVar[Mapping[str, bool]] = {
        "groups": True
    }  # for scikit-learn: wanted if given
    _rules: ClassVar[Mapping[str, Rule]] = {
        "estimator": Check(_check_estimator),
        "n_iter": Whole(1, optional=True),
        "scoring": Check(lambda scoring: _scorer(scoring)),
        "cv": Check(_check_cv),
        "refit": Flag(),
        "n_jobs": Jobs(),
        "max_fleet": Whole(1),
        "random_state": Seed(),
    }

    def __init__(
        self,
        estimator: DeepSurvivalMachines,
        param_grid: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        n_iter: int | None = None,
        scoring: str | Callable[[Any, Any, Any], float] | None = None,
        cv: Any = 5,
        refit: bool = True,
        n_jobs: int | None = None,
        max_fleet: int = 32,
        random_state: int | None = 0,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_iter = n_iter
        self.scoring = scoring
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs
        self.max_fleet = max_fleet
        self.random_state = random_state
        self.verbose = verbose

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
            The subject of each row, where the target does not say it (``subject`` of ``lifemix.make_target``). No
            subject is on both sides of a fold or of early stopping.

        Returns
        -------
        self
            The fitted search.

        """
        check_settings(self)
        for name in ("best_estimator_", "refit_time_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        score = _scorer(self.scoring)
        candidates = self._candidates()
        models = [self._model(candidate) for candidate in candidates]
        X, named = as_input(X), as_target(y)
        target = named.grouped(groups)
        folds = self._folds(X, target)
        _check_folds(target, folds)
        weight = check_weight(sample_weight, len(target))
        scores = self._scores(list(self._plan(models, X, target, weight, folds)), score)
        self.cv_results_ = cv_results(candidates, scores, len(folds))
        self.n_splits_ = len(folds)
        _check_scores(self.cv_results_["mean_test_score"])
        self.best_index_ = int(np.argmin(self.cv_results_["rank_test_score"]))
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_params_ = candidates[self.best_index_]
        if self.refit:
            start = time.perf_counter()
            self.best_estimator_ = self._model(self.best_params_).fit(
                X, named, sample_weight, groups=groups
            )
            self.refit_time_ = time.perf_counter() - start
        return self

    def _candidates(self) -> list[dict[str, Any]]:
        try:
            if self.n_iter is None:
                return list(ParameterGrid(self.param_grid))
            return list(
                ParameterSampler(self.param_grid, self.n_iter, random_state=self.random_state)
            )
        except (TypeError, ValueError) as error:
            raise SettingError(
                f"param_grid must hold lists of values by name, as in {{'k': [2, 4]}}; got {self.param_grid!r}: {error}"
            ) from None

    def _model(self, candidate: Mapping[str, Any]) -> DeepSurvivalMachines:
        try:
            model: DeepSurvivalMachines = clone(self.estimator).set_params(**candidate)
        except ValueError as error:
            raise SettingError(
                f"param_grid must name options of the estimator; got {dict(candidate)}: {error}"
            ) from None
        model._check_settings()
        return model

    def _folds(self, X: TableLike, target: Target) -> list[tuple[IndexArray, IndexArray]]:
        splitter = (
            EventStratifiedKFold(int(self.cv))
            if isinstance(self.cv, Integral)
            else check_cv(self.cv)
        )
        parts = splitter.split(X, target.to_array(), target.subject)
        return [(np.asarray(train), np.asarray(test)) for train, test in parts]

    def _plan(
        self,
        models: Sequence[DeepSurvivalMachines],
        X: TableLike,
        target: Target,
        weight: FloatArray,
        folds: Sequence[Any],
    ) -> Iterator[Planned]:
        """Plan every candidate on every fold; plans on the same fold share what does not depend on the candidate."""
        for fold, (train, test) in enumerate(folds):
            memo = Memo()
            table, own, held_out = _safe_indexing(X, train), target.take(train), target.take(test)
            for number, model in enumerate(models):
                kept, plan = make_plan(model, table, own, weight[train], memo=memo)
                key = ("test", id(plan.preprocessor))
                if key not in memo.known:
                    memo.known[key] = _Test.of(plan.preprocessor, _safe_indexing(X, test), held_out)
                columns = _safe_indexing(
                    kept, [0]
                )  # one row has the names and kinds of the columns
                yield Planned((number, fold), model, columns, plan, memo.known[key])

    def _scores(
        self, planned: list[Planned], score: Callable[..., float]
    ) -> dict[tuple[int, int], dict[str, float]]:
        """Return scores and times by candidate and fold."""
        scores: dict[tuple[int, int], dict[str, float]] = {}
        with task_bar(bool(self.verbose), len(planned), "cross-validation") as show:
            for fleet_scores in self._run(group(planned, int(self.max_fleet)), score):
                scores |= fleet_scores
                show(len(fleet_scores))
                tell_progress("cross-validation", len(scores), len(planned))
        return scores

    def _run(
        self, fleets: list[list[Planned]], score: Callable[..., float]
    ) -> Iterator[dict[tuple[int, int], dict[str, float]]]:
        """Yield the scores of each fleet when they are ready."""
        if joblib.effective_n_jobs(self.n_jobs) == 1:
            yield from (_train_and_score(fleet, score) for fleet in fleets)
            return
        backend, _ = joblib.parallel.get_active_backend()
        return_as = "generator_unordered" if backend.supports_return_generator else "list"
        # Copy on write: PyTorch needs writable memory.
        parallel = joblib.Parallel(n_jobs=self.n_jobs, return_as=return_as, mmap_mode="c")
        yield from parallel(joblib.delayed(_train_and_score)(fleet, score) for fleet in fleets)

    # The best estimator's methods.

    def _best(self) -> DeepSurvivalMachines:
        check_is_fitted(self, "cv_results_")
        if not hasattr(self, "best_estimator_"):
            raise SettingError(
                "refit=False: no model was fitted on all rows. Use refit=True, or fit best_params_."
            )
        return self.best_estimator_

    def predict(self, X: TableLike) -> Any:
        """Return the best estimator's risk scores.

        Parameters
        ----------
        X : table of n rows
            The columns of training.

        Returns
        -------
        array of shape (n,)
            Higher for an earlier event.

        """
        return self._best().predict(X)

    def predict_distribution(self, X: TableLike) -> Any:
        """Return the best estimator's distributions.

        Parameters
        ----------
        X : table of n rows
            The columns of training.

        Returns
        -------
        MixtureDistribution or CompetingDistribution
            One distribution per row.

        """
        return self._best().predict_distribution(X)

    def predict_survival_function(
        self, X: TableLike, times: Any = None, return_std: bool = False
    ) -> Any:
        """Return the best estimator's survival curves.

        Parameters
        ----------
        X : table of n rows
            The columns of training.
        times : array-like of shape (n_times,), optional
            Without them the curves come as functions of time.
        return_std : bool, default False
            Whether to return the standard deviation over the members too: the spread of the ensemble members, which
            is too narrow for a confidence interval.

        Returns
        -------
        array of shape (n, n_times)
            Probabilities.

        """
        return self._best().predict_survival_function(X, times, return_std)  # type: ignore[call-overload]

    def log_likelihood(self, X: TableLike, y: TargetLike, sample_weight: Any = None) -> float:
        """Return the best estimator's log-likelihood.

        Parameters
        ----------
        X, y : table and target of n rows
            As in ``DeepSurvivalMachines.log_likelihood``.
        sample_weight : array-like of shape (n,), optional
            Case weights.

        Returns
        -------
        float
            The weighted sum.

        """
        return self._best().log_likelihood(X, y, sample_weight)

    def predict_cumulative_incidence(self, X: TableLike, times: Any, event: int = 1) -> Any:
        """Return the best estimator's cumulative incidences.

        Parameters
        ----------
        X : table of n rows
            The columns of training.
        times : array-like of shape (n_times,)
            Times from the origin.
        event : int, default 1
            The event type.

        Returns
        -------
        array of shape (n, n_times)
            Probabilities.

        """
        return self._best().predict_cumulative_incidence(X, times, event)

    def predict_path(
        self,
        X: TableLike,
        start: Any,
        stop: Any,
        subject: Any,
        times: Any,
        event: int | None = None,
        extend: bool = False,
    ) -> Any:
        """Return the best estimator's survival, or an incidence, along paths of covariates that change over time.

        Parameters
        ----------
        X : table of n rows
            The columns of training, one row per interval.
        start, stop : array-like of shape (n,)
            The interval ``(start, stop]`` in which a row holds.
        subject : array-like of shape (n,)
            Identifier of the subject of each row.
        times : array-like of shape (n_times,)
            Times from the origin.
        event : int, optional
            None for survival; an event type for its cumulative incidence.
        extend : bool, default False
            Whether the last covariates are kept beyond the last stop.

        Returns
        -------
        array of shape (n_subjects, n_times)
            Probabilities.

        """
        return self._best().predict_path(X, start, stop, subject, times, event, extend)

    def transform(self, X: TableLike) -> Any:
        """Return the best estimator's representation.

        Parameters
        ----------
        X : table of n rows
            The columns of training.

        Returns
        -------
        array of shape (n, n_members * hidden[-1])
            The last hidden layer.

        """
        return self._best().transform(X)

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
        model = self._best()
        return _scorer(self.scoring)(model, _Test.of(model.preprocessor_, X, as_target(y)))


def _train_and_score(
    fleet: list[Planned], score: Callable[..., float]
) -> dict[tuple[int, int], dict[str, float]]:
    """Train one fleet and score its models on their folds."""
    start = time.perf_counter()
    fits = train_fleet([planned.plan for planned in fleet])
    seconds = (time.perf_counter() - start) / len(fleet)
    results = {}
    for planned, (own, architectures) in zip(fleet, fits, strict=True):
        start = time.perf_counter()
        try:
            check_finite(own)
            value = score(
                planned.model._learn(planned.X, planned.plan, own, architectures), planned.test
            )
        except LifemixError as error:
            warn_user(f"a candidate scores NaN: {error} Settings: {planned.model}")
            value = np.nan
        results[planned.key] = {
            "test_score": float(value),
            "fit_time": seconds,
            "score_time": time.perf_counter() - start,
        }
    return results


def _scorer(scoring: Any) -> Callable[[Any, _Test], float]:
    if scoring is None or scoring == "concordance":
        return _concordance
    if scoring == "log_likelihood":
        return _log_likelihood
    if callable(scoring):
        return _Custom(scoring)
    raise SettingError(
        f"scoring must be one of {list(SCORES)}, a function of (estimator, X, y) or None; got {scoring!r}."
    )


def _check_folds(target: Target, folds: Sequence[Any]) -> None:
    """Refuse folds whose training part has not every event type, or has subjects of the test part."""
    kinds = set(np.unique(target.event).tolist()) - {0}
    for number, (train, test) in enumerate(folds):
        missing = sorted(kinds - set(target.event[train].tolist()))
        if missing:
            raise SettingError(
                f"every training part must have every event type; fold {number} has none of {missing}. "
                "Use fewer folds, or cv=EventStratifiedKFold(...)."
            )
        if target.subject is not None:
            shared = np.intersect1d(target.subject[train], target.subject[test])
            if len(shared):
                raise SettingError(
                    f"a subject must be on one side of a fold; got {len(shared)} subjects on both sides of fold "
                    f"{number}. Use cv=5, cv=EventStratifiedKFold(...) or scikit-learn's GroupKFold."
                )


def _check_scores(means: FloatArray) -> None:
    if np.isnan(means).all():
        raise SettingError(
            "no candidate has a score: all are NaN on some fold. See the warnings; use other folds."
        )


def _concordance(model: DeepSurvivalMachines, test: _Test) -> float:
    return model._score(test.matrix, test.target)


def _log_likelihood(model: DeepSurvivalMachines, test: _Test) -> float:
    return model.network_.log_likelihood(test.matrix, test.target, np.ones(len(test.target))) / len(
        test.target
    )


@dataclass(frozen=True)
class _Custom:
    """A user's scorer; a class, so that it can be sent to another process."""

    function: Callable[[Any, Any, Any], float]

    def __call__(self, model: DeepSurvivalMachines, test: _Test) -> float:
        return self.function(model, test.X, test.y)
