"""What the report and the doctor are given: a fitted model of any sort, held-out rows, horizons."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import BoolArray, FittedSurvivalModel, FloatArray
from ..checks import check_times
from ..preprocessing import TabularPreprocessor
from ..splits import default_horizons
from ..target import Target

if TYPE_CHECKING:
    from ..estimators import DeepSurvivalMachines

__all__ = [
    "best_model",
    "exact_times",
    "horizons_within",
    "measurable",
    "mixture_of",
    "n_event_types",
    "preprocessor_of",
    "training_target",
]


def best_model(model: Any) -> FittedSurvivalModel:
    """Return the model that predicts: of a search, the best one."""
    best: FittedSurvivalModel = getattr(model, "best_estimator_", model)
    return best


def mixture_of(model: FittedSurvivalModel) -> DeepSurvivalMachines | None:
    """Return a model whose mixtures can be inspected, a Deep Survival Machine, and None for any other."""
    from ..estimators import DeepSurvivalMachines  # imports PyTorch

    return model if isinstance(model, DeepSurvivalMachines) else None


def preprocessor_of(model: Any) -> TabularPreprocessor | None:
    """Return what a model remembers of the columns; of a model made of others, what the first that knows them does."""
    found = getattr(model, "preprocessor_", None)
    if isinstance(found, TabularPreprocessor):
        return found
    inside = getattr(model, "models_", None) or getattr(model, "estimators_", None) or ()
    for one in inside.values() if isinstance(inside, dict) else inside:
        found = preprocessor_of(one)
        if found is not None:
            return found
    return None


def n_event_types(model: FittedSurvivalModel, target: Target) -> int:
    """Return how many event types a model has, or where it does not say, the target."""
    return int(getattr(model, "n_events_", max(1, target.n_events)))


def training_target(model: FittedSurvivalModel) -> Target | None:
    """Return the target that a model was fitted to, where it keeps it."""
    target = getattr(model, "training_target_", None)
    return target if isinstance(target, Target) else None


def measurable(target: Target) -> BoolArray:
    """Return which rows measures can use: exact or right-censored times, followed from the origin."""
    return ~target.interval & ~target.truncated


def horizons_within(given: ArrayLike | None, train: Target, test: Target) -> FloatArray:
    """Return the horizons inside the follow-up of both targets: those given, or the default ones of the training data.

    Ascending, each once; there may be none.
    """
    last = min(float(train.time.max()), float(test.time.max()))
    if given is not None:
        values = np.unique(check_times(given, "horizons"))
    else:
        values = default_horizons(train) if (train.event > 0).any() else np.empty(0)
    return values[(values > 0) & (values <= last)]


def exact_times(target: Target) -> Target:
    """Return the target with every interval replaced by its midpoint, which is exact enough for checks and counts."""
    middle = np.where(
        target.interval,
        (target.time + np.where(target.interval, target.upper, 0.0)) / 2,
        target.time,
    )
    return replace(target, time=middle, upper=np.full(len(target), np.nan))
