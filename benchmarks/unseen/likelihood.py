"""The log-likelihood of test rows under models that have a density."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lifemix.checks import take_rows
from lifemix.target import Target, as_target

__all__ = ["mean_log_likelihood"]

Floats = NDArray[np.float64]
_BLOCK = 128
_STEP = 1e-4  # of the time: within it the share of an event type is measured


def mean_log_likelihood(model: Any, X: Any, y: Any) -> float | None:
    """Return the log-likelihood per row with a time above 0; None for step curves, and where it is not finite."""
    later = np.flatnonzero(as_target(y).time > 0)  # a density at 0 means nothing
    X, y = take_rows(X, later), y[later]
    if hasattr(model, "log_likelihood"):
        value = model.log_likelihood(X, y) / len(y)
    elif hasattr(model, "predict_distribution"):
        value = float(distribution_log_likelihood(model, X, as_target(y)).mean())
    else:
        return None
    return float(value) if np.isfinite(value) else None


def distribution_log_likelihood(model: Any, X: Any, target: Target) -> Floats:
    """Return log f_m(t) of rows with event m and log S(t) of the others.

    Of competing risks f_m is the density of the time of any event, times the share that m has of the events close to t.
    """
    values = np.empty(len(target))
    order = np.argsort(target.time, kind="stable")
    for first in range(0, len(target), _BLOCK):
        rows = order[first : first + _BLOCK]
        own = np.arange(len(rows))
        time, event = target.time[rows], target.event[rows]
        distribution = model.predict_distribution(take_rows(X, rows))
        with np.errstate(divide="ignore"):
            log_density = np.log(distribution.pdf(time)[own, own])
            log_survival = np.log(distribution.survival(time)[own, own])
            if distribution.n_events > 1:
                log_density += np.log(_share(distribution, time, np.maximum(event, 1)))
        values[rows] = np.where(event > 0, log_density, log_survival)
    return values


def _share(distribution: Any, time: Floats, event: NDArray[np.int64]) -> Floats:
    """Return which part of the events near each row's time are of its type."""
    own = np.arange(len(time))
    before, after = (
        distribution.cumulative_incidences(time * factor)[:, own, own]
        for factor in (1 - _STEP, 1 + _STEP)
    )
    steps = np.maximum(after - before, 0.0)
    return np.divide(
        steps[event - 1, own],
        steps.sum(axis=0),
        out=np.zeros(len(time)),
        where=steps.sum(axis=0) > 0,
    )
