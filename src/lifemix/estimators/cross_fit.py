"""Fit every part of ``LifeMix`` once per fold, and predict the held-out rows of each fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

Fold = tuple[IndexArray, IndexArray]


@dataclass(frozen=True, eq=False)
class CrossFit:
    """The models of a part, one per fold, and their incidences of the held-out rows."""

    curves: FloatArray  # [n_events, n_rows, n_times]
    models: list[Any]


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
    outcomes = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_fit_folds)(part, X, y, sample_weight, folds, times, seeds)
        for part in parts.values()
    )
    fits: dict[str, CrossFit] = {}
    errors: dict[str, LifemixError] = {}
    report_progress("fitting the parts", 0, len(parts))
    for n_completed, (name, outcome) in enumerate(zip(parts, outcomes, strict=True), 1):
        report_progress("fitting the parts", n_completed, len(parts))
        if isinstance(outcome, CrossFit):
            fits[name] = outcome
        else:
            errors[name] = outcome
    return fits, errors


def _fit_folds(
    part: Any,
    X: Any,
    y: Any,
    sample_weight: FloatArray | None,
    folds: Sequence[Fold],
    times: FloatArray,
    seeds: Sequence[int],
) -> CrossFit | LifemixError:
    """Return models and curves of a part, or its first error; networks of all folds train together."""
    from .fleet_groups import FitRequest, fit_many  # training is not imported for prediction

    requests = []
    for (train, _), seed in zip(folds, seeds, strict=True):
        model = with_seed(_for_comparison(clone(part), len(train)), seed)
        weight = None if sample_weight is None else sample_weight[train]
        requests.append(FitRequest(model, take_rows(X, train), y[train], sample_weight=weight))
    curves = np.empty((int(y["event"].max()), len(y), len(times)))
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
        for request, (_, test) in zip(requests, folds, strict=True):
            rows = take_rows(X, test)
            curves[:, test] = request.model.predict_cumulative_incidences(rows, times)
    except LifemixError as error:
        return error
    return CrossFit(curves, [request.model for request in requests])


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
