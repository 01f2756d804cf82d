"""Names that users of lifelines, scikit-survival and pycox type: they work where they mean the same, or name ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .errors import InputError
from .target import make_target

__all__ = ["OTHER_NAMES", "with_column_names", "with_return_array"]

OTHER_NAMES = {
    "predict_percentile": "predict_distribution(X).quantile(q)",
    "predict_quantile": "predict_distribution(X).quantile(q)",
    "predict_hazard": "predict_distribution(X).hazard(times)",
    "predict_cumulative_hazard": "predict_cumulative_hazard_function(X, times)",
    "predict_partial_hazard": "predict(X), a risk score that is higher for an earlier event",
    "predict_log_partial_hazard": "predict(X), a risk score that is higher for an earlier event",
    "predict_risk": "predict(X), or predict_cumulative_incidence(X, times)",
    "predict_survival": "predict_survival_function(X, times)",
    "predict_surv": "predict_survival_function(X, times)",
    "predict_cif": "predict_cumulative_incidences(X, times)",
    "predict_pdf": "predict_distribution(X).pdf(times)",
    "predict_mean": "predict_expectation(X)",
    "concordance_index": "score(X, y), or lifemix.metrics.concordance",
    "concordance_index_": "score(X, y), or lifemix.metrics.concordance",
    "concordance_index_censored": "score(X, y), or lifemix.metrics.concordance",
    "concordance_index_ipcw": "score(X, y), or lifemix.metrics.concordance",
    "concordance_td": "score(X, y), or lifemix.metrics.concordance_td",
    "unique_times_": "event_times_",
    "print_summary": "lifemix.metrics.evaluate, or lifemix.report.write_report",
    "summary": "lifemix.metrics.evaluate, or lifemix.report.write_report",
    "fit_right_censoring": "fit(X, make_target(time, event))",
    "fit_interval_censoring": "fit(X, make_target(lower, event, upper=upper))",
    "fit_left_censoring": "fit(X, make_target(0 * time, event, upper=time))",
}
"""What to use in place of a name of another package."""


def with_column_names(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``fit`` that also takes a DataFrame with its outcome, as lifelines: duration_col, event_col, entry_col.

    Parameters
    ----------
    fit : callable
        A method ``fit(self, X, y, ...)``.

    Returns
    -------
    callable
        The same method; without ``duration_col`` nothing changes.
    """

    @wraps(fit)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        if "duration_col" not in options:
            return fit(self, *arguments, **options)
        named = {name: options.pop(name, None) for name in ("duration_col", "event_col", "entry_col", "weights_col")}
        X, y, weight = _taken_apart(options.pop("df", arguments[0] if arguments else None), named)
        if weight is not None:
            options["sample_weight"] = weight
        return fit(self, X, y, **options)

    return call


def _taken_apart(frame: Any, named: dict[str, str | None]) -> tuple[Any, Any, Any]:
    columns = list(getattr(frame, "columns", ()))
    absent = [name for name in named.values() if name is not None and name not in columns]
    if absent:
        raise InputError(
            f"the table has no column {absent[0]!r}; it has {columns[:20]}. Check duration_col, event_col."
        )
    values: list[Any] = [None if name is None else frame[name] for name in named.values()]
    time, event, entry, weight = values
    y = make_target(time, np.ones(len(frame), dtype=int) if event is None else event, entry)
    return frame.drop(columns=[name for name in named.values() if name is not None]), y, weight


def with_return_array(predict: Callable[..., Any]) -> Callable[..., Any]:
    """Return a ``predict_survival_function`` that also takes ``return_array``, as scikit-survival.

    Parameters
    ----------
    predict : callable
        A method ``predict_survival_function(self, X, times=None, ...)``.

    Returns
    -------
    callable
        The same method; ``return_array=True`` without times is an array at ``event_times_``.
    """

    @wraps(predict)
    def call(self: Any, X: Any, times: Any = None, *arguments: Any, **options: Any) -> Any:
        if options.pop("return_array", False) and times is None:
            times = self.event_times_
        return predict(self, X, times, *arguments, **options)

    return call
