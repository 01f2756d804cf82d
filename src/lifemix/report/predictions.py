"""What the report and the doctor ask of any model, in one form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..target import Target
from .inputs import has_mixture

__all__ = ["Floats", "incidences", "quick_incidences", "survival_at_own_time", "take_rows"]

Floats = NDArray[np.float64]
_BLOCK = 256


def incidences(model: Any, X: Any, times: Floats, n_events: int) -> Floats:
    """Return the probability of each kind of event by each time, ``(n_events, n, n_times)``."""
    if n_events == 1:
        return 1.0 - np.asarray(model.predict_survival_function(X, times), dtype=np.float64)[None]
    if has_mixture(model):
        return np.asarray(model.predict_distribution(X).cumulative_incidences(times))  # all events in one integration
    kinds = range(1, n_events + 1)
    return np.stack([np.asarray(model.predict_cumulative_incidence(X, times, event=m), np.float64) for m in kinds])


def survival_at_own_time(model: Any, X: Any, target: Target) -> Floats:
    """Return the predicted survival of every row at its own time, given survival to its entry; (n,)."""
    values = np.empty(len(target))
    order = np.argsort(target.time, kind="stable")  # neighbours share times, so that blocks have few different ones
    for first in range(0, len(target), _BLOCK):
        rows = order[first : first + _BLOCK]
        times, at = np.unique(np.concatenate([target.time[rows], target.entry[rows]]), return_inverse=True)
        block = np.asarray(model.predict_survival_function(take_rows(X, rows), times), dtype=np.float64)
        own, entry = block[np.arange(len(rows)), at[: len(rows)]], block[np.arange(len(rows)), at[len(rows) :]]
        values[rows] = np.divide(own, entry, out=np.zeros(len(rows)), where=entry > 0)
    return values


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of a table."""
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]


def quick_incidences(model: Any, X: Any, times: Floats, n_events: int) -> Floats:
    """Return ``incidences`` for pictures and importances, in much less time; accurate to about 1e-4.

    Between neighbours of a fine grid the kinds of event share the fall of S in proportion to the rises of their
    cumulative hazards, so that the incidences and S still add up to 1. Members of an ensemble are averaged.
    """
    if n_events == 1 or not has_mixture(model):
        return incidences(model, X, times, n_events)
    last = float(np.max(times))
    fine = np.unique(np.concatenate([times, np.linspace(0, last, 97)[1:], last * np.geomspace(1e-4, 1, 48)]))
    place = np.searchsorted(fine, times)
    matrix = model.preprocess(X)
    total = np.zeros((n_events, len(matrix), len(times)))
    for member in model.network_.members():
        law = member.distribution(matrix)
        net = np.stack([law.net(event).survival(fine) for event in range(1, n_events + 1)])
        hazard = -np.log(np.maximum(net, 1e-300))
        rises = np.diff(hazard, axis=2, prepend=0.0)
        fall = -np.diff(np.exp(-hazard.sum(axis=0)), axis=1, prepend=1.0)
        together = rises.sum(axis=0)
        shares = np.divide(rises, together, out=np.zeros_like(rises), where=together > 0)
        total += np.cumsum(shares * fall, axis=2)[:, :, place]
    return total / len(model.network_)
