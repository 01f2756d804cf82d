"""What all baselines share: one ``fit`` that checks, one way to ask for curves, a risk score.

A model implements ``_fit(x, target, weight)`` and, for a matrix ``x`` of shape (n, features) and ``times`` of shape
(n_times,), either ``_survival(x, times)`` (one kind of event) or ``_incidence(x, times, event)`` (several kinds), each
of shape (n, n_times); where every kind of event has a law of its own, also ``_net_survival(x, times, event)``.
"""

from __future__ import annotations

from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..checks import check_event, check_times
from ..errors import InputError
from ..functions import survival_functions
from ..preprocessing import apply_preprocessor, learn_preprocessor, shape_of
from ..target import Target, as_target
from ._checks import Floats, check_target, check_weight, leave_zero
from ._scoring import mean_concordance

__all__ = ["SurvivalModel", "WrappingModel", "chunks", "take_rows"]

_CELLS = 4_000_000  # numbers in one block of a chunked computation: 32 MB
_RISK_TIMES = 200


class SurvivalModel(BaseEstimator):  # type: ignore[misc]
    """Base class of the baselines.

    Fitted: ``n_events_``, ``event_times_`` (distinct, sorted, of any kind of event), ``n_features_in_``, and
    ``feature_names_in_`` where X was a DataFrame.
    """

    _several_events = False
    _takes_entry = False
    _takes_weights = False
    _is_wrapper = False  # hands all rows on to other estimators

    n_events_: int
    event_times_: Floats
    n_features_in_: int
    preprocessor: Any

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to the table ``X`` and the target ``y`` (see ``lifemix.make_target``).

        Events at time 0 count as events at the smallest positive event time; rows censored at 0 and rows of weight 0
        carry nothing and are left out.
        """
        owner = type(self).__name__
        target = as_target(y)
        check_target(target, owner, self._several_events, self._takes_entry)
        rows, columns = shape_of(X)
        if rows != len(target):
            raise InputError(f"X and y must have the same rows; got {rows} in X and {len(target)} in y.")
        weight = check_weight(sample_weight, rows, owner, self._takes_weights)
        self._check_settings()
        target = leave_zero(target)
        self._learn_columns(X, columns)
        matrix = self._learn_matrix(X)
        kept = np.flatnonzero((weight > 0) & (target.time > 0))
        useful = target.take(kept)
        if not (useful.event > 0).any():
            raise InputError(f"sample_weight must be positive for some event; got {len(kept)} rows without one.")
        self._y_train = useful.to_array()
        self.n_events_ = useful.n_events
        self.event_times_ = np.unique(useful.time[useful.event > 0])
        if self._is_wrapper:
            self._fit(matrix, target, weight)
        else:
            self._fit(matrix[kept], useful, weight[kept])
        return self

    @overload
    def predict_survival_function(self, X: Any, times: ArrayLike) -> Floats: ...

    @overload
    def predict_survival_function(self, X: Any, times: None = None) -> NDArray[np.object_]: ...

    def predict_survival_function(self, X: Any, times: ArrayLike | None = None) -> Floats | NDArray[np.object_]:
        """Return ``P(T > t | x)``, T the time of the first event of any kind, of shape (n, n_times).

        Without ``times`` the curves come as functions of time, one a row, as scikit-survival's models give them.
        """
        if times is None:
            matrix = self._matrix(X)
            return survival_functions(lambda at: self._survival(matrix, at), shape_of(X)[0], self.event_times_)
        at, x = check_times(times, warn_unsorted=True), self._matrix(X)
        return self._survival(x, at)

    def predict_cumulative_incidence(self, X: Any, times: ArrayLike, event: int = 1) -> Floats:
        """Return ``P(T <= t, kind = event | x)`` of shape (n, n_times); one kind of event: one minus survival."""
        at, x = check_times(times, warn_unsorted=True), self._matrix(X)
        return np.minimum(self._incidence(x, at, check_event(event, self.n_events_)), 1.0)  # above 1 only by rounding

    @available_if(lambda self: self._has_net_law())  # type: ignore[untyped-decorator]
    def predict_net_survival(self, X: Any, times: ArrayLike, event: int = 1) -> Floats:
        """Return ``P(T_event > t | x)`` of shape (n, n_times), were there no other kinds of event.

        Models of incidences alone, as Fine-Gray and DeepHit, have no such method.
        """
        at, x, event = check_times(times, warn_unsorted=True), self._matrix(X), check_event(event, self.n_events_)
        return self._survival(x, at) if self.n_events_ == 1 else self._net_survival(x, at, event)

    def predict(self, X: Any) -> Floats:
        """Return a risk score of shape (n,), higher for an earlier event (of any kind)."""
        return self._risk(self._matrix(X))

    def score(self, X: Any, y: Any) -> float:
        """Return the mean concordance C^td at the 25, 50 and 75 % quantiles of the event times of training.

        Each kind of event counts alike, at its own quantiles; the censoring distribution is that of training.
        """
        check_is_fitted(self, "event_times_")
        return mean_concordance(self, self._y_train, X, y)

    def _fit(self, x: Floats, target: Target, weight: Floats) -> None:
        raise NotImplementedError

    def _survival(self, x: Floats, times: Floats) -> Floats:
        total = sum(self._incidence(x, times, event) for event in range(1, self.n_events_ + 1))
        return np.maximum(1.0 - total, 0.0)  # rounding only: incidences sum to at most 1

    def _incidence(self, x: Floats, times: Floats, event: int) -> Floats:
        return 1.0 - self._survival(x, times)

    def _net_survival(self, x: Floats, times: Floats, event: int) -> Floats:
        raise NotImplementedError

    def _has_net_law(self) -> bool:
        known_of_several = type(self)._net_survival is not SurvivalModel._net_survival
        return known_of_several or getattr(self, "n_events_", 1) == 1

    def _risk(self, x: Floats) -> Floats:
        """Return minus the mean survival time up to the last event time of training, by the trapezoidal rule."""
        times = self.event_times_
        if len(times) > _RISK_TIMES:
            times = np.quantile(times, np.linspace(0, 1, _RISK_TIMES))
        times = np.concatenate([[0.0], times])
        widths = np.diff(times, append=times[-1]) + np.diff(times, prepend=0.0)
        blocks = chunks(len(x), len(times))
        return -np.concatenate([self._survival(take_rows(x, rows), times) @ widths for rows in blocks]) / 2

    def _check_settings(self) -> None:
        """Refuse options that cannot be used; called before anything is computed."""

    def _learn_columns(self, X: Any, columns: int) -> None:
        self.n_features_in_ = columns
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.array([str(name) for name in X.columns], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _learn_matrix(self, X: Any) -> Floats:
        self.preprocessor_ = learn_preprocessor(self.preprocessor, X)
        return apply_preprocessor(self.preprocessor_, X)

    def _matrix(self, X: Any) -> Floats:
        check_is_fitted(self, "event_times_")
        _, columns = shape_of(X)
        return self._matrix_of(X, columns)

    def _matrix_of(self, X: Any, columns: int) -> Floats:
        return apply_preprocessor(self.preprocessor_, X)


class WrappingModel(SurvivalModel):
    """Base class of models made of other estimators, which get the table as it is."""

    _several_events = True
    _takes_entry = True
    _takes_weights = True
    _is_wrapper = True

    def _learn_matrix(self, X: Any) -> Any:
        return self._matrix_of(X, self.n_features_in_)

    def _matrix_of(self, X: Any, columns: int) -> Any:
        return X if hasattr(X, "shape") else np.asarray(X, dtype=object)


def take_rows(x: Any, rows: NDArray[np.intp] | slice) -> Any:
    """Return some rows of a matrix or a DataFrame."""
    return x.iloc[rows] if hasattr(x, "iloc") else x[rows]


def chunks(rows: int, width: int) -> list[slice]:
    """Return slices of the rows such that a block of ``width`` numbers a row stays small in memory."""
    size = max(1, _CELLS // max(1, width))
    return [slice(start, start + size) for start in range(0, rows, size)]
