"""The weights of the models in LifeMix: least Brier score on rows that the models were not trained on.

The censoring-weighted Brier score of ``sum_j w_j F_j`` is a quadratic function of w. Integrated over time and summed
over event types, it is minimised over weights that are non-negative and add up to 1. A penalty towards equal weights
fades as the number of events grows, because a few events do not show which model is better.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import nnls

from .._types import BoolArray, FloatArray
from ..errors import LifemixWarning
from ..metrics.weights import horizon_weights
from ..target import Target

__all__ = ["best_weights", "simplex_minimum"]


def best_weights(
    curves: FloatArray, target: Target, times: FloatArray, weight: FloatArray, prior_events: float
) -> FloatArray:
    """Return the weight of each model.

    The weights do not depend on the unit of time, on the scale of the case weights, or on whether each row occurs once
    or several times.

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
    products = np.zeros(
        (n_models, n_models)
    )  # of the errors of two models, summed over rows and times
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
    """Return the weight of the squared error of each row and time, and whether the event has happened by then."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # times beyond the follow-up have weight 0
        inverse = horizon_weights(target, target, times, event, None)
    past = target.time[:, None] <= times
    happened = past & (inverse.case > 0)[:, None]
    weight = np.where(past, (inverse.case + inverse.rival)[:, None], inverse.control)
    return np.where(inverse.defined, weight, 0.0), happened


def simplex_minimum(products: FloatArray) -> FloatArray:
    """Return the non-negative weights with sum 1 that minimise ``w' products w``, for a positive semi-definite matrix.

    Non-negative least squares minimises ``u' products u + (1 - sum(u))^2``. For u = s w, sum(w) = 1, its minimum over s
    is ``q / (1 + q)`` with ``q = w' products w``, so the best u is a multiple of the best w.
    """
    n_models = len(products)
    scale = np.trace(products) / n_models
    if scale <= 0:
        return np.full(n_models, 1 / n_models)
    values, vectors = np.linalg.eigh(products / scale)
    root = np.sqrt(np.clip(values, 0.0, None))[:, None] * vectors.T
    solution, _ = nnls(np.vstack([root, np.ones(n_models)]), np.append(np.zeros(n_models), 1.0))
    return np.asarray(solution / solution.sum())
