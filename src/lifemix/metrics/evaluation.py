"""One call, one table: a fitted model measured on test data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..errors import InputError
from ..target import Target
from .auc import auc_td
from .brier import brier_score, integrated_brier_score
from .concordance import concordance_td
from .dcalibration import d_calibration
from .inputs import Floats, check_horizons, observed

__all__ = ["evaluate"]

_GRID = 101
_BLOCK = 256


def evaluate(
    model: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    horizons: ArrayLike,
    *,
    competing: Literal["censored", "wolbers"] = "censored",
    compat: Literal["sksurv"] | None = None,
) -> pd.DataFrame:
    """Measure a fitted model on test data: concordance, Brier score and AUC at each horizon, and what sums them up.

    model: anything with ``predict_survival_function(X, times)``, and for competing risks
    ``predict_cumulative_incidence(X, times, event=m)``, both of shape (n, n_times).
    y_train: the target that the model was fitted on; the censoring distribution is estimated from it.
    horizons: (h,); the risk at a horizon is one minus survival, or the cumulative incidence of the event.
    competing, compat: as in ``concordance_td``; ``compat`` applies to every metric that has it.

    Returns a DataFrame with the columns ``metric``, ``event``, ``horizon``, ``value``, one row a value:
    ``concordance``, ``brier``, ``auc`` for each event and horizon;
    ``integrated_brier`` for each event, from 0 to the last horizon (trapezoidal rule on 101 points);
    for one kind of event ``d_calibration`` and ``d_calibration_p``, the statistic and its p-value, with horizon NaN.
    What the data cannot give is NaN, with a warning.
    """
    train, test = observed(y_train, "y_train"), observed(y_test, "y_test")
    times = np.sort(check_horizons(horizons))
    n_events = max(train.n_events, test.n_events, 1)
    grid = np.linspace(0, times[-1], _GRID)
    # At 0 survival is 1, whatever the model; models are asked for times in order.
    wanted, place = np.unique(np.concatenate([times, grid[1:]]), return_inverse=True)
    rows: list[tuple[str, int, float, float]] = []
    for event in range(1, n_events + 1):
        survival = _predict(model, X_test, wanted, event if n_events > 1 else None, len(test))[:, place]
        at_horizons, on_grid = survival[:, : len(times)], survival[:, len(times) :]
        on_grid = np.hstack([np.ones((len(test), 1)), on_grid])
        concordances = [
            concordance_td(train, test, 1 - column, t, event, competing=competing, compat=compat)
            for column, t in zip(at_horizons.T, times, strict=True)
        ]
        rows += _rows("concordance", event, times, concordances)
        rows += _rows("brier", event, times, brier_score(train, test, at_horizons, times, event, compat=compat))
        rows += _rows("auc", event, times, auc_td(train, test, 1 - at_horizons, times, event, compat=compat))
        total = integrated_brier_score(train, test, on_grid, grid, event, compat=compat, rule="trapezoid")
        rows += _rows("integrated_brier", event, times[-1:], [total])
    if n_events == 1:
        result = d_calibration(test, _survival_at_own_time(model, X_test, test))
        rows += _rows("d_calibration", 1, [np.nan], [result.statistic])
        rows += _rows("d_calibration_p", 1, [np.nan], [result.p_value])
    return pd.DataFrame(rows, columns=["metric", "event", "horizon", "value"])


def _rows(metric: str, event: int, horizons: Any, values: Any) -> Iterator[tuple[str, int, float, float]]:
    for horizon, value in zip(horizons, values, strict=True):
        yield metric, event, float(horizon), float(value)


def _predict(model: Any, X: Any, times: Floats, event: int | None, n: int) -> Floats:
    """Return the survival (n, n_times), or with an event one minus its cumulative incidence."""
    if event is None:
        values = np.asarray(model.predict_survival_function(X, times), dtype=np.float64)
    else:
        values = 1 - np.asarray(model.predict_cumulative_incidence(X, times, event=event), dtype=np.float64)
    if values.shape != (n, len(times)):
        raise InputError(f"the model's prediction must have shape ({n}, {len(times)}); got {values.shape}.")
    return values


def _survival_at_own_time(model: Any, X: Any, test: Target) -> Floats:
    """Return S_i(T_i) of every row, asking for blocks of rows and times and keeping the diagonal; shape (n,)."""
    values = np.empty(len(test))
    for first in range(0, len(test), _BLOCK):
        rows = slice(first, first + _BLOCK)
        times, at = np.unique(test.time[rows], return_inverse=True)
        block = _predict(model, X.iloc[rows] if hasattr(X, "iloc") else X[rows], times, None, len(at))
        values[rows] = block[np.arange(len(at)), at]
    return values
