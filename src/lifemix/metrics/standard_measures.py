"""The measures of the package, in the order in which tables show them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._types import FloatArray
from ..target import Target
from .auc import auc_td
from .brier import brier_score, integrated_brier_score
from .concordance import concordance_td
from .dcalibration import d_calibration
from .measures import Measure, register_measure

__all__ = ["STANDARD_MEASURES"]


def _concordance(
    y_train: Target,
    y_test: Target,
    risk: FloatArray,
    horizons: FloatArray,
    event: int,
    **options: Any,
) -> FloatArray:
    at = zip(risk.T, horizons, strict=True)
    return np.array(
        [concordance_td(y_train, y_test, column, float(t), event, **options) for column, t in at]
    )


def _brier(
    y_train: Target,
    y_test: Target,
    risk: FloatArray,
    horizons: FloatArray,
    event: int,
    **options: Any,
) -> FloatArray:
    return np.asarray(brier_score(y_train, y_test, 1 - risk, horizons, event, **options))


def _auc(
    y_train: Target,
    y_test: Target,
    risk: FloatArray,
    horizons: FloatArray,
    event: int,
    **options: Any,
) -> FloatArray:
    return np.asarray(auc_td(y_train, y_test, risk, horizons, event, **options))


def _integrated_brier(
    y_train: Target, y_test: Target, risk: FloatArray, grid: FloatArray, event: int, **options: Any
) -> float:
    return integrated_brier_score(y_train, y_test, 1 - risk, grid, event, **options)


def _d_calibration(y_test: Target, survival: FloatArray) -> float:
    return d_calibration(y_test, survival).statistic


def _d_calibration_p(y_test: Target, survival: FloatArray) -> float:
    return d_calibration(y_test, survival).p_value


STANDARD_MEASURES = tuple(
    register_measure(measure)
    for measure in (
        Measure(
            "concordance",
            "C^td",
            "higher",
            "horizon",
            _concordance,
            options=("competing", "compat"),
        ),
        Measure("brier", "Brier score", "lower", "horizon", _brier, options=("compat",)),
        Measure("auc", "AUC", "higher", "horizon", _auc, options=("compat",)),
        Measure(
            "integrated_brier",
            "integrated Brier score",
            "lower",
            "curve",
            _integrated_brier,
            options=("compat",),
        ),
        Measure("d_calibration", "D-calibration statistic", None, "own_time", _d_calibration),
        Measure("d_calibration_p", "D-calibration p-value", None, "own_time", _d_calibration_p),
    )
)
