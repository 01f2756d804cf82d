"""Types in annotations: arrays, and the interface of fitted models."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BoolArray",
    "FittedSurvivalModel",
    "Float32Array",
    "FloatArray",
    "IndexArray",
    "IntArray",
]

BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
Float32Array: TypeAlias = NDArray[np.float32]
IndexArray: TypeAlias = NDArray[np.intp]
IntArray: TypeAlias = NDArray[np.int64]


@runtime_checkable
class FittedSurvivalModel(Protocol):
    """The methods that metrics and reports need of a fitted model, from this package or another."""

    def predict_survival_function(self, X: Any, times: Any) -> Any:
        """Return ``P(T > t | x)`` for the first event of any type, ``[n_rows, n_times]``."""

    def predict_cumulative_incidence(self, X: Any, times: Any, event: int = 1) -> Any:
        """Return the cumulative incidence of an event type, ``[n_rows, n_times]``."""
