"""Golden cases of functions: metrics, preprocessing, histories, splits, tables on disk, export and scoring."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from lifemix import DeepSurvivalMachines, baselines, datasets, export, metrics, report, splits
from lifemix.preprocessing import SequencePreprocessor, TabularPreprocessor
from lifemix.scoring import Scorer
from lifemix.streaming import TableSource, evaluate, write_predictions

from . import data
from .arrays import Arrays, as_arrays
from .data import TIMES

__all__ = ["CASES", "METRICS"]

HORIZONS = np.array([0.4, 0.8, 1.6])
RESAMPLING: dict[str, int] = {"n_resamples": 40, "random_state": 1}
SETTINGS: dict[str, Any] = {
    "k": 2,
    "hidden": (6,),
    "n_members": 1,
    "dropout": 0.0,
    "batch_size": 64,
    "learning_rate": 0.01,
    "max_epochs": 3,
}


@cache
def small_model(n_events: int = 1) -> DeepSurvivalMachines:
    """Return a fitted model; do not change it."""
    sample = data.plain() if n_events == 1 else data.competing()
    return DeepSurvivalMachines(**SETTINGS).fit(sample.X[:120], sample.y[:120])


@cache
def cox() -> baselines.CoxPH:
    """Return a fitted Cox regression."""
    sample = data.start_stop_rows()
    return baselines.CoxPH(penalty=0.1).fit(sample.X, sample.y)


class Scored:
    """Training and test targets of one or two event types, and made-up risks with ties."""

    def __init__(self, n_events: int) -> None:
        X, y, _ = data.plain() if n_events == 1 else data.competing()
        self.train, self.test, self.X = y[:120], y[120:], X[120:]
        self.n_events = n_events
        rng = np.random.default_rng(17)
        self.risk = np.sort(rng.random((len(self.test), len(HORIZONS))), axis=1).round(2)
        self.other_risk = np.sort(rng.random((len(self.test), len(HORIZONS))), axis=1)
        self.pair = (self.train, self.test)


def _concordance(event: int) -> Callable[[Any, Any], float]:
    return lambda y, risk: metrics.concordance(y, risk, event)


def _landmark_table(scored: Scored, event: int) -> Any:
    risk = scored.risk[:, :2]
    return metrics.evaluate_landmarks(
        *scored.pair, risk, [0.2, 0.4], window=0.5, event=event, n_bootstrap=10, random_state=1
    )


def _permutation(scored: Scored, event: int) -> Any:
    model = small_model(scored.n_events)

    def predict(X: Any) -> Any:
        return 1 - model.predict_cumulative_incidence(X, HORIZONS, event)

    arguments = (predict, scored.X, *scored.pair, HORIZONS, event)
    return metrics.permutation_importance(*arguments, n_repeats=2, random_state=1)


def _mean_concordance(scored: Scored, event: int) -> Any:
    model = small_model(scored.n_events)
    return metrics.mean_concordance(
        lambda times, kind: model.predict_cumulative_incidence(scored.X, times, kind), *scored.pair
    )


def _landmark_risk(scored: Scored, event: int) -> Any:
    rows = data.start_stop_rows()
    return metrics.landmark_risk(cox(), rows.X, rows.y, [0.2, 0.5], window=0.5)


METRICS: dict[str, Callable[[Scored, int], Any]] = {
    "concordance": lambda s, event: [
        metrics.concordance(s.test, s.risk[:, 1], event, horizon=horizon, competing=competing)
        for horizon in (None, 0.8)
        for competing in ("censored", "wolbers")
    ],
    "concordance_antolini": lambda s, event: metrics.concordance_antolini(
        s.test,
        np.c_[np.ones(len(s.test)), 1 - s.risk],
        [0.0, *HORIZONS],
        event,
        horizon=HORIZONS[-1],
    ),
    "concordance_td": lambda s, event: [
        metrics.concordance_td(*s.pair, risk, float(horizon), event, competing=competing)
        for risk, horizon in zip(s.risk.T, HORIZONS, strict=True)
        for competing in ("censored", "wolbers")
    ],
    "auc_td": lambda s, event: metrics.auc_td(*s.pair, s.risk, HORIZONS, event),
    "mean_concordance": _mean_concordance,
    "brier_score": lambda s, event: metrics.brier_score(*s.pair, 1 - s.risk, HORIZONS, event),
    "integrated_brier_score": lambda s, event: [
        metrics.integrated_brier_score(*s.pair, 1 - s.risk, HORIZONS, event, rule=rule)
        for rule in ("trapezoid", "step")
    ],
    "permutation_importance": _permutation,
    "calibration_curve": lambda s, event: metrics.calibration_curve(
        s.test, s.risk[:, 1], 0.8, event, bins=4
    ),
    "integrated_calibration_index": lambda s, event: metrics.integrated_calibration_index(
        s.test, s.other_risk[:, 1], 0.8, event
    ),
    "d_calibration": lambda s, event: metrics.d_calibration(
        s.test, 1 - s.risk[:, 1], event, bins=5
    ),
    "kaplan_meier": lambda s, event: metrics.kaplan_meier(s.test, event),
    "nelson_aalen": lambda s, event: metrics.nelson_aalen(s.test, event),
    "aalen_johansen": lambda s, event: metrics.aalen_johansen(s.test, event),
    "bootstrap": lambda s, event: metrics.bootstrap(
        _concordance(event), s.test, s.risk[:, 1], **RESAMPLING
    ),
    "bootstrap_difference": lambda s, event: metrics.bootstrap_difference(
        _concordance(event), s.test, s.risk[:, 1], s.other_risk[:, 1], **RESAMPLING
    ),
    "evaluate": lambda s, event: metrics.evaluate(
        small_model(s.n_events), s.train, s.X, s.test, HORIZONS, n_bootstrap=10, random_state=1
    ),
    "predicted_risk": lambda s, event: metrics.predicted_risk(
        small_model(s.n_events), s.X, HORIZONS, event, s.n_events
    ),
    "predicted_risks": lambda s, event: metrics.predicted_risks(
        small_model(s.n_events), s.X, HORIZONS, s.n_events
    ),
    "survival_at_own_time": lambda s, event: metrics.survival_at_own_time(
        small_model(s.n_events), s.X, s.test
    ),
    "evaluate_landmarks": _landmark_table,
    "landmark_risk": _landmark_risk,
    "at_landmark": lambda s, event: metrics.at_landmark(s.test, 0.3),
    "registered_measures": lambda s, event: [
        measure.name for measure in metrics.registered_measures()
    ],
}


def metric_arrays(name: str) -> Arrays:
    """Return a metric for one event type, and for each of two."""
    arrays: Arrays = {}
    for n_events, event in ((1, 1), (2, 1), (2, 2)):
        arrays |= as_arrays(METRICS[name](Scored(n_events), event), f"event {event} of {n_events}")
    return arrays


# Tables.


def columns_of_all_kinds() -> pd.DataFrame:
    """Return a table with numbers, text, categories, dates as numbers, constants and missing values of each type."""
    rng = np.random.default_rng(18)
    n_rows = 60
    X = pd.DataFrame(
        {"number": rng.normal(size=n_rows), "whole": rng.integers(0, 9, n_rows), "constant": 1.0}
    )
    X["skewed"] = rng.lognormal(sigma=2.0, size=n_rows)
    X["text"] = rng.choice(["b", "a", "ä"], n_rows)
    X["ordered"] = pd.Categorical(
        rng.choice(["x", "y"], n_rows), ["y", "x", "unused"], ordered=True
    )
    X["truth"] = rng.random(n_rows) < 0.5
    X["nullable"] = pd.array(rng.integers(0, 3, n_rows), dtype="Int64")
    X["nullable truth"] = pd.array(rng.random(n_rows) < 0.5, dtype="boolean")
    for column in ("number", "text", "ordered", "nullable", "nullable truth", "constant"):
        X.loc[rng.random(n_rows) < 0.2, column] = None
    return X


def preprocessor(**settings: Any) -> Arrays:
    """Return the matrix of a table, of one row, and of rows with levels that training did not have."""
    X = columns_of_all_kinds()
    fitted = TabularPreprocessor(**settings).fit(X[:50])
    unseen = X[50:].assign(text="c")
    names = np.array(fitted.get_feature_names_out(), dtype=str)
    matrices = {"matrix": X, "one row": X[3:4], "unseen levels": unseen}
    return {"names": names} | {name: fitted.transform(rows) for name, rows in matrices.items()}


def sequence_preprocessor() -> Arrays:
    """Return the packed rows of histories."""
    fitted = SequencePreprocessor(max_visits=2).fit(data.histories())
    matrix = fitted.transform(data.histories()[:20])
    return {"matrix": matrix, "names": np.array(fitted.get_feature_names_out(), dtype=str)}


def history_arrays() -> Arrays:
    """Return histories cut at a time, their last values, and landmark rows."""
    histories = data.histories()
    arrays = as_arrays(histories.until(0.5).to_long(), "until") | as_arrays(
        histories.last(), "last"
    )
    visits, y, rows = histories.landmarks(data.plain().y, times=[0.2, 0.6])
    arrays |= as_arrays(visits.to_long(), "landmarks") | as_arrays(y, "landmark target")
    return arrays | {
        "landmark rows": rows,
        "visits": histories.n_visits,
        "last times": histories.last_times,
    }


def split_arrays() -> Arrays:
    """Return folds, held-out rows, horizons and artificially censored times."""
    _, y, _ = data.competing()
    folds = splits.EventStratifiedKFold(3, random_state=1).split(np.zeros((len(y), 1)), y)
    arrays = {f"fold {number}": test for number, (_, test) in enumerate(folds)}
    subjects = data.start_stop_rows().y
    arrays |= as_arrays(splits.train_validation_split(subjects, random_state=1), "validation")
    arrays |= as_arrays(splits.censor_artificially(y, 0.3, random_state=1), "censored")
    return arrays | {"horizons": splits.horizons(y), "default horizons": splits.default_horizons(y)}


def dataset_arrays(load: Callable[[], Any]) -> Arrays:
    """Return a summary of a data set: its target, and the preprocessed matrix of some rows."""
    dataset = load()
    matrix = TabularPreprocessor().fit(dataset.X).transform(dataset.X[::50])
    return as_arrays(dataset.y[::50], "target") | {
        "matrix": matrix,
        "columns": np.array(dataset.X.columns, dtype=str),
    }


def table_source(suffix: str) -> Arrays:
    """Fit, evaluate and predict from a file; the order of training rows is up to the implementation."""
    sample = data.plain()
    table = sample.X.assign(
        time=sample.y["time"], event=sample.y["event"], smoker=sample.X["smoker"].astype(int)
    )
    with tempfile.TemporaryDirectory() as folder:
        path, predictions = Path(folder) / f"rows{suffix}", Path(folder) / "predictions.parquet"
        table.to_parquet(path) if suffix == ".parquet" else table.to_csv(path, index=False)
        source = TableSource(path, time="time", event="event")
        model = DeepSurvivalMachines(patience=10, **SETTINGS).fit(source)
        arrays = as_arrays(evaluate(model, source, horizons=HORIZONS), "evaluate")
        write_predictions(model, source, predictions, times=TIMES[1:], quantiles=[0.25])
        arrays |= as_arrays(pd.read_parquet(predictions), "written")
    X = table[list(sample.X)]
    arrays |= as_arrays(model.preprocess(X[:6]), "matrix")
    arrays["history"] = np.array(
        [[record["train_loss"], record["validation_loss"]] for record in model.history_]
    )
    return arrays | {"survival": model.predict_survival_function(X[:6], TIMES)}


# Models in use.


def exported(n_events: int) -> Arrays:
    """Return what the exported program computes."""
    model = small_model(n_events)
    X = data.table()[:6]
    event = None if n_events == 1 else 2
    program = export.export_survival(model, TIMES, event=event).module()
    return {
        "program": program(torch.as_tensor(model.preprocess(X), dtype=torch.float64))
        .detach()
        .numpy()
    }


def doctor_findings() -> Arrays:
    """Return severity and code of the findings; the wording may change."""
    sample = data.plain()
    table = report.check_table(sample.X.assign(id=np.arange(len(sample.y))), sample.y)
    model = report.check_model(small_model(), sample.X[120:], sample.y[120:])
    reports = {"table": table, "model": model}
    return {
        name: np.array([_severity_and_code(finding) for finding in reports[name]])
        for name in reports
    }


def _severity_and_code(finding: Any) -> str:
    # Before release 0.3 they were called level and topic, and had spaces.
    severity = finding.level if hasattr(finding, "level") else finding.severity
    code = finding.topic if hasattr(finding, "topic") else finding.code
    return f"{severity}: {code.replace(' ', '-')}"


CASES: dict[str, Callable[[], Arrays]] = {
    **{f"metric: {name}": partial(metric_arrays, name) for name in METRICS},
    "preprocessor": preprocessor,
    "preprocessor, piecewise": partial(preprocessor, numbers="piecewise", bins=4),
    "preprocessor, no indicators": partial(preprocessor, missing_indicators=False, scale=False),
    "preprocessor of histories": sequence_preprocessor,
    "start_stop": lambda: as_arrays(data.interval_rows(), "rows"),
    "histories": history_arrays,
    "splits": split_arrays,
    "data set: SUPPORT": partial(dataset_arrays, datasets.load_support),
    "data set: METABRIC": partial(dataset_arrays, datasets.load_metabric),
    "data set: METABRIC causes": partial(dataset_arrays, datasets.load_metabric_causes),
    "data set: EBMT": partial(dataset_arrays, datasets.load_ebmt),
    "data set: SYNTHETIC": partial(dataset_arrays, partial(datasets.make_synthetic, 500)),
    "table on disk, Parquet": partial(table_source, ".parquet"),
    "table on disk, CSV": partial(table_source, ".csv"),
    "export": partial(exported, 1),
    "export, competing risks": partial(exported, 2),
    "Scorer": lambda: as_arrays(
        Scorer(small_model(2), TIMES, quantiles=[0.25])(data.table()[:6]), "batch"
    ),
    "doctor": doctor_findings,
}
