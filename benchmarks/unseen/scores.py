"""How good the predictions for the test rows of one fold are."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from lifemix import metrics
from lifemix.checks import take_rows
from lifemix.target import as_target

from .likelihood import mean_log_likelihood

__all__ = ["fold_scores", "measure"]

_TIMES = 50


def fold_scores(model: Any, X: Any, y: Any, train: Any, test: Any) -> dict[str, Any]:
    """Fit on the training rows, and measure on the test rows."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(take_rows(X, train), y[train])
        fitted = time.process_time()
        scores = measure(model, take_rows(X, test), y[train], y[test])
    return scores | {"fit_seconds": fitted - start, "predict_seconds": time.process_time() - fitted}


def measure(model: Any, X: Any, y_train: Any, y_test: Any) -> dict[str, Any]:
    """Return the scores of a fitted model on test rows."""
    known = as_target(y_train)
    times = known.time[known.event > 0]
    last = min(as_target(y_test).time.max(), known.time.max())
    low, high = np.quantile(times, [0.05, 0.9])
    grid = np.linspace(low, min(high, np.nextafter(last, 0)), _TIMES)
    incidences = model.predict_cumulative_incidences(X, grid)
    events = range(1, len(incidences) + 1)
    brier = [
        metrics.integrated_brier_score(
            y_train, y_test, 1 - incidences[event - 1], grid, event if len(incidences) > 1 else None
        )
        for event in events
    ]
    middle = float(np.median(times))
    ici = [
        metrics.integrated_calibration_index(
            y_test,
            model.predict_cumulative_incidence(X, [middle], event=event)[:, 0],
            middle,
            event=event,
        )
        for event in events
    ]
    if len(incidences) == 1:
        c = metrics.concordance(y_test, model.predict(X))
    else:
        c = metrics.mean_concordance(
            lambda at, event: model.predict_cumulative_incidence(X, at, event=event),
            y_train,
            y_test,
        )
    own = np.clip(metrics.survival_at_own_time(model, X, as_target(y_test)), 0, 1)
    uniform = metrics.d_calibration(y_test, own)
    return {
        "ibs": float(np.mean(brier)),
        "c": float(c),
        "ici": float(np.mean(ici)),
        "d": uniform.statistic,
        "d_p": uniform.p_value,
        "log_likelihood": mean_log_likelihood(model, X, y_test),
    }
