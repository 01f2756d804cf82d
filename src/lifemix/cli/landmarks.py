"""The quality of a model of start-stop rows: at landmarks, as no row is a prediction from the origin on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..metrics import evaluate_landmarks, landmark_risk
from ..target import Target

if TYPE_CHECKING:
    from .quality import ModelQuality

__all__ = ["add_landmark_measures", "default_landmarks"]

_MEASURES = ("concordance", "brier", "auc")


def default_landmarks(train: Target, test: Target) -> tuple[list[float], float]:
    """Return landmarks and the length of the window: 0 and two quartiles of the event times; the first of them.

    A window that goes beyond the follow-up is left out.
    """
    first, middle, _ = (
        float(f"{time:.3g}") for time in train.event_quantiles((0.25, 0.5, 0.75), None)
    )
    last = min(float(train.time.max()), float(test.joined().time.max()))
    return [s for s in sorted({0.0, first, middle}) if s + first < last], first


def add_landmark_measures(
    quality: ModelQuality,
    model: Any,
    train: Target,
    X: Any,
    target: Target,
    resamples: int,
    seed: int,
    landmarks: Sequence[float] = (),
    window: float | None = None,
) -> None:
    """Measure a model at landmarks; the horizons of the quality are then the landmarks."""
    known, length = default_landmarks(train, target)
    at, length = list(landmarks or known), window or length
    quality.horizons = at
    quality.without = (
        f"at each landmark s: the risk of the next {length:g}, given survival to s, of those at risk at s and by "
        "the row that holds then"
    )
    for event in range(1, max(train.n_events, 1) + 1):
        code = None if train.n_events <= 1 else event
        risk = landmark_risk(model, X, target, at, length, code)
        table = evaluate_landmarks(
            train,
            target,
            risk,
            at,
            length,
            code,
            measures=_MEASURES,
            n_bootstrap=resamples,
            random_state=seed,
        )
        for name in _MEASURES:
            rows = table[table["metric"] == name]
            quality.values.setdefault(name, {})[event] = rows["value"].tolist()
            if resamples:
                limits = np.stack([rows["lower"], rows["upper"]], axis=1).tolist()
                quality.intervals.setdefault(name, {})[event] = limits
