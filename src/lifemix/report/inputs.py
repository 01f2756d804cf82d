"""What the report and the doctor are given: a fitted model of any sort, held-out rows, horizons."""

from __future__ import annotations

from typing import Any

from .._types import BoolArray, FittedSurvivalModel
from ..target import Target

__all__ = ["best_model", "measurable", "n_event_types", "training_target"]


def best_model(model: Any) -> FittedSurvivalModel:
    """Return the model that predicts: of a search, the best one."""
    best: FittedSurvivalModel = getattr(model, "best_estimator_", model)
    return best


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
