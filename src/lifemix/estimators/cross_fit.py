"""Fit every part of ``LifeMix`` once per fold, and predict the held-out rows of each fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from .._types import FloatArray, IndexArray
from ..baselines import MartingaleForest
from ..checks import take_rows
from ..errors import LifemixError
from ..progress import report_progress
from .dsm import DeepSurvivalMachines
from .settings import automatic_settings

__all__ = ["CrossFit", "cross_fit", "with_seed"]

_TITLE = "fitting the parts"

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
) -> dict[str, CrossFit | LifemixError]:
    """Return the models and curves of each part, or the error of a part that cannot be fitted."""
    seeds = np.random.SeedSequence(seed).generate_state(len(folds)).tolist()
    tasks: list[tuple[str, list[int]]] = []
    for name, part in parts.items():
        numbers = list(range(len(folds)))
        is_network = isinstance(part, DeepSurvivalMachines)  # networks of all folds train together
        tasks += [(name, numbers)] if is_network else [(name, [number]) for number in numbers]
    tasks.sort(key=lambda task: task[1][0])  # for the progress: the first fold of every part first
    # Approximate costs: Cox regression takes little time.
    costs = [len(numbers) * (1 if name == "Cox" else 5) for name, numbers in tasks]
    report_progress(_TITLE, 0, sum(costs))
    outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(
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
    )
    shape = (int(y["event"].max()), len(y), len(times))
    results: dict[str, CrossFit | LifemixError] = {
        name: CrossFit(np.empty(shape)) for name in parts
    }
    for number, ((name, numbers), outcome) in enumerate(zip(tasks, outcomes, strict=True)):
        report_progress(_TITLE, sum(costs[: number + 1]), sum(costs))
        result = results[name]
        if isinstance(outcome, LifemixError):
            results[name] = outcome if isinstance(result, CrossFit) else result
        elif isinstance(result, CrossFit):
            for fold, (model, curves) in zip(numbers, outcome, strict=True):
                result.models.append(model)
                result.curves[:, folds[fold][1]] = curves
    return results


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
