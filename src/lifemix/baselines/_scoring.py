"""The one number by which models are chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..metrics import concordance_td
from ..splits import horizons
from ..target import as_target

__all__ = ["mean_concordance"]


def mean_concordance(model: Any, y_train: Any, X: Any, y: Any) -> float:
    """Return the mean over kinds of event and the 25, 50 and 75 % quantiles of their training times of C^td."""
    values = []
    for event in range(1, as_target(y_train).n_events + 1):
        times = horizons(y_train, event=event)
        risk = model.predict_cumulative_incidence(X, times, event=event)
        values += [concordance_td(y_train, y, risk[:, i], float(t), event) for i, t in enumerate(times)]
    return float(np.mean(values))
