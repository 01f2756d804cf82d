"""The Brier score relative to that of the marginal curve: how much of it the covariates take away.

The marginal curve is the Aalen-Johansen estimate of the training rows (for one event type, Kaplan-Meier), the same for
everyone. The scaled score 1 - BS / BS_marginal is also called index of prediction accuracy (Kattan and Gerds, 2018,
doi:10.1186/s41512-018-0029-2): 1 is perfect, 0 is no better than the marginal curve.
"""

from __future__ import annotations

import numpy as np

from .._types import FloatArray
from ..target import Target
from .brier import brier_score, integrated_brier_score
from .incidence import aalen_johansen
from .measures import Measure, register_measure

__all__ = ["SCALED_BRIER_MEASURES", "marginal_risk"]


def marginal_risk(y_train: Target, times: FloatArray, event: int) -> FloatArray:
    """Return the risk without covariates by each time; after the last training time it stays where it was."""
    curve = aalen_johansen(y_train, event)
    return np.asarray(curve.at(np.minimum(times, curve.time[-1])))


def _marginal(
    y_train: Target, y_test: Target, risk: FloatArray, horizons: FloatArray, event: int
) -> FloatArray:
    same = np.tile(1 - marginal_risk(y_train, horizons, event), (len(y_test), 1))
    return np.asarray(brier_score(y_train, y_test, same, horizons, event))


def _scaled(
    y_train: Target, y_test: Target, risk: FloatArray, horizons: FloatArray, event: int
) -> FloatArray:
    own = np.asarray(brier_score(y_train, y_test, 1 - risk, horizons, event))
    return 1 - own / _marginal(y_train, y_test, risk, horizons, event)


def _integrated_marginal(
    y_train: Target, y_test: Target, risk: FloatArray, grid: FloatArray, event: int
) -> float:
    same = np.tile(1 - marginal_risk(y_train, grid, event), (len(y_test), 1))
    return integrated_brier_score(y_train, y_test, same, grid, event)


def _integrated_scaled(
    y_train: Target, y_test: Target, risk: FloatArray, grid: FloatArray, event: int
) -> float:
    own = integrated_brier_score(y_train, y_test, 1 - risk, grid, event)
    return 1 - own / _integrated_marginal(y_train, y_test, risk, grid, event)


SCALED_BRIER_MEASURES = tuple(
    register_measure(measure)
    for measure in (
        Measure(
            "marginal_brier",
            "Brier score, marginal curve",
            None,
            "horizon",
            _marginal,
            standard=False,
        ),
        Measure(
            "scaled_brier",
            "scaled Brier score",
            "higher",
            "horizon",
            _scaled,
            standard=False,
            percent=True,
        ),
        Measure(
            "integrated_marginal_brier",
            "integrated Brier score, marginal curve",
            None,
            "curve",
            _integrated_marginal,
            standard=False,
        ),
        Measure(
            "integrated_scaled_brier",
            "integrated scaled Brier score",
            "higher",
            "curve",
            _integrated_scaled,
            standard=False,
            percent=True,
        ),
    )
)
