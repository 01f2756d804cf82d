"""Boosted trees at full strength: settings chosen on the table, several seeds averaged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from lifemix.baselines import ModelAverage
from lifemix.target import Target

__all__ = ["TunedBoosting"]

Floats = NDArray[np.float64]


class TunedBoosting(ModelAverage):
    """The mean of boosted trees of several seeds, with the settings that fit held-out rows best.

    Each of the models holds out a fifth of the rows of its own to choose the number of trees. The settings are those
    with the least mean loss on these rows.
    """

    _SETTINGS: tuple[dict[str, Any], ...] = (
        {},
        {"learning_rate": 0.05, "max_leaf_nodes": 8},
        {"max_leaf_nodes": 4},
        {"max_leaf_nodes": 8, "min_samples_leaf": 150, "l2": 10.0, "max_features": 0.3},
    )

    def _fit(self, x: Any, target: Target, weight: Floats) -> None:
        y = target.to_array()
        tried = [
            [clone(estimator).set_params(**settings).fit(x, y) for estimator in self.estimators]
            for settings in self._SETTINGS
        ]
        self.estimators_ = min(tried, key=lambda models: float(np.mean([min(one.history_) for one in models])))
        self.shares_ = np.full(len(self.estimators), 1 / len(self.estimators))
