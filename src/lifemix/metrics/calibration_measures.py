"""Calibration as one number for each horizon: observed over expected risk, and the integrated calibration index."""

from __future__ import annotations

import numpy as np

from .._types import FloatArray
from ..target import Target
from .calibration import integrated_calibration_index
from .incidence import aalen_johansen
from .measures import Measure, register_measure

__all__ = ["CALIBRATION_MEASURES"]


def _observed_expected(
    y_train: Target, y_test: Target, risk: FloatArray, horizons: FloatArray, event: int
) -> FloatArray:
    """Return the Aalen-Johansen estimate of the test rows over the mean predicted risk; NaN beyond the follow-up."""
    curve = aalen_johansen(y_test, event)
    reached = horizons <= curve.time[-1]
    seen = np.where(reached, curve.at(np.minimum(horizons, curve.time[-1])), np.nan)
    mean = risk.mean(axis=0)
    return np.divide(seen, mean, out=np.full(len(mean), np.nan), where=mean > 0)


def _ici(
    y_train: Target, y_test: Target, risk: FloatArray, horizons: FloatArray, event: int
) -> FloatArray:
    at = zip(risk.T, horizons, strict=True)
    return np.array(
        [integrated_calibration_index(y_test, column, float(t), event) for column, t in at]
    )


CALIBRATION_MEASURES = tuple(
    register_measure(measure)
    for measure in (
        Measure(
            "observed_expected",
            "observed / expected risk",
            None,
            "horizon",
            _observed_expected,
            standard=False,
        ),
        Measure("ici", "ICI", "lower", "horizon", _ici, standard=False),
    )
)
