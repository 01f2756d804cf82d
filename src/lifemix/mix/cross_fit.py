"""Every part fitted once per fold, and its curves for the rows of the fold, which it has not seen in any way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from .._types import FloatArray, IndexArray
from ..errors import LifemixError
from ..estimators import DeepSurvivalMachines
from ..estimators.many import FitRequest, fit_many
from ..metrics.predictions import take_rows
from ..progress import tell_progress
from .parts import to_judge, with_seed

__all__ = ["CrossFitted", "cross_fit"]


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """One part: its models, one per fold, and its incidences of all rows, each by the model that has not seen it."""

    models: list[Any]
    curves: FloatArray  # [events, rows, times]


def cross_fit(
    parts: Mapping[str, Any],
    X: Any,
    y: Any,
    weight: FloatArray,
    folds: Sequence[tuple[IndexArray, IndexArray]],
    times: FloatArray,
    seed: int,
    n_jobs: int | None,
) -> dict[str, CrossFitted | LifemixError]:
    """Return the parts that could be fitted, and the errors of the others."""
    seeds = np.random.SeedSequence(seed).generate_state(len(folds)).tolist()
    told = None if (weight == 1).all() else weight
    tasks = []
    for name, estimator in parts.items():
        groups = (
            [list(range(len(folds)))]
            if isinstance(estimator, DeepSurvivalMachines)
            else [[fold] for fold in range(len(folds))]
        )  # the networks of all folds train together
        tasks += [(name, group) for group in groups]
    tasks.sort(
        key=lambda task: task[1][0]
    )  # some of every part soon, so that the time left can be told
    found: list[Any] = []
    total = sum(map(_cost, tasks))
    tell_progress("fitting the parts", 0, total)
    for outcome in Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_fit_folds)(
            parts[name], X, y, told, [folds[f] for f in group], times, [seeds[f] for f in group]
        )
        for name, group in tasks
    ):
        found.append(outcome)
        tell_progress("fitting the parts", sum(map(_cost, tasks[: len(found)])), total)
    results: dict[str, CrossFitted | LifemixError] = {}
    for name in parts:
        outcomes = [
            outcome
            for (owner, _), some in zip(tasks, found, strict=True)
            if owner == name
            for outcome in some
        ]
        errors = [outcome for outcome in outcomes if isinstance(outcome, LifemixError)]
        results[name] = errors[0] if errors else _joined(outcomes, folds)
    return results


def _cost(task: tuple[str, list[int]]) -> int:
    """Return roughly how long a task takes, for the progress: Cox regression hardly counts."""
    name, group = task
    return len(group) * (1 if name == "Cox" else 5)


def _joined(
    outcomes: Sequence[tuple[Any, FloatArray]], folds: Sequence[tuple[IndexArray, IndexArray]]
) -> CrossFitted:
    n_rows = sum(len(test) for _, test in folds)
    curves = np.empty((outcomes[0][1].shape[0], n_rows, outcomes[0][1].shape[2]))
    for (_, own), (_, test) in zip(outcomes, folds, strict=True):
        curves[:, test] = own
    return CrossFitted([model for model, _ in outcomes], curves)


def _fit_folds(
    estimator: Any,
    X: Any,
    y: Any,
    weight: FloatArray | None,
    folds: Sequence[tuple[IndexArray, IndexArray]],
    times: FloatArray,
    seeds: Sequence[int],
) -> list[Any]:
    """Return model and curves of each fold, or the errors."""
    models = [
        with_seed(to_judge(clone(estimator), len(train)), seed)
        for seed, (train, _) in zip(seeds, folds, strict=True)
    ]
    try:
        if isinstance(estimator, DeepSurvivalMachines):
            _fit_networks(models, X, y, weight, folds)
        else:
            for model, (train, _) in zip(models, folds, strict=True):
                told = {} if weight is None else {"sample_weight": weight[train]}
                model.fit(take_rows(X, train), y[train], **told)
        return [
            (model, np.asarray(model.predict_cumulative_incidences(take_rows(X, test), times)))
            for model, (_, test) in zip(models, folds, strict=True)
        ]
    except LifemixError as error:
        return [error]


def _fit_networks(
    models: Sequence[DeepSurvivalMachines],
    X: Any,
    y: Any,
    weight: FloatArray | None,
    folds: Sequence[tuple[IndexArray, IndexArray]],
) -> None:
    requests = [
        FitRequest(
            model,
            take_rows(X, train),
            y[train],
            sample_weight=None if weight is None else weight[train],
        )
        for model, (train, _) in zip(models, folds, strict=True)
    ]
    for result in fit_many(requests):
        if result.error is not None:
            raise result.error
