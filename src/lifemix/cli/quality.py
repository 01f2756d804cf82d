"""The quality of models on the same rows as one table: model, metric, event, horizon, value and limits."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from .._types import FloatArray
from ..errors import LifemixWarning
from ..metrics import (
    Measure,
    concordance_antolini,
    evaluate,
    evaluate_landmarks,
    landmark_risk,
    registered_measures,
)
from ..target import Target, TargetLike, as_target
from .console import Console

__all__ = ["measure", "show_quality"]

_RESAMPLES = 200
_MANY_ROWS = 5_000  # with more, intervals are narrow and slow to compute
_MODELS_PER_TABLE = 5
_DIRECTIONS = {"higher": " ↑", "lower": " ↓", None: ""}  # which values are better
_OTHER_LABELS = {
    "antolini": "Antolini's concordance",
    "log_likelihood": "log-likelihood per row",
    "seconds": "seconds per fit",
}


def measure(
    name: str,
    model: Any,
    y_train: TargetLike,
    X: Any,
    y: TargetLike,
    horizons: Sequence[float],
    seed: int | None = None,
    landmarks: Sequence[float] = (),
    window: float | None = None,
) -> pd.DataFrame:
    """Return the measures of a model on the rows of a table.

    Rows that are intervals of subjects are measured at landmarks, rows with late entry by Antolini's concordance,
    interval-censored rows by the likelihood alone. With a random seed there are bootstrap intervals.
    """
    train, test, tables = as_target(y_train), as_target(y), []
    options: dict[str, Any] = {"random_state": seed, "n_bootstrap": 0}
    if seed is not None:
        options["n_bootstrap"] = _RESAMPLES // (4 if len(test) > _MANY_ROWS else 1)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", LifemixWarning
        )  # a measure without a value is shown as such
        if test.path is not None:
            tables.append(_at_landmarks(model, train, X, test, landmarks, window, options))
        elif test.truncated.any() or train.truncated.any():
            times = np.unique(np.quantile(test.time, np.linspace(0, 1, 101)))
            survival = model.predict_survival_function(X, times)
            value = concordance_antolini(test, survival, times)
            tables.append(pd.DataFrame([{"metric": "antolini", "value": value}]))
        elif not test.interval.any():
            names = [measure.name for measure in registered_measures() if measure.standard]
            names.append("observed_expected")
            tables.append(evaluate(model, train, X, test, horizons, measures=names, **options))
    if hasattr(model, "log_likelihood"):
        value = model.log_likelihood(X, y) / len(test)
        tables.append(pd.DataFrame([{"metric": "log_likelihood", "value": value}]))
    columns = ["metric", "event", "landmark", "horizon", "value", "lower", "upper"]
    return pd.concat(tables, ignore_index=True).reindex(columns=columns).assign(model=name)


def _at_landmarks(
    model: Any,
    train: Target,
    X: Any,
    test: Target,
    landmarks: Sequence[float],
    window: float | None,
    options: dict[str, Any],
) -> pd.DataFrame:
    """Return the quality at landmarks; by default at 0 and two quartiles of the event times, the first ahead."""
    quartiles: FloatArray = train.event_quantiles((0.25, 0.5), None)
    first, median = (float(f"{time:.3g}") for time in quartiles)
    landmarks, window = landmarks or [0.0, first, median], window or first
    tables = []
    for event in range(1, max(train.n_events, 1) + 1):
        code = event if train.n_events > 1 else None
        risk = landmark_risk(model, X, test, landmarks, window, code)
        metrics = ("concordance_td", "brier", "auc")
        table = evaluate_landmarks(
            train, test, risk, landmarks, window, code, measures=metrics, **options
        )
        tables.append(table.assign(event=event, horizon=table["landmark"] + window))
    return pd.concat(tables)


def show_quality(
    console: Console,
    quality: pd.DataFrame,
    event_names: Sequence[str],
    unit: str | None,
    title: str,
) -> None:
    """Show the measures of models: one table per event type, and for many models several."""
    console.show(f"\n{title}", style="bold")
    measures = {measure.name: measure for measure in registered_measures()}
    labels = {
        name: measure.label + _DIRECTIONS[measure.better] for name, measure in measures.items()
    } | _OTHER_LABELS
    rows = quality.to_dict("records")
    # Measures of the model as a whole go to the table of the only event type, or to one of their own.
    cells = pd.DataFrame(
        {
            "event": quality["event"].fillna(0 if len(event_names) > 1 else 1),
            "model": quality["model"],
            "measure": [labels.get(row["metric"], row["metric"]) for row in rows],
            "at": [_horizon_text(row) for row in rows],
            "text": [_value_text(row, measures.get(row["metric"])) for row in rows],
        }
    )
    for code, name in [*enumerate(event_names, 1), (0, "all events")]:
        of_event = cells[cells["event"] == code]
        if of_event.empty:
            continue
        if len(event_names) > 1:
            console.show(f"\n{name}", style="bold")
        table = of_event.pivot(index=["measure", "at"], columns="model", values="text").fillna("–")
        lines = pd.MultiIndex.from_frame(of_event[["measure", "at"]].drop_duplicates())
        table = table.reindex(index=lines, columns=of_event["model"].unique())
        for first in range(0, table.shape[1], _MODELS_PER_TABLE):
            columns = table.iloc[:, first : first + _MODELS_PER_TABLE]
            names = ["measure", f"at ({unit})" if unit else "at", *columns.columns]
            console.show_table(names, [[*line, *texts] for line, *texts in columns.itertuples()])


def _horizon_text(row: dict[Any, Any]) -> str:
    """Return the horizon of a value, after its landmark."""
    landmark = row.get("landmark", np.nan)
    start = "" if np.isnan(landmark) else f"{landmark:g} to "
    return "" if np.isnan(row["horizon"]) else f"{start}{row['horizon']:g}"


def _value_text(row: dict[Any, Any], measure: Measure | None) -> str:
    """Return a value with its limits or its standard deviation."""
    is_percent = measure is not None and measure.percent

    def text(value: float) -> str:
        return "–" if np.isnan(value) else f"{value:.1%}" if is_percent else f"{value:.3f}"

    lower, spread = row.get("lower", np.nan), row.get("sd", np.nan)
    if np.isfinite(lower):
        return f"{text(row['value'])} ({text(lower)} to {text(row['upper'])})"
    return text(row["value"]) + (f" ± {text(spread)}" if np.isfinite(spread) else "")
