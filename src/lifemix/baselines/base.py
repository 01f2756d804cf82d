"""Base classes of the baselines: one ``fit`` that checks and prepares the rows, and a risk score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._types import FloatArray
from ..checks import as_pandas, check_same_rows, check_weight, take_rows
from ..errors import InputError, SettingError
from ..preprocessing import TableLike, apply_preprocessor, learn_preprocessor, shape_of
from ..preprocessing.tabular import refuse_outcome_columns
from ..survival_model import SurvivalModel
from ..target import Target, TargetLike, as_target
from ._checks import check_target, leave_zero, refuse_paths

__all__ = ["Baseline", "WrappingModel", "chunks"]

_CELLS = 4_000_000  # numbers in one block of a chunked computation: 32 MB
_RISK_TIMES = 200


class Baseline(SurvivalModel):
    """Base class of the baselines: a model implements ``_fit(x, target, weight)`` and its curves."""

    _several_events: ClassVar[bool] = False
    _takes_entry: ClassVar[bool] = False
    _takes_intervals: ClassVar[bool] = False
    _takes_paths: ClassVar[bool] = (
        False  # several intervals per subject; what wraps others leaves it to them
    )
    _takes_weights: ClassVar[bool] = False
    _is_wrapper: ClassVar[bool] = False  # hands all rows on to other estimators

    __metadata_request__fit: ClassVar[Mapping[str, bool]] = {
        "groups": True
    }  # for scikit-learn: wanted if given

    preprocessor: Any

    def fit(
        self,
        X: TableLike,
        y: TargetLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Events at time 0 count as events at the smallest positive event time; rows censored at 0 and rows of weight 0
        carry no information and are left out.

        Parameters
        ----------
        X : DataFrame or array of n rows
            Numbers, categories, missing values (see ``preprocessor``).
        y : target
            n rows, see ``lifemix.make_target``.
        sample_weight : array-like of shape (n,), optional
            Case weights, where the model takes them.
        groups : array-like of shape (n,), optional
            The subject of each row, where the target does not say it; rows held out for early stopping are those of
            whole subjects.

        Returns
        -------
        self
            The fitted model.
        """
        self._check_settings()
        owner = type(self).__name__
        named = as_target(y)  # score gets these subjects, not the groups
        target = named.grouped(groups)
        check_target(target, owner, self._several_events, self._takes_entry, self._takes_intervals)
        if target.path is not None and not self._takes_paths:
            refuse_paths(target, owner)
        rows = shape_of(X)[0]
        check_same_rows(rows, len(target))
        refuse_outcome_columns(X, target)
        if sample_weight is not None and not self._takes_weights:
            raise SettingError(
                f"{owner} does not take sample_weight. Leave it out, or use a model that takes it, such as CoxPH."
            )
        weight = check_weight(sample_weight, rows)
        target = leave_zero(target)
        self._learn_columns(X)
        matrix = self._learn_matrix(X)
        kept = np.flatnonzero((weight > 0) & (target.time > 0))
        useful = target.take(kept)
        if not (useful.event > 0).any():
            raise InputError(
                f"sample_weight must be above 0 in some row with an event; got {len(kept)} rows of positive weight, "
                "all of them censored. Give weight to rows with events."
            )
        self._learn_target(useful)
        self._learn_subjects(named, weight)
        if self._is_wrapper:
            self._fit(matrix, target, weight)
        else:
            self._fit(matrix[kept], useful, weight[kept])
        return self

    def _fit(self, x: Any, target: Target, weight: FloatArray) -> None:
        raise NotImplementedError

    def _learn_matrix(self, X: TableLike) -> Any:
        self.preprocessor_ = learn_preprocessor(self.preprocessor, X)
        return apply_preprocessor(self.preprocessor_, X)

    def _input_names(self) -> list[str] | None:
        """Return the names of the columns after preprocessing; None: the user's transformer does not know them."""
        try:
            return [str(name) for name in self.preprocessor_.get_feature_names_out()]
        except (AttributeError, TypeError, ValueError):
            return None

    def _risk(self, x: Any) -> FloatArray:
        """Return minus the mean survival time up to the last event time of training, by the trapezoidal rule."""
        times = self._risk_times()
        if len(times) > _RISK_TIMES:
            times = np.quantile(times, np.linspace(0, 1, _RISK_TIMES))
        times = np.concatenate([[0.0], times])
        widths = np.diff(times, append=times[-1]) + np.diff(times, prepend=0.0)
        blocks = chunks(len(x), len(times))
        return (
            -np.concatenate([self._survival(take_rows(x, rows), times) @ widths for rows in blocks])
            / 2
        )

    def _risk_times(self) -> FloatArray:
        """Return the times of that rule."""
        return self.event_times_


class WrappingModel(Baseline):
    """Base class of models made of other estimators, which get the table unchanged."""

    _several_events = True
    _takes_entry = True
    _takes_paths = True
    _takes_weights = True
    _is_wrapper = True
    _saves_event_times = False  # the models inside keep what they need

    def preprocess(self, X: TableLike) -> Any:
        """Return the table unchanged: the estimators inside have preprocessors of their own.

        Parameters
        ----------
        X : DataFrame or array of n rows
            The columns of the training data.

        Returns
        -------
        DataFrame or array of n rows
            The same.
        """
        check_is_fitted(self, "n_events_")
        return _as_table(X)

    def _learn_matrix(self, X: TableLike) -> Any:
        return _as_table(X)


def _as_table(X: Any) -> Any:
    X = as_pandas(X)
    shape_of(X)
    if sparse.issparse(X):
        return X.toarray()
    return X if hasattr(X, "shape") else np.asarray(X, dtype=object)


def chunks(rows: int, width: int) -> list[slice]:
    """Return slices of the rows such that a block of ``width`` numbers per row stays small in memory."""
    size = max(1, _CELLS // max(1, width))
    return [slice(start, start + size) for start in range(0, rows, size)]
