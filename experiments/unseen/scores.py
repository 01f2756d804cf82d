"""Records of models on the folds of tables: fits, and scores on the test rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd
import torch

import lifemix
from lifemix import metrics
from lifemix._types import FloatArray
from lifemix.checks import take_rows
from lifemix.splits import EventStratifiedKFold
from lifemix.target import Target, as_target

from ..records import Frame, Record, append_records, pack_records, provenance, read_lines
from .models import MODELS
from .tables import load_table

__all__ = ["Case", "current_records", "missing_cases", "record_of", "row_log_likelihood", "run"]

_N_FOLDS = 5


class Case(NamedTuple):
    """What one record is about; folds count from repeat to repeat, 5 * repeat + fold."""

    table: str
    model: str
    fold: int


def current_records(path: Path, tables: Sequence[str], models: Sequence[str]) -> Frame:
    """Return the records of these tables and models by today's version of each model."""
    records = [
        record
        for record in read_lines(path)
        if record["model"] in MODELS and record["version"] == MODELS[record["model"]].version
    ]
    frame = pd.DataFrame(records, columns=None if records else [*Case._fields])
    frame = frame[frame["table"].isin(tables) & frame["model"].isin(models)]
    return frame.drop_duplicates([*Case._fields], keep="last").reset_index(drop=True)


def missing_cases(
    path: Path, tables: Sequence[str], models: Sequence[str], n_folds: int, n_repeats: int = 1
) -> list[Case]:
    """Return the cases without a current record, the first fold of all tables first."""
    frame = current_records(path, tables, models)
    recorded = set(frame[[*Case._fields]].itertuples(index=False, name=None))
    folds = [_N_FOLDS * repeat + fold for repeat in range(n_repeats) for fold in range(n_folds)]
    cases = [Case(table, model, fold) for fold in folds for table in tables for model in models]
    return [case for case in cases if case not in recorded]


def run(path: Path, cases: Sequence[Case], n_jobs: int = 1) -> None:
    """Compute the records of cases; each is on disk as soon as it is there."""
    parallel = joblib.Parallel(n_jobs, return_as="generator_unordered")
    for record in parallel(joblib.delayed(record_of)(case) for case in cases):
        origin = {"lifemix": lifemix.__version__, "commit": provenance()["commit"]}
        append_records(path, [record | origin])
    if cases:
        pack_records(path, read_lines(path))


@cache
def _folds(table: str, repeat: int) -> list[Any]:
    X, y = load_table(table)
    return list(EventStratifiedKFold(_N_FOLDS, random_state=repeat).split(X, y))


def record_of(case: Case) -> Record:
    """Return the scores of a model on one fold of a table; a failure is a result."""
    torch.set_num_threads(1)
    X, y = load_table(case.table)
    repeat, fold = divmod(case.fold, _N_FOLDS)
    train, test = _folds(case.table, repeat)[fold]
    record = {**case._asdict(), "n_events": int(y["event"].max())}
    record["version"] = MODELS[case.model].version
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.process_time()
            model = MODELS[case.model].build(record["n_events"] > 1, case.fold)
            model.fit(take_rows(X, train), y[train])
            record["fit_seconds"] = time.process_time() - start
            return record | scores(model, take_rows(X, test), y[train], y[test])
    except Exception as error:  # noqa: BLE001
        return record | {"error": f"{type(error).__name__}: {error}"[:300]}


def scores(
    model: Any,
    X: Any,
    y_train: Any,
    y_test: Any,
) -> dict[str, Any]:
    """Return the scores of a fitted model on test rows."""
    train, test = as_target(y_train), as_target(y_test)
    event_times = train.time[train.event > 0]
    low, high = np.quantile(event_times, [0.05, 0.9])
    last = min(test.time.max(), train.time.max())
    grid = np.linspace(low, min(high, np.nextafter(last, 0)), 50)
    incidences = model.predict_cumulative_incidences(X, grid)
    n_events, median = len(incidences), float(np.median(event_times))
    brier, ici = [], []
    for event in range(1, n_events + 1):
        survival = 1 - incidences[event - 1]
        cause = event if n_events > 1 else None
        brier.append(metrics.integrated_brier_score(y_train, y_test, survival, grid, cause))
        risk = model.predict_cumulative_incidence(X, [median], event=event)[:, 0]
        ici.append(metrics.integrated_calibration_index(y_test, risk, median, event=event))
    if n_events == 1:
        concordance = metrics.concordance(y_test, model.predict(X))
    else:
        concordance = metrics.mean_concordance(
            lambda times, event: model.predict_cumulative_incidence(X, times, event=event),
            y_train,
            y_test,
        )
    survival = np.clip(metrics.survival_at_own_time(model, X, test), 0, 1)
    uniform = metrics.d_calibration(y_test, survival)
    return {
        "ibs": float(np.mean(brier)),
        "c": float(concordance),
        "ici": float(np.mean(ici)),
        "d": uniform.statistic,
        "d_p": uniform.p_value,
        "log_likelihood": _mean_log_likelihood(model, X, y_test),
    }


def _mean_log_likelihood(model: Any, X: Any, y: Any) -> float | None:
    """Return the log-likelihood per row with a time above 0; None for step curves, or if it is not finite."""
    rows = np.flatnonzero(as_target(y).time > 0)
    X, y = take_rows(X, rows), y[rows]
    if hasattr(model, "log_likelihood"):
        value = float(model.log_likelihood(X, y) / len(y))
    elif hasattr(model, "predict_distribution"):
        value = float(row_log_likelihood(model, X, as_target(y)).mean())
    else:
        return None
    return value if np.isfinite(value) else None


def row_log_likelihood(model: Any, X: Any, target: Target) -> FloatArray:
    """Return log f_m(t) of rows with event m and log S(t) of the others.

    With competing risks f_m is the density of the first event, times the share of m in the events close to t.
    """
    values = np.empty(len(target))
    order = np.argsort(target.time, kind="stable")
    for start in range(0, len(target), 128):
        rows = order[start : start + 128]
        diagonal = np.arange(len(rows))
        time, event = target.time[rows], target.event[rows]
        distribution = model.predict_distribution(take_rows(X, rows))
        with np.errstate(divide="ignore", invalid="ignore"):
            log_density = np.log(distribution.pdf(time)[diagonal, diagonal])
            log_survival = np.log(distribution.survival(time)[diagonal, diagonal])
            if distribution.n_events > 1:
                lower, upper = (
                    distribution.cumulative_incidences(time * factor)[:, diagonal, diagonal]
                    for factor in (1 - 1e-4, 1 + 1e-4)
                )
                steps = np.maximum(upper - lower, 0.0)
                share = steps[np.maximum(event, 1) - 1, diagonal] / steps.sum(axis=0)
                log_density += np.log(np.nan_to_num(share))
        values[rows] = np.where(event > 0, log_density, log_survival)
    return values
