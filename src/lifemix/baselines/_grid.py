"""The intervals of the models in discrete time."""

from __future__ import annotations

import numpy as np

from .._types import FloatArray
from ..registry import check_finite
from ..target import Target

__all__ = ["check_grid", "interval_ends"]


def interval_ends(target: Target, count: int, kind: str) -> FloatArray:
    """Return the ends of at most ``count`` intervals from 0 to the last event time.

    kind: ``"quantiles"`` of the times of all events, or ``"equidistant"``.
    """
    times = target.time[target.event > 0]
    levels = np.linspace(0.0, 1.0, count + 1)[1:]
    if kind == "equidistant":
        return np.asarray(levels * times.max())
    return np.unique(np.quantile(times, levels, method="higher"))


def check_grid(ends: FloatArray) -> None:
    """Refuse ends of intervals, read from a file, that do not ascend from above 0."""
    check_finite("grid_", ends, (None,))
    if not len(ends) or (np.diff(ends, prepend=0.0) <= 0).any():
        raise ValueError(
            f"the ends of the intervals must ascend from above 0; got {ends[:5].tolist()}"
        )
