"""The base class of all models: what a fitted model answers, and what ``fit`` learns first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from html import escape
from textwrap import fill
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._types import FloatArray
from .checks import (
    Rule,
    as_pandas,
    check_event,
    check_same_rows,
    check_settings,
    check_times,
    take_rows,
    warn_user,
)
from .preprocessing import TableLike, apply_preprocessor, shape_of
from .preprocessing.tabular import columns_by_name
from .registry import fitted_attributes
from .start_stop import Intervals, path_curves
from .target import Target, TargetLike, as_target, refuse_unknown_types, subject_codes
from .target_summary import SummarisedTarget, TargetSummary

__all__ = ["SurvivalFunction", "SurvivalModel"]


class SurvivalFunction:
    """The survival curve (or cumulative hazard) of one row as a function of time.

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

    def __init__(
        self, curves: Callable[[tuple[float, ...]], FloatArray], row: int, x: FloatArray
    ) -> None:
        self._curves, self._row, self.x = curves, row, x

    def __call__(self, x: ArrayLike) -> FloatArray:
        """Return the curve at the times ``x``, in their shape."""
        times = np.asarray(x, dtype=np.float64)
        values = self._curves(tuple(check_times(times.ravel(), "x").tolist()))[self._row]
        return values.reshape(times.shape)[()]

    @property
    def y(self) -> FloatArray:
        """The curve at ``x``."""
        return self(self.x)


class SurvivalModel(BaseEstimator):  # type: ignore[misc]
    """Base class of ``DeepSurvivalMachines`` and of the models in ``lifemix.baselines``.

    A subclass declares the rules of its options in ``_rules``. Its ``fit`` calls
    ``_check_settings`` before any work, and ``_learn_target``, ``_learn_subjects`` and
    ``_learn_columns``. It implements ``_survival(x, times)`` or ``_incidence(x, times, event)`` for
    the matrix ``x`` that ``preprocess`` returns and a vector of times, each with a result of shape
    ``[n_rows, n_times]``; and ``_net_survival(x, times, event)`` if each event type has its own
    distribution of times.

    Attributes
    ----------
    n_events_ : int
        The number of event types.
    training_target_ : Target
        The times and events of the training rows; of a loaded model, rows that stand for them (see
        ``lifemix.target_summary``).
    training_summary_ : TargetSummary
        The counts of the training times and events that ``save`` writes.
    event_times_ : array
        The distinct times of events of any type among the training rows, ascending; the upper ends
        of intervals.
    last_event_time_ : float
        The last event time.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of str
        Their names, if X has names.
    preprocessor_ : transformer
        The fitted preprocessor.

    """

    _rules: ClassVar[Mapping[str, Rule]] = {}
    _saves_event_times: ClassVar[bool] = True  # whether predictions depend on ``event_times_``
    _needs_columns: ClassVar[bool] = True  # whether a column must vary

    # See ``_hashes``; None without subjects, and in a loaded model.
    _training_rows: tuple[NDArray[np.uint64], str] | None = None

    n_events_: int
    last_event_time_: float
    n_features_in_: int
    preprocessor_: Any

    # Prediction.

    def predict_survival_function(
        self, X: TableLike, times: ArrayLike | None = None, *, return_array: bool = False
    ) -> Any:
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
            return self._functions(X, lambda survival: survival)
        times = self.event_times_ if times is None else times
        checked_times = check_times(times, warn_unsorted=True)
        return self._survival(self.preprocess(X), checked_times)

    def predict_cumulative_incidence(
        self, X: TableLike, times: ArrayLike, event: int = 1
    ) -> FloatArray:
        """Return the cumulative incidence: the probability of the event by each time.

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
        checked_times, x = check_times(times, warn_unsorted=True), self.preprocess(X)
        event = check_event(event, self.n_events_)
        return np.minimum(self._incidence(x, checked_times, event), 1.0)  # rounding errors

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
        checked_times, x = check_times(times, warn_unsorted=True), self.preprocess(X)
        return np.minimum(self._incidences(x, checked_times), 1.0)

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
        """Return survival, or a cumulative incidence, with covariates that change over time.

        The hazard at t is that of the row whose interval contains t, ``h(t | x(t))``: survival is
        the product of ``S(stop) / S(start)`` over the rows. If covariates are measured on the
        living, this is no probability for a future of known length, because a path is known only as
        far as the subject lived: predict at landmarks instead.

        Parameters
        ----------
        X : table of n rows
            The columns of training, one row per interval.
        start, stop : array-like of shape (n,)
            The interval ``(start, stop]`` of a row; those of one subject must be consecutive.
        subject : array-like of shape (n,)
            Identifier of the subject of each row.
        times : array-like of shape (n_times,)
            Times from the origin.
        event : int, optional
            None for survival, P(no event by t); an event type for its cumulative incidence.
        extend : bool, default False
            Whether the last covariates of a subject hold beyond its last stop. If not, results
            beyond it are NaN, with a warning.

        Returns
        -------
        array of shape (n_subjects, n_times)
            One row per subject, in order of first appearance, given survival to its first start.

        """
        x, codes = self.preprocess(X), subject_codes(subject)
        intervals = Intervals.read(shape_of(X)[0], start, stop, codes, subject)
        checked_times = check_times(times, warn_unsorted=True)
        if event is not None:
            event = check_event(event, self.n_events_)
        return path_curves(
            intervals,
            checked_times,
            lambda rows, since, grid: self._conditional(take_rows(x, rows), since, grid, event),
            event is not None,
            extend,
        )

    @available_if(lambda self: self._has_net_survival())  # type: ignore[untyped-decorator]
    def predict_net_survival(self, X: TableLike, times: ArrayLike, event: int = 1) -> FloatArray:
        """Return the net survival ``P(T_event > t | x)``, as if there were no other event types.

        Models of incidences alone, such as Fine-Gray and DeepHit, have this method only for one
        event type.

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
        checked_times, x = check_times(times, warn_unsorted=True), self.preprocess(X)
        event = check_event(event, self.n_events_)
        if self.n_events_ == 1:
            return self._survival(x, checked_times)
        return self._net_survival(x, checked_times, event)

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

        Each event type has the same weight, at its own quartiles; the censoring distribution is
        that of the training rows.

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
            If some rows belong to training subjects, unless all rows are the training rows. A
            loaded model does not know its training subjects and does not warn.

        """
        from .metrics import mean_concordance

        x, target = self.preprocess(X), as_target(y)
        check_same_rows(shape_of(x)[0], len(target))
        if self._training_rows is not None and target.subject is not None:
            subjects, all_rows = _hashes(target)
            n_known = int(np.isin(subjects, self._training_rows[0]).sum())
            if n_known and all_rows != self._training_rows[1]:
                warn_user(
                    f"{n_known} of {len(target)} scored rows belong to subjects that the model was "
                    "trained on: the score is too high for new subjects. Keep the rows of one "
                    "subject together: in scikit-learn's searches use "
                    "cv=lifemix.splits.EventStratifiedKFold(), or GroupKFold() with groups=."
                )
        refuse_unknown_types(target.event, self.n_events_, "y")
        return mean_concordance(
            lambda times, event: self._incidence(x, times, event), self.training_target_, target
        )

    def preprocess(self, X: TableLike) -> Any:
        """Return the matrix that the model works on.

        Parameters
        ----------
        X : table of n rows
            The columns of training: a DataFrame may have them in any order, and others, which are
            ignored; an array has exactly these.

        Returns
        -------
        array of shape (n, n_inputs)
            Finite numbers.

        """
        check_is_fitted(self, "n_events_")
        if hasattr(self, "feature_names_in_"):
            X = columns_by_name(X, self.feature_names_in_.tolist())
        return self._matrix(X)

    def _matrix(self, X: TableLike) -> Any:
        """Return the matrix of a table with the columns of training."""
        return apply_preprocessor(self.preprocessor_, X, columns_required=self._needs_columns)

    @cached_property
    def event_times_(self) -> FloatArray:
        """The distinct times of events of any type among the training rows, ascending.

        An interval counts at its upper end. A loaded model whose curves do not depend on these
        times has the ends of intervals of time instead, each of which contains several.
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
        """The counts of the training rows that ``save`` writes."""
        check_is_fitted(self, "n_events_")
        return TargetSummary.of(self.training_target_, self._saves_event_times)

    def predict_cumulative_hazard_function(
        self, X: TableLike, times: ArrayLike | None = None, *, return_array: bool = False
    ) -> FloatArray | NDArray[np.object_]:
        """Return the cumulative hazard ``-log P(T > t | x)`` of the first event of any type.

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
            return self._functions(X, _cumulative_hazard)
        times = self.event_times_ if times is None else times
        return _cumulative_hazard(self.predict_survival_function(X, times))

    def _functions(
        self, X: TableLike, transform: Callable[[FloatArray], FloatArray]
    ) -> NDArray[np.object_]:
        """Return one ``SurvivalFunction`` per row, of a transform of survival."""
        x = self.preprocess(X)
        survival = self._survival_curves(x)

        @lru_cache(maxsize=1)  # usually every row is evaluated at the same times
        def curves(times: tuple[float, ...]) -> FloatArray:
            return transform(survival(np.array(times)))

        functions = np.empty(len(x), dtype=object)
        functions[:] = [SurvivalFunction(curves, row, self.event_times_) for row in range(len(x))]
        return functions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"  # what sklearn.inspection takes
        tags.regressor_tags = RegressorTags()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        preprocessor = getattr(self, "preprocessor", "auto")  # some models ignore X or pass it on
        tags.input_tags.allow_nan = preprocessor is not None
        tags.input_tags.categorical = tags.input_tags.string = isinstance(preprocessor, str)
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        # Scikit-learn breaks lines only of classes that inherit __repr__.
        indent = " " * (len(type(self).__name__) + 1)
        text = fill(
            super().__repr__(N_CHAR_MAX),
            width=80,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return "\n# ".join([text, *self._chosen_settings()])

    def _repr_html_inner(self) -> str:
        notes = "".join(f"<li>{escape(note)}</li>" for note in self._chosen_settings())
        diagram = str(super()._repr_html_inner())
        return f"{diagram}<p>Chosen from the data:</p><ul>{notes}</ul>" if notes else diagram

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        return bundle | {"text/html": self._repr_html_inner()} if "text/html" in bundle else bundle

    def _chosen_settings(self) -> list[str]:
        """Return what a fit chose from the data, with the reasons; for the display of the model."""
        return []

    # What subclasses implement.

    def _survival(self, x: Any, times: FloatArray) -> FloatArray:
        return np.maximum(1.0 - self._incidences(x, times).sum(axis=0), 0.0)  # rounding errors

    def _survival_curves(self, x: Any) -> Callable[[FloatArray], FloatArray]:
        """Return survival as a function of the times; a network is evaluated only once."""
        return lambda times: self._survival(x, times)

    def _incidence(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        return 1.0 - self._survival(x, times)

    def _incidences(self, x: Any, times: FloatArray) -> FloatArray:
        events = range(1, self.n_events_ + 1)
        return np.stack([self._incidence(x, times, event) for event in events])

    def _net_survival(self, x: Any, times: FloatArray, event: int) -> FloatArray:
        raise NotImplementedError

    def _has_net_survival(self) -> bool:
        is_defined = type(self)._net_survival is not SurvivalModel._net_survival
        return is_defined or getattr(self, "n_events_", 1) == 1

    def _conditional(
        self, x: Any, since: FloatArray, times: FloatArray, event: int | None
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return survival and incidence at the times, given survival of row i to ``since[i]``."""
        grid = np.unique(np.append(since, times))
        rows, at_start = np.arange(len(since)), np.searchsorted(grid, since)
        at_times = np.searchsorted(grid, times)
        survival = self._survival(x, grid)
        survival_at_start = survival[rows, at_start][:, None]
        # Quotients are 0 if nobody survives to the start.
        divisor = np.where(survival_at_start > 0, survival_at_start, np.inf)
        conditional_survival = np.clip(survival[:, at_times] / divisor, 0.0, 1.0)
        if event is None or self.n_events_ == 1:
            return conditional_survival, 1.0 - conditional_survival
        incidence = self._incidence(x, grid, event)
        gain = incidence[:, at_times] - incidence[rows, at_start][:, None]
        return conditional_survival, np.clip(gain / divisor, 0.0, 1.0)

    def _risk(self, x: Any) -> FloatArray:
        raise NotImplementedError

    # What ``fit`` calls.

    def _check_settings(self) -> None:
        """Refuse options that cannot be used."""
        check_settings(self)

    def _learn_target(self, target: Target) -> None:
        for name in ("event_times_", "training_summary_", "_training_rows"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self.training_target_ = replace(target.joined(), subject=None)
        self.n_events_ = target.n_events
        self.last_event_time_ = float(target.event_times[-1])

    def _learn_subjects(self, target: Target, weight: FloatArray) -> None:
        """Remember the training subjects for ``score``; ``save`` does not write them."""
        if target.subject is not None:
            self._training_rows = _hashes(target.take(weight > 0))

    def _learn_columns(self, X: TableLike) -> None:
        table = as_pandas(X)
        self.n_features_in_ = shape_of(table)[1]
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if hasattr(table, "columns"):
            self.feature_names_in_ = np.array([str(name) for name in table.columns], dtype=object)

    # Model files.

    def _saved_attributes(self) -> dict[str, Any]:
        """Return the fitted attributes for a model file: counts instead of the training rows."""
        if not hasattr(self, "n_events_"):
            return {}
        attributes = fitted_attributes(self) | {"training_summary_": self.training_summary_}
        for name in ("training_target_", "event_times_", "n_events_", "last_event_time_"):
            attributes.pop(name, None)
        return attributes

    def _validate(self) -> None:
        """Check and complete a model that was read from a file."""
        from .preprocessing import Passthrough, SequencePreprocessor, TabularPreprocessor

        self._check_settings()
        if not isinstance(self.training_summary_, TargetSummary):
            raise ValueError("training_summary_ must be a TargetSummary")
        if self._saves_event_times and self.training_summary_.event_times is None:
            raise ValueError("the event times are missing")
        self.n_events_ = self.training_summary_.n_events
        self.last_event_time_ = float(self.training_summary_.last_event_time)
        names = getattr(self, "feature_names_in_", None)
        if names is not None and np.shape(names) != (self.n_features_in_,):
            raise ValueError(f"feature_names_in_ must name {self.n_features_in_} columns")
        preprocessors = (Passthrough, SequencePreprocessor, TabularPreprocessor)
        if hasattr(self, "preprocessor") and type(self.preprocessor_) not in preprocessors:
            raise ValueError("preprocessor_ must be a fitted preprocessor")

    @property
    def _n_inputs(self) -> int:
        """The number of columns after preprocessing."""
        blocks = getattr(self.preprocessor_, "blocks_", None)  # of a ``SequencePreprocessor``
        if blocks is not None:
            return sum(block.width for block in blocks)
        return len(self.preprocessor_.get_feature_names_out())


def _hashes(target: Target) -> tuple[NDArray[np.uint64], str]:
    """Return a hash of the subject of each row, and one of all rows together."""
    rows = hashlib.sha256(target.to_array().tobytes()).hexdigest()
    return pd.util.hash_array(np.asarray(target.subject)), rows


def _cumulative_hazard(survival: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return -np.log(survival) + 0.0  # no -0.0
