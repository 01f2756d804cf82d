"""The contents of every section of a report, as plain values for the template.

The rows of a table are lists of texts; a pair of texts is a value with a note below it.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from itertools import count
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
    predicted_risks,
    registered_measures,
)
from ..preprocessing.columns import ColumnData
from ..target import Target
from . import figures
from .doctor.model import effective_components
from .doctor.outcome import exact_times
from .doctor.table import readable_columns
from .text import counted, listed, percent, plain

if TYPE_CHECKING:
    from .page import Report

__all__ = [
    "components",
    "data",
    "file_hash",
    "limits",
    "measure_quality",
    "median_time",
    "model_facts",
    "of_event",
    "provenance",
    "settings",
    "training",
]

# The order of the rows of the quality tables; other registered measures follow.
_MEASURES = "concordance auc brier marginal_brier scaled_brier observed_expected ici".split()
_WITH_INTERVAL = ["scaled_brier", "observed_expected", "integrated_scaled_brier"]
_WITHOUT_INTERVAL = ["marginal_brier", "ici", "integrated_marginal_brier"]
_RISK_LEVELS = {"low": 0.1, "medium": 0.5, "high": 0.9}
_IMPORTANCE_ROWS, _N_REPEATS, _N_IMPORTANCE_TIMES, _N_RANKED = 1000, 3, 8, 12
_PACKAGES = ("lifemix", "torch", "numpy", "pandas", "scipy", "scikit-learn", "matplotlib")

Row = list[Any]


# Quality.


def measure_quality(report: Report) -> pd.DataFrame:
    """Return the table of ``metrics.evaluate``; the limits of some measures are NaN."""
    standard = [measure for measure in registered_measures() if measure.standard]
    own_time = [measure.name for measure in standard if measure.kind == "own_time"]
    bootstrapped = [measure.name for measure in standard if measure.kind != "own_time"]
    arguments = (report.model, report.reference, report.inputs, report.y, report.horizons)
    tables = [
        evaluate(
            *arguments,
            measures=[*bootstrapped, *_WITH_INTERVAL],
            n_bootstrap=report.n_bootstrap,
            random_state=report.random_state,
        ),
        evaluate(*arguments, measures=[*_WITHOUT_INTERVAL, *own_time]),
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
            label = [_label(measure), f"{measure.better} is better" if measure.better else ""]
            cells = [value_with_interval(measure, *row) for row in values.to_numpy()]
            rows.append([label, *cells])
    return rows


def _label(measure: Measure) -> str:
    return measure.label.replace("^td", "ᵗᵈ")


def of_event(
    report: Report, quality: pd.DataFrame, event: int, permuted: list[FloatArray]
) -> dict[str, Any]:
    """Return the sections about one event type.

    ``permuted`` keeps the predictions of shuffled rows, which all event types share.
    """
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
        "name": report.event_names[event - 1],
        "of": report.of(event),
        "quantity": "survival"
        if report.n_events == 1
        else f"cumulative incidence{report.of(event)}",
        "key": _key_numbers(report, quality, event),
        "groups": figures.groups(report, event),
        "calibration": [figures.calibration_at(report, event, i) for i in horizon_indices],
        "brier": figures.brier(report, event),
        "by_horizon": by_horizon,
        "over_time": _measure_rows(quality, "curve", event)
        + _measure_rows(quality, "own_time", event),
        "d_calibration": figures.uniformity(report) if report.n_events == 1 else "",
        "typical": _typical_subjects(report, event),
        "importance": _importance(report, event, permuted),
    }


def _key_numbers(report: Report, quality: pd.DataFrame, event: int) -> list[Row]:
    """Return the most important numbers: label, value, interval, explanation."""
    horizon = report.horizons[report.middle]
    by = f"by {report.time(horizon)}"
    explanations = {
        "concordance": (f"Concordance (Cᵗᵈ) {by}", "1 is perfect, 0.5 is chance"),
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
    return [*numbers, [f"Events{report.of(event)}", f"{is_event.sum():,}", share, ""]]


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


def _importance(report: Report, event: int, permuted: list[FloatArray]) -> dict[str, Any] | None:
    """Return the permutation importance of the columns; None if they are not those of a table."""
    if report.source is not None:
        return None
    rng = np.random.default_rng(report.random_state)
    rows = np.sort(rng.permutation(len(report.y))[:_IMPORTANCE_ROWS])
    times = np.linspace(0, report.horizons[-1], _N_IMPORTANCE_TIMES + 1)[1:]
    calls = count()

    def predict(X: pd.DataFrame) -> FloatArray:
        call = next(calls)
        if call == len(permuted):
            inputs = report.as_input(X)
            permuted.append(predicted_risks(report.model, inputs, times, report.n_events))
        return 1 - permuted[call][event - 1]

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
    follow_up = ["median follow-up (reverse Kaplan-Meier)"]
    time_to_event = ["median time to the first event (Kaplan-Meier)"]
    samples = {"training rows": report.train, "evaluated rows": report.target}
    targets = {label: exact_times(target) for label, target in samples.items() if target}
    rows = [["rows", *(f"{len(target):,}" for target in targets.values())]]
    for code, name in [*enumerate(report.event_names, 1), (0, "censored")]:
        rows.append([name, *(_share(target.event == code) for target in targets.values())])
    for target in targets.values():
        reverse = replace(target, event=(target.event == 0).astype(np.int64))
        for texts, sample in ((follow_up, reverse), (time_to_event, target)):
            median = median_time(sample)
            texts.append("not reached" if median is None else report.time(median))
    rows += [follow_up, time_to_event]
    last_times = [report.time(float(target.time.max())) for target in targets.values()]
    rows.append(["last time", *last_times])
    n_special = int((report.target.interval | report.target.truncated).sum())
    reasons = []
    if n_special:
        reasons.append(f"{n_special:,} are interval-censored or left-truncated")
    if len(report.y) + n_special < len(report.target):
        reasons.append("the measured rows are drawn at random")
    covariates = [
        [column.name, _describe(column), _share(column.missing)]
        for column in readable_columns(report.frame)[0]
    ]
    return {
        "columns": ["", *targets],
        "rows": rows,
        "covariates": covariates,
        "reasons": " and ".join(reasons),
    }


def _share(mask: BoolArray) -> str:
    return f"{mask.sum():,} ({percent(float(mask.mean()))})" if mask.any() else "0"


def median_time(target: Target) -> float | None:
    """Return the median time to any event by Kaplan-Meier; None if it is not reached."""
    if not (target.event > 0).any():
        return None
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
        each = "a" if report.n_events == 1 else "for each event type a"
        cured = ", and of those who never have the event" if mixture.cure else ""
        facts["form"] = (
            f"{each} mixture of {architecture.k - bool(mixture.cure)} {architecture.family.label} "
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
    facts["predicts"] = (
        "the probability of survival without the event at any time"
        if report.n_events == 1
        else f"the cumulative incidence of {listed(report.event_names)} at any time"
    )
    names = list(getattr(model, "feature_names_in_", report.frame.columns))
    facts["from"] = f"{counted(len(names), 'column')}: {listed(names, 40)}"
    if report.train is not None:
        last = report.time(float(report.train.time.max()))
        facts["valid up to"] = f"{last}, the end of follow-up in the training data"
    return facts


def settings(report: Report) -> dict[str, Any]:
    """Return the options that differ from their defaults, the others, and those set by the data."""
    model: Any = report.model
    if not hasattr(model, "get_params"):
        return {"changed": [], "unchanged": "", "automatic": ""}
    defaults = inspect.signature(type(model).__init__).parameters
    changed, unchanged, automatic = [], [], []
    learned = getattr(model, "settings_", {})
    for name, value in model.get_params(deep=False).items():
        text, default = _shortened(value), _shortened(defaults[name].default)
        if text != default:
            changed.append([name, text, default])
        else:
            unchanged.append(f"{name} = {text}")
        if value is None and name in learned:
            automatic.append(f"{name} = {_shortened(learned[name])}")
    texts = {"unchanged": ", ".join(unchanged), "automatic": ", ".join(automatic)}
    return {"changed": changed, **texts}


def _shortened(value: object) -> str:
    text = str(list(value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def training(report: Report) -> dict[str, Any] | None:
    """Return how a ``DeepSurvivalMachines`` was trained; None for other models."""
    model = report.mixture
    if model is None:
        return None
    learned = model.settings_
    n_epochs = pd.DataFrame(model.history_, columns=["member"]).value_counts(sort=False)
    bound = "exact likelihood" if model.objective == "exact" else "evidence lower bound (ELBO)"
    facts = {
        "objective": f"{bound}, discount {model.discount:g}",
        "optimiser": f"{model.optimizer}, learning rate {learned['learning_rate']:g}, batches of "
        f"{learned['batch_size']}",
        "early stopping": f"on {percent(model.validation_fraction or 0)} of the rows (unless "
        f"others were given to fit), patience {learned['patience']} epochs",
        "epochs": listed(n_epochs.tolist() or [0], 12),
        "best epochs": listed(model.best_epoch_, 12),
        "internal unit of time": report.time(model.time_unit_),
    }
    if learned["rounding"]:
        step = report.time(learned["rounding"])
        facts["rounded times"] = f"an event may have happened in the {step} around its time"
    figure = figures.training(model) if model.history_ else None
    return {"facts": facts, "figure": figure}


def components(report: Report) -> dict[str, Any] | None:
    """Return how many components are in use, with figures; None for other models."""
    model = report.mixture
    if model is None:
        return None
    k, in_sample, per_subject = effective_components(model, report.inputs)
    sample_text, subject_text = (
        listed([f"{value:.2f}" for value in values]) for values in (in_sample, per_subject)
    )
    facts = {
        "components": f"{k}" + ("" if report.n_events == 1 else " for each event type"),
        "effective number in the sample": f"{sample_text} (exponential of the entropy of the mean "
        "weights)",
        "effective number per subject": f"{subject_text} (exponential of the mean entropy of the "
        "weights)",
    }
    drawn = []
    for event in range(1, report.n_events + 1) if k > 1 else ():
        row = typical_rows(report.risks[event - 1][:, report.middle])["medium"]
        drawn.append((report.of(event), *figures.mixture(report, model, event, row)))
    return {"facts": facts, "figures": drawn, "is_ensemble": len(model.best_epoch_) > 1}


def limits(report: Report) -> list[str]:
    """Return the limits that depend on the model and the data."""
    counts = np.bincount(report.y.event, minlength=report.n_events + 1)[1:].tolist()
    events = [counted(n, "event") + report.of(code) for code, n in enumerate(counts, 1)]
    texts = [
        f"The measures rest on {listed(events)}. The intervals show the uncertainty from that, but "
        "not how much another training sample would change the model."
    ]
    if report.n_events > 1 and report.mixture is not None:
        texts.append(
            "The event types are modelled as independent given the covariates. The cumulative "
            "incidences can be checked against data; net survival, as if the other events did not "
            "exist, cannot."
        )
    if type(getattr(report.model, "preprocessor_", None)).__name__ == "TabularPreprocessor":
        texts.append(
            "Missing values are replaced by the training mean or most frequent level, with "
            "indicators; the intervals do not include the uncertainty of that."
        )
    return texts


def provenance(report: Report, model_hash: str | None) -> dict[str, str]:
    """Return versions, seeds and hashes."""
    outcome = pd.MultiIndex.from_arrays([report.target.time, report.target.event])
    row_hashes = pd.util.hash_pandas_object(report.frame.set_axis(outcome))
    versions = []
    for name in _PACKAGES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    facts = {
        "versions": ", ".join([*versions, f"Python {platform.python_version()}"]),
        "random seed of the fit": str(getattr(report.model, "random_state", "unknown")),
        "random seed of this report": str(report.random_state),
        "bootstrap samples": f"{report.n_bootstrap}",
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
