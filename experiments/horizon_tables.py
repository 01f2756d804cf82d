"""The tables of models by horizons: C^td and Brier score of every model on every fold."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby, product
from typing import Any

import numpy as np

from lifemix.errors import DivergedError
from lifemix.estimators.fleet_groups import FitRequest, fit_many

from .models import MODELS
from .protocol import DATA_SETS, Fold, Protocol
from .records import Frame, Record, Setting, rounded
from .results import horizon_cells, select_settings
from .run import Job, Study, run_suffix
from .scores import missing_scores, risks, scores_on_inner, scores_on_test

__all__ = ["horizon_study", "number_of_parameters"]


def horizon_study(protocol: Protocol) -> Study:
    """Return the study of one data set."""
    data = protocol.data
    jobs = [job for name in MODELS if MODELS[name].is_for(data) for job in _jobs(protocol, name)]
    return Study(
        data,
        data + run_suffix(protocol),
        data,
        protocol,
        tuple(jobs),
        partial(_summarise, DATA_SETS[data].quantiles),
        _notes(protocol),
    )


def _summarise(quantiles: Sequence[float], records: Frame) -> Any:
    selected = select_settings(records)
    return horizon_cells(selected, quantiles), selected


def _notes(protocol: Protocol) -> tuple[str, ...]:
    """Return in what the run differs from the paper's protocol."""
    counts = []
    for model in MODELS.values():
        n_settings = len(model.candidates(protocol.data, protocol.run, protocol.full_grid))
        n_complete = len(model.settings(protocol.data))
        if model.is_for(protocol.data) and n_settings < n_complete:
            counts.append(f"{model.title} {n_settings} of {n_complete}")
    notes = [f"Settings to select from: {', '.join(counts)}."] if counts else []
    if protocol.rows is not None:
        notes.append(f"{protocol.rows:,} rows of the data, drawn at random.")
    return tuple(notes)


def _jobs(protocol: Protocol, name: str) -> Iterator[Job]:
    model, data = MODELS[name], protocol.data
    settings = model.candidates(data, protocol.run, protocol.full_grid)
    for level in protocol.levels:
        if model.trains_together:
            for _, group in groupby(sorted(settings, key=_shape), key=_shape):
                fleet = tuple(group)
                yield Job(protocol, data, name, fleet, protocol.folds, fit_together, level, True)
        else:
            has_choice = len(settings) > 1
            for setting, fold in product(settings, protocol.folds):
                yield Job(protocol, data, name, (setting,), (fold,), fit_alone, level, has_choice)


def _shape(setting: Setting) -> str:
    return str([setting.get(name) for name in ("primitive", "k", "hidden", "bias")])


def fit_together(job: Job) -> Iterator[Record]:
    """Yield the records of networks that train as one fleet and stop on the inner validation rows."""
    folds = [job.protocol.fold(number, job.level) for number in job.folds]
    cases = [(setting, fold) for fold in folds for setting in job.settings]
    requests = [
        FitRequest(_build(job, setting, fold), *fold.inner_train, fold.inner_validation)
        for setting, fold in cases
    ]
    for result in fit_many(requests):
        model = None if result.error is not None else result.model
        yield _record(job, *cases[result.number], model, model, result.seconds)


def fit_alone(job: Job) -> Iterator[Record]:
    """Yield the record of a model fitted to all training rows, and scored without the inner ones if it is selected."""
    (setting,), (number,) = job.settings, job.folds
    fold = job.protocol.fold(number, job.level)
    start = time.process_time()
    model = _fit(_build(job, setting, fold), fold.X_train, fold.y_train)
    seconds = time.process_time() - start
    inner_model = None
    if job.is_selected:
        inner_model = _fit(_build(job, setting, fold), *fold.inner_train)
    yield _record(job, setting, fold, model, inner_model, seconds)


def _build(job: Job, setting: Setting, fold: Fold) -> Any:
    build = MODELS[job.model].build
    assert build is not None
    return build(job.data, setting, 1000 * job.protocol.seed + fold.number)


def _fit(model: Any, X: Any, y: Any) -> Any | None:
    """Return the fitted model, or None if its training diverges."""
    try:
        return model.fit(X, y)
    except DivergedError:
        return None


def _record(
    job: Job, setting: Setting, fold: Fold, model: Any, inner_model: Any, seconds: float
) -> Record:
    """Return the scores on the test rows and, for the selection, of the inner model on the inner validation rows."""
    times = job.protocol.horizons()
    record = job.record(setting, fold.number)
    record["test"] = missing_scores(times)
    if model is not None:
        risk = risks(model, fold.X_test, times)
        record["test"] = scores_on_test(model, fold, times, risk)
    if job.is_selected:
        record["inner"] = missing_scores(times)
        if inner_model is not None:
            has_brier = MODELS[job.model].selected_by == "brier"
            record["inner"] = scores_on_inner(inner_model, fold, times, has_brier)
    record |= {"seconds": rounded(seconds, 3), "parameters": number_of_parameters(model)}
    return record


def number_of_parameters(model: Any) -> int | None:
    """Return the number of parameters of a fitted model, if it has a fixed number."""
    if hasattr(model, "n_parameters_"):
        return int(model.n_parameters_) * len(getattr(model, "best_epoch_", (None,)))
    if hasattr(model, "network_"):
        return sum(parameter.numel() for parameter in model.network_.parameters())
    if hasattr(model, "coef_"):
        coefficients = model.coef_.values() if isinstance(model.coef_, dict) else [model.coef_]
        return sum(np.size(values) for values in coefficients)
    return None
