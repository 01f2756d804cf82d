"""The base class of all models of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._types import FittedSurvivalModel, FloatArray
from .checks import Rule, as_pandas, check_event, check_settings, check_times, warn_user
from .histories import as_input
from .metrics import mean_concordance
from .metrics.predictions import take_rows
from .preprocessing import (
    Passthrough,
    SequencePreprocessor,
    TableLike,
    TabularPreprocessor,
    apply_preprocessor,
    shape_of,
)
from .registry import fitted_attributes
from .start_stop import PathRows, path_curves, ratio_of_curves
from .target import Target, TargetLike, TrainingRows, as_target, refuse_unknown_types, subject_codes
from .target_summary import SummarisedTarget, TargetSummary

__all__ = ["FittedSurvivalModel", "SurvivalFunction", "SurvivalModel", "survival_functions"]


class _Curves:
    """The curves of all rows; the last times asked for are cached, as every row is usually asked for the same."""

    def __init__(self, evaluate: Callable[[FloatArray], FloatArray]) -> None:
        self.evaluate = evaluate
        self.last: tuple[FloatArray, FloatArray] | None = None

    def at(self, times: FloatArray) -> FloatArray:
        if self.last is None or not np.array_equal(self.last[0], times):
            self.last = times.copy(), self.evaluate(times)
        return self.last[1]


class SurvivalFunction:
    """The survival curve of one row, or its cumulative hazard: called with times it returns ``S(t)``, or ``H(t)``.

    Attributes
    ----------
    x : float array of shape (n_event_times,)
        The distinct event times of the training data, for programs that draw step functions.
    y : float array of shape (n_event_times,)
        The curve at ``x``.
    domain : tuple of float
        The curve may be evaluated at any time from 0 on.
    """

    domain = (0.0, np.inf)

    def __init__(self, curves: _Curves, row: int, x: FloatArray, what: str = "survival") -> None:
        self._curves, self._row, self.x, self._what = curves, row, x, what

    def __call__(self, x: ArrayLike) -> FloatArray:
        """Return the curve at the times ``x``, in their shape."""
        times = np.asarray(x, dtype=np.float64)
        values = self._curves.at(check_times(times.ravel(), "x"))[self._row].reshape(times.shape)
        return values if times.ndim else values[()]

    @property
    def y(self) -> FloatArray:
        """The curve at ``x``."""
        return self(self.x)

    def __repr__(self) -> str:
        return f"<{self._what} function of row {self._row}>"


def survival_functions(
    evaluate: Callable[[FloatArray], FloatArray],
    n_rows: int,
    event_times: FloatArray,
    what: str = "survival",
) -> NDArray[np.object_]:
    """Return one ``SurvivalFunction`` per row.

    Parameters
    ----------
    evaluate : callable
        A function of times, (n_times,), that returns the curves of all rows, (n_rows, n_times).
    n_rows : int
        The number of rows.
    event_times : float array of shape (n_event_times,)
        The distinct event times of the training data.
    what : str, default "survival"
        What the curves are, for their ``repr``.

    Returns
    -------
    object array of shape (n_rows,)
        One function of time per row.
    """
    curves = _Curves(evaluate)
    functions = np.empty(n_rows, dtype=object)
    functions[:] = [SurvivalFunction(curves, row, event_times, what) for row in range(n_rows)]
    return functions


class SurvivalModel(BaseEstimator):  # type: ignore[misc]
    """Base class of ``DeepSurvivalMachines`` and of the models in ``lifemix.baselines``.

    A subclass declares what its options may be in ``_rules``, calls ``_check_settings`` before any work and
    ``_learn_target``, ``_learn_subjects`` and ``_learn_columns`` in ``fit``, and implements, for the matrix ``x`` that
    ``preprocess`` gives and ``times`` of shape (n_times,), ``_survival(x, times)`` or ``_incidence(x, times, event)``,
    each of shape (n, n_times); where every event type has a distribution of its own also
    ``_net_survival(x, times, event)``.

    Attributes
    ----------
    n_events_ : int
        The number of event types.
    training_target_ : Target
        The times and events of the training rows; of a loaded model, rows that stand for them (see
        ``lifemix.target_summary``).
    training_summary_ : TargetSummary
        What ``save`` writes of them: counts in cells of time.
    event_times_ : array
        The distinct times of events of any type among the training rows, ascending; intervals count at their ends.
    last_event_time_ : float
        The last of them.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of str
        Their names, where X had names.
    preprocessor_ : transformer
        What turns X into numbers, fitted.

    """

    _rules: ClassVar[Mapping[str, Rule]] = {}
    _saves_event_times: ClassVar[bool] = (
        True  # whether predictions depend on the distinct event times
    )
    _needs_columns: ClassVar[bool] = (
        True  # whether a table without any column that varies is refused
    )

    _training_rows: TrainingRows | None = None  # None: no subjects, or a loaded model

    n_events_: int
    last_event_time_: float
    n_features_in_: int
    preprocessor_: Any

    # Prediction.

    @overload
    def predict_survival_function(self, X: TableLike, times: ArrayLike) -> FloatArray: ...

    @overload
    def predict_survival_function(
        self, X: TableLike, times: None = None
    ) -> NDArray[np.object_]: ...

    @overload
    def predict_survival_function(
        self, X: TableLike, times: None = None, *, return_array: Literal[True]
    ) -> FloatArray: ...

    def predict_survival_function(
        self, X: TableLike, times: ArrayLike | None = None, *, return_array: bool = False
    ) -> FloatArray | NDArray[np.object_]:
        """Return ``P(T > t | x)``, T the time of the first event of any type.

        Parameters
        ----------
        X : table of n rows
            The columns of training.
        times : array-like of shape (n_times,), optional
            None returns the curves as functions of time, one per row, as in scikit-survival.
        return_array : bool, default False
            Whether to return an array at ``event_times_`` if ``times`` is None.

        Returns
        -------
        array of shape (n, n_times), or of n functions
            Probabilities.

        """
        if times is None and not return_array:
            curves = self._survival_curves(self.preprocess(X))
            return survival_functions(curves, shape_of(as_input(X))[0], self.event_times_)
        at = check_times(self.event_times_ if times is None else times, warn_unsorted=True)
        return self._survival(self.preprocess(X), at)

    def predict_cumulative_incidence(
        self, X: TableLike, times: ArrayLike, event: int = 1
    ) -> FloatArray:
        """Return the cumulative incidence: the probability that the event happens first, and by each time.

        For one event type, one minus survival.

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
        at, x = check_times(times, warn_unsorted=True), self.preprocess(X)
        return np.minimum(
            self._incidence(x, at, check_event(event, self.n_events_)), 1.0
        )  # above 1 only by rounding

    def predict_cumulative_incidences(self, X: TableLike, times: ArrayLike) -> FloatArray:
        """Return the cumulative incidence of every event type.

        Parameters
        ----------
        X : table of n rows
            The columns of training.
        times : array-like of shape (n_times,)
            Times from the origin.

        Returns
        -------
        array of shape (n_events, n, n_times)
            Probabilities.

        """
        at, x = check_times(times, warn_unsorted=True), self.preprocess(X)
        return np.minimum(self._incidences(x, at), 1.0)

    def predict_path(
        self,
        X: TableLike,
        start: ArrayLike,
        stop: ArrayLike,
        subject: ArrayLike,
        times: ArrayLike,
        event: int | None = None,
        extend: bool = False,
    ) -> FloatArray:
        """Return survival, or a cumulative incidence, along paths of covariates that change over time.

        The hazard at t is that of the row in force at t, ``h(t | x(t))``: survival is the product of the rows'
        ``S(stop) / S(start)``. Of covariates that are measured on the living it is no probability for a future of
        known length, since the path is known only as far as the subject lived; for that predict at landmarks.

        Parameters
        ----------
        X : table of n rows
            The columns of training, one row per interval.
        start, stop : array-like of shape (n,)
            The interval ``(start, stop]`` in which a row holds; those of one subject must be consecutive.
        subject : array-like of shape (n,)
            Identifier of the subject of each row.
        times : array-like of shape (n_times,)
            Times from the origin.
        event : int, optional
            None for survival, P(no event by t); an event type for its cumulative incidence.
        extend : bool, default False
            Whether the last covariates of a subject are kept beyond its last stop; otherwise NaN there, with a warning.

        Returns
        -------
        array of shape (n_subjects, n_times)
            One row per subject, in order of first appearance, given survival to its first start.

        """
        matrix = self.preprocess(X)
        paths = PathRows.read(shape_of(X)[0], start, stop, subject_codes(subject), subject)
        at = check_times(times, warn_unsorted=True)
        if event is not None:
            event = check_event(event, self.n_events_)

        def conditional(
            rows: Any, since: FloatArray, at: FloatArray
        ) -> tuple[FloatArray, FloatArray | None]:
            return self._conditional(take_rows(matrix, rows), since, at, event)

        return path_curves(paths, at, conditional, event is not None, extend)

    @available_if(lambda self: self._has_net_survival())  # type: ignore[untyped-decorator]
    def predict_net_survival(self, X: TableLike, times: ArrayLike, event: int = 1) -> FloatArray:
        """Return the net survival ``P(T_event > t | x)``, as if there were no other event types.

        Models of incidences alone, such as Fine-Gray and DeepHit, have no such method where there are several.

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
        at, x, event = (
            check_times(times, warn_unsorted=True),
            self.preprocess(X),
            check_event(event, self.n_events_),
        )
        return self._survival(x, at) if self.n_events_ == 1 else self._net_survival(x, at, event)

    def predict(self, X: TableLike) -> FloatArray:
        """Return a risk score, higher for an earlier event of any type.

        Parameters
        ----------
        X : table of n rows
            The columns of training.

        Returns
        -------
        array of shape (n,)
            Higher for an earlier event.

        """
        return self._risk(self.preprocess(X))

    def score(self, X: TableLike, y: TargetLike) -> float:
        """Return the mean concordance C^td at the quartiles of the training event times.

        Each event type counts alike, at its own quartiles; the censoring distribution is that of training.

        Parameters
        ----------
        X, y : table and target of n rows
            Rows that the model was not fitted on.

        Returns
        -------
        float
            Between 0 and 1; 1/2 is chance.

        Warns
        -----
        LifemixWarning
            If rows outside the training rows belong to subjects of the training rows. A loaded model does not know
            its training subjects and does not warn.

        """
        x, target = self.preprocess(X), as_target(y)
        self._warn_of_training_subjects(target)
        refuse_unknown_types(target.event, self.n_events_, "y")
        return mean_concordance(
            lambda at, event: self._incidence(x, at, event), self.training_target_, target
        )

    def preprocess(self, X: TableLike) -> Any:
        """Return the matrix that the model works on: what the fitted preprocessor makes of a table.

        Parameters
        ----------
        X : table of n rows
            The columns of training.

        Returns
        -------
        array of shape (n, n_inputs)
            Finite numbers.

        """
        check_is_fitted(self, "n_events_")
        return apply_preprocessor(self.preprocessor_, X, columns_required=self._needs_columns)

    @cached_property
    def event_times_(self) -> FloatArray:
        """The distinct times of events among the training rows, ascending; intervals count at their upper ends.

        A loaded model whose curves do not depend on them has the ends of cells of time instead.
        """
        check_is_fitted(self, "n_events_")
        if "training_target_" in vars(self) and not isinstance(
            self.training_target_, SummarisedTarget
        ):
            return self.training_target_.event_times
        return self.training_summary_.grid

    @cached_property
    def training_target_(self) -> Target:
        """The training rows, or for a loaded model rows that stand for them."""
        check_is_fitted(self, "n_events_")
        return self.training_summary_.to_target()

    @cached_property
    def training_summary_(self) -> TargetSummary:
        """What ``save`` writes of the training rows."""
        check_is_fitted(self, "n_events_")
        return TargetSummary.of(self.training_target_, self._saves_event_times)

    def predict_cumulative_hazard_function(
        self, X: TableLike, times: ArrayLike | None = None, *, return_array: bool = False
    ) -> FloatArray | NDArray[np.object_]:
        """Return the cumulative hazard ``-log P(T > t | x)``, T the time of the first event of any type.

        Parameters
        ----------
        X : table of n rows
            The columns of training.
        times : array-like of shape (n_times,), optional
            None returns the curves as functions of time, one per row, as in scikit-survival.
        return_array : bool, default False
            Whether to return an array at ``event_times_`` if ``times`` is None.

        Returns
        -------
        array of shape (n, n_times), or of n functions
            Cumulative hazards; infinite where the survival is 0.

        """
        if times is None and not return_array:
            curves = self._survival_curves(self.preprocess(X))
            return survival_functions(
                lambda at: _hazards(curves(at)), shape_of(X)[0], self.event_times_, "hazard"
            )
        return _hazards(
            self.predict_survival_function(X, self.event_times_ if times is None else times)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # What a model knows of itself.

    def _survival(self, x: Any, times: FloatArray) -> FloatArray:
        total = sum(self._incidence(x, times, event) for event in range(1, self.n_events_ + 1))
        return np.maximum(1.0 - total, 0.0)  # rounding only: incidences sum to at most 1

    def _survival_curves(self, x: Any) -> Callable[[FloatArray], FloatArray]:
        return lambda times: self._survival(x, times)

    def _incidence(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        return 1.0 - self._survival(x, times)

    def _incidences(self, x: Any, times: FloatArray) -> FloatArray:
        return np.stack(
            [self._incidence(x, times, event) for event in range(1, self.n_events_ + 1)]
        )

    def _net_survival(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        raise NotImplementedError

    def _conditional(
        self, x: Any, since: FloatArray, times: FloatArray, event: int | None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return survival and, of an event, incidence at the times, each (n, n_times), given survival to ``since``."""
        wanted, place = np.unique(np.concatenate([since, times]), return_inverse=True)
        own = np.arange(len(since)), place[: len(since)]
        curves = self._survival(x, wanted)
        survival = ratio_of_curves(curves[:, place[len(since) :]], curves[own])
        if event is None or self.n_events_ == 1:
            return survival, 1.0 - survival
        incidence = self._incidence(x, wanted, event)
        gained = incidence[:, place[len(since) :]] - incidence[own][:, None]
        return survival, ratio_of_curves(gained, curves[own])

    def _has_net_survival(self) -> bool:
        known_of_several = type(self)._net_survival is not SurvivalModel._net_survival
        return known_of_several or getattr(self, "n_events_", 1) == 1

    def _risk(self, x: Any) -> FloatArray:
        raise NotImplementedError

    # What fit does first and last.

    def _check_settings(self) -> None:
        """Refuse options that cannot be used; called before anything is computed."""
        check_settings(self)

    def _learn_target(self, target: Target) -> None:
        for name in ("event_times_", "training_summary_", "_training_rows"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.training_target_ = replace(
            target.joined(), subject=None
        )  # who the subjects were stays with the user
        self.n_events_ = target.n_events
        self.last_event_time_ = float(np.fmax(target.time, target.upper)[target.event > 0].max())

    def _learn_subjects(self, target: Target, weight: FloatArray) -> None:
        """Remember the training subjects, so that ``score`` can recognise them; ``save`` does not write them."""
        if target.subject is not None:
            self._training_rows = TrainingRows.of(*_subject_and_outcome(target.take(weight > 0)))

    def _warn_of_training_subjects(self, target: Target) -> None:
        """Warn if rows that are scored share subjects with the training rows."""
        if self._training_rows is None or target.subject is None:
            return
        count = self._training_rows.count_other_rows(*_subject_and_outcome(target))
        if count:
            warn_user(
                f"{count} of {len(target)} scored rows belong to subjects that the model was trained on: the score is "
                "too high for new subjects. Keep the rows of one subject together: in scikit-learn's searches use "
                "cv=lifemix.splits.EventStratifiedKFold(), or GroupKFold() with groups=."
            )

    def _learn_columns(self, X: TableLike) -> None:
        table = as_pandas(X)
        self.n_features_in_ = shape_of(table)[1]
        if hasattr(table, "columns"):
            self.feature_names_in_ = np.array([str(name) for name in table.columns], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    # Model files.

    def _saved_attributes(self) -> dict[str, Any]:
        """Return the fitted attributes that a model file holds: counts of the training rows in place of the rows."""
        if not hasattr(self, "n_events_"):
            return {}
        left_out = {"training_target_", "event_times_", "n_events_", "last_event_time_"}
        attributes = {
            name: value for name, value in fitted_attributes(self).items() if name not in left_out
        }
        return attributes | {"training_summary_": self.training_summary_}

    def _validate(self) -> None:
        """Check and complete a model that was read from a file; ``ValueError`` if it cannot be a fitted model."""
        self._check_settings()
        if not isinstance(self.training_summary_, TargetSummary):
            raise ValueError("training_summary_ must be a TargetSummary")
        if self._saves_event_times and self.training_summary_.event_times is None:
            raise ValueError("the event times are missing")
        self.n_events_ = self.training_summary_.n_events
        self.last_event_time_ = float(self.training_summary_.last_event_time)
        if type(self.n_features_in_) is not int or self.n_features_in_ < 0:
            raise ValueError(
                f"n_features_in_ must be a number of columns; got {self.n_features_in_!r:.40}"
            )
        names = getattr(self, "feature_names_in_", None)
        if names is not None and np.shape(names) != (self.n_features_in_,):
            raise ValueError(f"feature_names_in_ must name {self.n_features_in_} columns")
        if hasattr(self, "preprocessor") and type(self.preprocessor_) not in (
            Passthrough,
            SequencePreprocessor,
            TabularPreprocessor,
        ):
            raise ValueError("preprocessor_ must be a fitted preprocessor")

    @property
    def _n_inputs(self) -> int:
        """The number of columns after preprocessing."""
        if isinstance(self.preprocessor_, SequencePreprocessor):
            return sum(block.width for block in self.preprocessor_.blocks_)
        return len(self.preprocessor_.get_feature_names_out())


def _subject_and_outcome(target: Target) -> tuple[Any, ...]:
    return target.subject, target.event, target.time, target.entry, target.upper


def _hazards(survival: FloatArray) -> FloatArray:
    """Return cumulative hazards."""
    with np.errstate(divide="ignore"):
        return -np.log(survival) + 0.0  # no -0.0
