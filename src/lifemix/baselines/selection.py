"""Choice among settings by the concordance on held-out rows, as the paper does it for its baselines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..errors import SettingError
from ..metrics.predictions import take_rows
from ..splits import train_validation_split
from ..target import as_target

__all__ = ["Selection", "select_model"]


@dataclass(frozen=True)
class Selection:
    """The best of the candidates, fitted to the training part, and the score of each on the validation part."""

    best: Any
    index: int
    scores: tuple[float, ...]


def select_model(
    candidates: Iterable[Any], X: Any, y: Any, fraction: float = 0.2, random_state: int | np.random.Generator | None = 0
) -> Selection:
    """Fit each candidate to a part of the rows and choose by ``score`` (mean C^td) on the other part.

    For the paper's DeepHit: ``select_model([DeepHit(**s) for s in deephit_settings(10)], X, y)`` with
    ``lifemix.experiments.learners.deephit_settings``; for its forest:
    ``select_model([RandomSurvivalForest.paper(n) for n in PAPER_TREES], X, y)``.
    """
    models = [clone(candidate) for candidate in candidates]
    if not models:
        raise SettingError("candidates must hold at least one estimator; got none.")
    target = as_target(y)
    training, validation = train_validation_split(target, fraction=fraction, random_state=random_state)
    table = X if hasattr(X, "iloc") else np.asarray(X)
    scores, best, index = [], None, -1
    for i, model in enumerate(models):
        model.fit(take_rows(table, training), target.take(training).to_array())
        scores.append(float(model.score(take_rows(table, validation), target.take(validation).to_array())))
        if best is None or scores[-1] > scores[index]:
            best, index = model, i
    return Selection(best, index, tuple(scores))
