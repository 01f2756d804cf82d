"""Predictions of a fitted model in the form that the metrics take: the one place that chooses survival or incidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._types import FittedSurvivalModel, FloatArray
from ..checks import as_array, as_pandas
from ..errors import InputError
from ..target import TargetLike, as_target

if TYPE_CHECKING:
    from ..preprocessing import TableLike  # imports scikit-learn

__all__ = ["predicted_risk", "predicted_risks", "survival_at_own_time", "take_rows"]

_BLOCK = 256


def predicted_risk(
    model: FittedSurvivalModel, X: TableLike, times: ArrayLike, event: int, n_events: int
) -> FloatArray:
    """Return the predicted probability of an event by each time.

    Parameters
    ----------
    model : fitted survival model
        Anything with ``predict_survival_function(X, times)`` and, for competing risks,
        ``predict_cumulative_incidence(X, times, event=m)``.
    X : DataFrame or array of n rows
        Covariates.
    times : array-like of shape (n_times,)
        Ascending times.
    event : int
        The event type.
    n_events : int
        Number of event types: with one, the risk is one minus survival, with more the cumulative incidence.

    Returns
    -------
    array of shape (n, n_times)
        Probabilities.

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> from lifemix.baselines import KaplanMeier
    >>> X = [[0.0], [1.0]]
    >>> model = KaplanMeier().fit(X, make_target([1.0, 2.0], [1, 1]))
    >>> print(metrics.predicted_risk(model, X, [0.5, 1.5], event=1, n_events=1))
    [[0.  0.5]
     [0.  0.5]]
    """
    if n_events == 1:
        return 1 - _checked(model.predict_survival_function(X, times), X, times)
    return _checked(model.predict_cumulative_incidence(X, times, event=event), X, times)


def predicted_risks(
    model: FittedSurvivalModel, X: TableLike, times: ArrayLike, n_events: int
) -> FloatArray:
    """Return the predicted probability of every event type by each time.

    Parameters
    ----------
    model : fitted survival model
        Anything with ``predict_survival_function(X, times)`` and, for competing risks,
        ``predict_cumulative_incidence(X, times, event=m)``.
    X : DataFrame or array of n rows
        Covariates.
    times : array-like of shape (n_times,)
        Ascending times.
    n_events : int
        Number of event types.

    Returns
    -------
    array of shape (n_events, n, n_times)
        Probabilities.

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> from lifemix.baselines import AalenJohansen
    >>> X = [[0.0], [1.0]]
    >>> model = AalenJohansen().fit(X, make_target([1.0, 2.0], [1, 2]))
    >>> print(metrics.predicted_risks(model, X, [1.5, 2.5], n_events=2)[:, 0])
    [[0.5 0.5]
     [0.  0.5]]
    """
    if n_events > 1 and hasattr(
        model, "predict_cumulative_incidences"
    ):  # all event types in one integration
        return np.stack(
            [_checked(risk, X, times) for risk in model.predict_cumulative_incidences(X, times)]
        )
    return np.stack(
        [predicted_risk(model, X, times, event, n_events) for event in range(1, n_events + 1)]
    )


def survival_at_own_time(
    model: FittedSurvivalModel, X: TableLike, target: TargetLike
) -> FloatArray:
    """Return the predicted survival of every row at its own time, given survival to its entry.

    Parameters
    ----------
    model : fitted survival model
        Anything with ``predict_survival_function(X, times)``.
    X : DataFrame or array of n rows
        Covariates.
    target : target
        The observed times of the same rows, see ``lifemix.make_target``.

    Returns
    -------
    array of shape (n,)
        Probabilities; uniformly distributed where the model is right and nothing is censored. Of the intervals of
        paths, one per subject in order of first appearance: the product along its rows.

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> from lifemix.baselines import KaplanMeier
    >>> X, y = [[0.0], [1.0]], make_target([1.0, 2.0], [1, 1])
    >>> print(metrics.survival_at_own_time(KaplanMeier().fit(X, y), X, y))
    [0.5 0. ]
    """
    target = as_target(target)
    values = np.empty(len(target))
    order = np.argsort(
        target.time, kind="stable"
    )  # neighbours share times, so that a block has few distinct ones
    for first in range(0, len(target), _BLOCK):
        rows = order[first : first + _BLOCK]
        wanted = np.concatenate([target.time[rows], target.entry[rows]])
        times, place = np.unique(wanted, return_inverse=True)
        some = take_rows(X, rows)
        block = _checked(model.predict_survival_function(some, times), some, times)
        own, entry = (
            block[np.arange(len(rows)), place[half]]
            for half in (slice(len(rows)), slice(len(rows), None))
        )
        values[rows] = np.divide(own, entry, out=np.zeros(len(rows)), where=entry > 0)
    if target.path is None:
        return values
    along = np.ones(len(target.joined()))
    np.multiply.at(along, target.path_numbers, values)
    return along


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of a table, an array or a sparse matrix."""
    X = as_pandas(X)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X.tocsr()[rows] if sparse.issparse(X) else as_array(X)[rows]


def _checked(prediction: Any, X: Any, times: ArrayLike) -> FloatArray:
    values = np.asarray(prediction, dtype=np.float64)
    shape = (np.shape(X)[0], np.size(times))
    if values.shape != shape:
        raise InputError(f"the model's prediction must have shape {shape}; got {values.shape}.")
    return values
