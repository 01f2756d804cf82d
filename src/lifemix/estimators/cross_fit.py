"""Fit every part of ``LifeMix`` once per fold, and predict the held-out rows of each fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import delayed
from sklearn.base import clone

from .._types import FloatArray, IndexArray
from ..baselines import MartingaleForest
from ..checks import take_rows
from ..errors import LifemixError
from ..progress import parallel_results, report_progress
from .dsm import DeepSurvivalMachines
from .settings import automatic_settings

__all__ = ["CrossFit", "cross_fit", "with_seed"]

Fold = tuple[IndexArray, IndexArray]


@dataclass(eq=False)
class CrossFit:
    """The models of a part, one per fold, and their incidences of the held-out rows."""

    curves: FloatArray  # [n_events, n_rows, n_times]
    models: list[Any] = field(default_factory=list)


def cross_fit(
    parts: Mapping[str, Any],
    X: Any,
    y: Any,
    sample_weight: FloatArray | None,
    folds: Sequence[Fold],
    times: FloatArray,
    seed: int,
    n_jobs: int | None,
) -> tuple[dict[str, CrossFit], dict[str, LifemixError]]:
    """Return the models and curves of each part, and the errors of parts that cannot be fitted."""
    seeds = np.random.SeedSequence(seed).generate_state(len(folds)).tolist()
    networks = [name for name, part in parts.items() if isinstance(part, DeepSurvivalMachines)]
    # Networks of all folds train together.
    tasks = [(name, list(range(len(folds)))) for name in networks]
    for number in range(len(folds)):
        tasks += [(name, [number]) for name in parts if name not in networks]
    calls = [
        delayed(_fit_folds)(
            parts[name],
            X,
            y,
            sample_weight,
            [folds[number] for number in numbers],
            times,
            [seeds[number] for number in numbers],
        )
        for name, numbers in tasks
    ]
    outcomes = parallel_results(calls, n_jobs)
    shape = (int(y["event"].max()), len(y), len(times))
    fits = {name: CrossFit(np.empty(shape)) for name in parts}
    errors: dict[str, LifemixError] = {}
    n_completed, n_fits = 0, len(parts) * len(folds)
    report_progress("fitting the parts", n_completed, n_fits)
    for (name, numbers), outcome in zip(tasks, outcomes, strict=True):
        n_completed += len(numbers)
        report_progress("fitting the parts", n_completed, n_fits)
        if isinstance(outcome, LifemixError):
            errors.setdefault(name, outcome)
            continue
        for number, (model, curves) in zip(numbers, outcome, strict=True):
            _, held_out = folds[number]
            fits[name].models.append(model)
            fits[name].curves[:, held_out] = curves
    return {name: fit for name, fit in fits.items() if name not in errors}, errors


def _fit_folds(
    part: Any,
    X: Any,
    y: Any,
    sample_weight: FloatArray | None,
    folds: Sequence[Fold],
    times: FloatArray,
    seeds: Sequence[int],
) -> list[tuple[Any, FloatArray]] | LifemixError:
    """Return model and curves of each fold, or the first error."""
    from .fleet_groups import FitRequest, fit_many  # training is not imported for prediction

    requests = []
    for (train, _), seed in zip(folds, seeds, strict=True):
        model = with_seed(_for_comparison(clone(part), len(train)), seed)
        weight = None if sample_weight is None else sample_weight[train]
        requests.append(FitRequest(model, take_rows(X, train), y[train], sample_weight=weight))
    try:
        if isinstance(part, DeepSurvivalMachines):
            for result in fit_many(requests):
                if result.error is not None:
                    raise result.error
        else:
            for request in requests:
                weight = request.sample_weight
                options = {} if weight is None else {"sample_weight": weight}
                request.model.fit(request.X, request.y, **options)
        return [
            (request.model, request.model.predict_cumulative_incidences(take_rows(X, test), times))
            for request, (_, test) in zip(requests, folds, strict=True)
        ]
    except LifemixError as error:
        return error


def _for_comparison(part: Any, n_rows: int) -> Any:
    """Return a cheaper part: a quarter of a network's members, half of a forest's trees."""
    if isinstance(part, DeepSurvivalMachines) and part.n_members is None:
        settings = automatic_settings(n_rows, part.hidden, part.encoder is not None)
        part.set_params(n_members=max(1, settings["n_members"] // 4))
    elif isinstance(part, MartingaleForest):
        part.set_params(n_trees=(part.n_trees + 1) // 2)
    return part


def with_seed(estimator: Any, seed: int) -> Any:
    """Set the random seed of a model that has one, and return the model."""
    if "random_state" in estimator.get_params(deep=False):
        estimator.set_params(random_state=seed)
    return estimator
