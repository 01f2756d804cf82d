"""The contents of every section of a report, as plain values for the template.

The rows of a table are lists of texts; a pair of texts is a value with a note below it.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .._html import number
from .._types import BoolArray, FloatArray
from ..errors import ModelFileError
from ..metrics import (
    Measure,
    evaluate,
    kaplan_meier,
    measure_named,
    permutation_importance,
    predicted_risk,
    registered_measures,
)
from ..preprocessing.columns import ColumnData
from ..target import Target
from . import figures
from .doctor.outcome import exact_times
from .doctor.table import readable_columns
from .text import capital, counted, listed, percent, plain

if TYPE_CHECKING:
    from .page import Report

__all__ = [
    "components",
    "data",
    "file_hash",
    "measure_quality",
    "median_time",
    "model_facts",
    "of_event",
    "provenance",
    "settings",
    "training",
]

# The order of the rows of the quality tables; other registered measures follow.
_MEASURES = "concordance_td auc brier marginal_brier scaled_brier observed_expected ici".split()
_WITH_INTERVAL = ["scaled_brier", "observed_expected", "integrated_scaled_brier"]
_WITHOUT_INTERVAL = ["marginal_brier", "ici", "integrated_marginal_brier"]
_RISK_LEVELS = {"low": 0.1, "medium": 0.5, "high": 0.9}
_IMPORTANCE_ROWS, _N_REPEATS, _N_IMPORTANCE_TIMES, _N_RANKED = 1000, 3, 8, 12
_PACKAGES = ("lifemix", "torch", "numpy", "pandas", "scipy", "scikit-learn", "matplotlib")

Row = list[Any]


# Quality.


def measure_quality(report: Report) -> pd.DataFrame:
    """Return the table of ``metrics.evaluate``; the limits of some measures are NaN."""
    standard = [measure.name for measure in registered_measures() if measure.standard]
    arguments = (report.model, report.reference, report.inputs, report.y, report.horizons)
    tables = [
        evaluate(
            *arguments,
            measures=[*standard, *_WITH_INTERVAL],
            n_bootstrap=report.n_bootstrap,
            random_state=report.random_state,
        ),
        evaluate(*arguments, measures=_WITHOUT_INTERVAL),
    ]
    return pd.concat(tables, ignore_index=True)


def value_with_interval(measure: Measure, value: float, lower: float, upper: float) -> Row:
    """Return a value and its interval as text."""
    factor, digits, sign = (100, 1, " %") if measure.percent else (1, 3, "")
    value, lower, upper = (factor * x for x in (value, lower, upper))
    interval = f"[{number(lower, digits)}, {number(upper, digits)}]" if np.isfinite(lower) else ""
    return [number(value, digits) + (sign if np.isfinite(value) else ""), interval]


def _measure_rows(quality: pd.DataFrame, kind: str, event: int) -> list[Row]:
    """Return a row per measure: its label, and its values with intervals."""
    rows = []
    quality = quality[quality["event"] == event]
    for name in dict.fromkeys([*_MEASURES, *quality["metric"]]):
        measure = measure_named(name)
        values = quality.loc[quality["metric"] == name, ["value", "lower", "upper"]]
        if measure.kind == kind and len(values):
            better = f"{measure.better} is better" if measure.better else ""
            label = [measure.label.replace("^td", "ᵗᵈ"), better]
            cells = [value_with_interval(measure, *row) for row in values.to_numpy()]
            rows.append([label, *cells])
    return rows


def of_event(report: Report, quality: pd.DataFrame, event: int) -> dict[str, Any]:
    """Return the sections about one event type."""
    mean_risks = report.risks[event - 1].mean(axis=0)
    times = report.y.time[report.y.event == event]
    n_by_horizon = (times[:, None] <= report.horizons).sum(axis=0)
    by_horizon = [
        ["events up to the horizon", *(f"{n:,}" for n in n_by_horizon)],
        ["mean predicted risk", *(number(risk) for risk in mean_risks)],
        *_measure_rows(quality, "horizon", event),
    ]
    horizon_indices = range(len(report.horizons))
    return {
        "name": capital(report.event_names[event - 1]),
        "of": report.of(event),
        "quantity": "survival"
        if report.n_events == 1
        else f"cumulative incidence{report.of(event)}",
        "key": _key_numbers(report, quality, event),
        "groups": figures.risk_groups(report, event),
        "calibration": [figures.calibration(report, event, i) for i in horizon_indices],
        "brier": figures.brier(report, event),
        "by_horizon": by_horizon,
        "over_time": _measure_rows(quality, "curve", event)
        + _measure_rows(quality, "own_time", event),
        "d_calibration": figures.d_calibration(report) if report.n_events == 1 else "",
        "typical": _typical_subjects(report, event),
        "importance": _importance(report, event),
    }


def _key_numbers(report: Report, quality: pd.DataFrame, event: int) -> list[Row]:
    """Return the most important numbers: label, value, interval, explanation."""
    horizon = report.horizons[report.middle]
    by = f"by {report.time(horizon)}"
    explanations = {
        "concordance_td": (f"Concordance (Cᵗᵈ) {by}", "1 is perfect, 0.5 is chance"),
        "observed_expected": (f"Observed / expected risk {by}", "1 is right on average"),
        "integrated_scaled_brier": (
            f"Scaled Brier score up to {report.time(report.horizons[-1])}",
            "100 % is perfect, 0 % is no better than without covariates",
        ),
    }
    numbers = []
    for name, (label, explanation) in explanations.items():
        rows = quality[(quality["metric"] == name) & (quality["event"] == event)]
        at_horizon = rows if len(rows) == 1 else rows[rows["horizon"] == horizon]
        values = at_horizon[["value", "lower", "upper"]].to_numpy()[0]
        numbers.append([label, *value_with_interval(measure_named(name), *values), explanation])
    is_event = report.y.event == event
    share = f"{percent(float(is_event.mean()))} of {counted(len(report.y), 'row')}"
    return [*numbers, ["Events", f"{is_event.sum():,}", share, ""]]


def _typical_subjects(report: Report, event: int) -> dict[str, Any]:
    """Return curves at three quantiles of the risk, and a summary of the rows nearest to each."""
    risk = report.risks[event - 1][:, report.middle]
    order = np.argsort(risk, kind="stable")
    rows = list(typical_rows(risk).values())
    n_nearest = min(len(order), max(10, round(0.05 * len(order))))
    summaries, risk_row = [], ["predicted risk"]
    for position in np.searchsorted(risk[order], risk[rows]):
        first = int(np.clip(position - n_nearest // 2, 0, len(order) - n_nearest))
        nearest = order[first : first + n_nearest]
        risk_row.append(percent(float(risk[nearest].mean())))
        columns = readable_columns(report.X.iloc[nearest])[0]
        summaries.append({column.name: _describe(column, brief=True) for column in columns})
    covariates = [[name, *(summary[name] for summary in summaries)] for name in summaries[0]]
    return {
        "figure": figures.typical_curves(report, rows, list(_RISK_LEVELS), event),
        "columns": ["covariate", *(f"{level} risk" for level in _RISK_LEVELS)],
        "rows": [risk_row, *covariates],
        "n_nearest": n_nearest,
    }


def typical_rows(risk: FloatArray) -> dict[str, int]:
    """Return the rows at the 10, 50 and 90 % quantile of the risk."""
    order = np.argsort(risk, kind="stable")
    last = len(order) - 1
    return {level: int(order[round(share * last)]) for level, share in _RISK_LEVELS.items()}


def _importance(report: Report, event: int) -> dict[str, Any] | None:
    """Return the permutation importance of the columns; None if they are not those of a table."""
    if report.source is not None:
        return None
    rng = np.random.default_rng(report.random_state)
    rows = np.sort(rng.permutation(len(report.y))[:_IMPORTANCE_ROWS])
    times = np.linspace(0, report.horizons[-1], _N_IMPORTANCE_TIMES + 1)[1:]

    def predict(X: pd.DataFrame) -> FloatArray:
        return 1 - predicted_risk(report.model, report.as_input(X), times, event, report.n_events)

    result = permutation_importance(
        predict,
        report.X.iloc[rows],
        report.reference,
        report.y.take(rows),
        times,
        event,
        n_repeats=_N_REPEATS,
        random_state=report.random_state,
    )
    is_defined = np.isfinite(result.score)
    content: dict[str, Any] = {"n_rows": len(rows), "n_repeats": _N_REPEATS, "rows": []}
    if not is_defined.any():
        return content
    by_repeat = result.replicates[:, :, is_defined].mean(axis=2)
    mean, spread = by_repeat.mean(axis=0), by_repeat.std(axis=0, ddof=1)
    shares = 100 * mean / result.score[is_defined].mean()
    for index in np.argsort(-mean, kind="stable")[:_N_RANKED]:
        rise = f"{number(1000 * mean[index], 2)} ± {number(1000 * spread[index], 2)}"
        content["rows"].append([result.features[index], rise, number(shares[index], 1)])
    content["figure"] = figures.importance(report, result, is_defined)
    return content


# Data.


def data(report: Report) -> dict[str, Any]:
    """Return the rows, events and follow-up of training and evaluation, and the covariates."""
    samples = {"training rows": report.train, "evaluated rows": report.target}
    labels = ["rows", *report.event_names, "censored", "median follow-up (reverse Kaplan-Meier)"]
    labels += ["median time to the first event (Kaplan-Meier)", "last time"]
    columns = {"": labels}
    for label, sample in samples.items():
        if sample is not None:
            target = exact_times(sample)
            reverse = replace(target, event=(target.event == 0).astype(np.int64))
            medians = [median_time(reverse), median_time(target)]
            columns[label] = [
                f"{len(target):,}",
                *(_share(target.event == code) for code in range(1, report.n_events + 1)),
                _share(target.event == 0),
                *("not reached" if t is None else report.time(t) for t in medians),
                report.time(float(target.time.max())),
            ]
    covariates = [
        [column.name, _describe(column), _share(column.missing)]
        for column in readable_columns(report.frame)[0]
    ]
    rows = zip(*columns.values(), strict=True)
    return {"columns": list(columns), "rows": list(rows), "covariates": covariates}


def _share(mask: BoolArray) -> str:
    return f"{mask.sum():,} ({percent(float(mask.mean()))})" if mask.any() else "0"


def median_time(target: Target) -> float | None:
    """Return the median time to any event by Kaplan-Meier; None if it is not reached."""
    curve = kaplan_meier(target)
    below = np.flatnonzero(curve.estimate <= 0.5 + 1e-12)
    return float(curve.time[below[0]]) if len(below) else None


def _describe(column: ColumnData, brief: bool = False) -> str:
    """Return median, quartiles and range, or the levels; the first of them if ``brief``."""
    if column.distinct == 0:
        return "–"
    if column.codes is None:
        if set(np.unique(column.observed)) <= {0.0, 1.0}:
            return f"1: {percent(float((column.observed == 1).mean()))}"
        quantiles = np.quantile(column.observed, [0, 0.25, 0.5, 0.75, 1])
        low, first, median, third, high = (plain(value) for value in quantiles)
        return median if brief else f"{median} [{first}, {third}] ({low} to {high})"
    counts = np.bincount(column.codes[~column.missing], minlength=len(column.levels))
    order = np.argsort(-counts, kind="stable")[: 1 if brief else 6]
    levels = [f"{column.levels[i]} ({percent(counts[i] / counts.sum())})" for i in order]
    n_more = 0 if brief else len(counts) - len(order)
    return "; ".join([*levels, *([f"{n_more} more"] if n_more else [])])


# The model.


def model_facts(report: Report) -> dict[str, str]:
    """Return what the model is, predicts and needs."""
    model, mixture = report.model, report.mixture
    facts = {"model": type(model).__name__}
    shares: Any = getattr(model, "weights_", None)
    if mixture is not None:
        facts["model"] = "Deep Survival Machines (Nagpal, Li and Dubrawski 2021)"
        architecture = mixture.network_.architectures[0]
        article = "a" if report.n_events == 1 else "for each event type a"
        cured = ", and of those who never have the event" if mixture.cure else ""
        facts["form"] = (
            f"{article} mixture of {architecture.k - bool(mixture.cure)} {architecture.family.label} "
            "distributions; a neural network computes their weights and parameters from the "
            f"covariates{cured}"
        )
        hidden = ", ".join(map(str, mixture.settings_["hidden"])) or "none"
        n_members = counted(len(mixture.best_epoch_), "member")
        n_parameters = counted(mixture.n_parameters_, "parameter")
        facts["size"] = f"{n_parameters}, hidden layers: {hidden}, {n_members}"
    elif isinstance(shares, dict):
        ordered = sorted(shares.items(), key=lambda item: -item[1])
        members = [f"{name} ({percent(share)})" for name, share in ordered]
        facts["form"] = f"a weighted average: {listed(members)}"
    if report.steps:
        facts["covariates"] = f"after {listed([type(step).__name__ for step in report.steps])}"
    facts["predicts"] = (
        "the probability of survival without the event at any time"
        if report.n_events == 1
        else f"the cumulative incidence of {listed(report.event_names)} at any time"
    )
    if report.train is not None:
        last = report.time(float(report.train.time.max()))
        facts["valid up to"] = f"{last}, the end of follow-up in the training data"
    return facts


def settings(report: Report) -> list[Row]:
    """Return every option with its value and default, those that differ first."""
    model: Any = report.model
    if not hasattr(model, "get_params"):
        return []
    defaults = inspect.signature(type(model).__init__).parameters
    learned = getattr(model, "settings_", {})
    rows: list[Row] = []
    for name, value in model.get_params(deep=False).items():
        note = ""
        if value is None and name in learned:
            note = f"from the training rows: {_shortened(learned[name])}"
        rows.append([name, [_shortened(value), note], _shortened(defaults[name].default)])
    return sorted(rows, key=lambda row: row[1][0] == row[2])


def _shortened(value: object) -> str:
    text = str(list(value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def training(report: Report) -> dict[str, Any] | None:
    """Return how a ``DeepSurvivalMachines`` was trained; None for other models."""
    model = report.mixture
    if model is None:
        return None
    n_epochs = pd.Series([record["member"] for record in model.history_]).value_counts(sort=False)
    facts = {
        "epochs": listed(n_epochs.tolist(), 12) if len(n_epochs) else "0",
        "best epochs": listed(model.best_epoch_, 12),
        "internal unit of time": report.time(model.time_unit_),
    }
    if model.settings_["rounding"]:
        step = report.time(model.settings_["rounding"])
        facts["rounded times"] = f"an event may have happened in the {step} around its time"
    return {"facts": facts, "figure": figures.training(model) if model.history_ else ""}


def components(report: Report) -> list[tuple[str, str, str]]:
    """Return two figures of the components of each event type; none for other models."""
    if report.mixture is None:
        return []
    drawn = []
    for event in range(1, report.n_events + 1):
        row = typical_rows(report.risks[event - 1][:, report.middle])["medium"]
        drawn.append((report.of(event), *figures.mixture(report, report.mixture, event, row)))
    return drawn


def provenance(report: Report, model_hash: str | None) -> dict[str, str]:
    """Return versions, the random seed and hashes."""
    outcome = pd.MultiIndex.from_arrays([report.target.time, report.target.event])
    row_hashes = pd.util.hash_pandas_object(report.frame.set_axis(outcome))
    versions = [f"{name} {version(name)}" for name in _PACKAGES]
    facts = {
        "versions": ", ".join([*versions, f"Python {platform.python_version()}"]),
        "random seed of this report": str(report.random_state),
        "rows (SHA-256)": hashlib.sha256(row_hashes.to_numpy().tobytes()).hexdigest(),
    }
    if model_hash is not None:
        facts["model file"] = model_hash
    return facts


def file_hash(path: str | os.PathLike[str]) -> str:
    """Return the name of a file, without its folder, and the hash of its bytes."""
    try:
        return f"{Path(path).name}, SHA-256 {hashlib.sha256(Path(path).read_bytes()).hexdigest()}"
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error}. Check the path.") from error
