"""AUC and Brier score of risks in (s, s + w], among those at risk at s, with intervals from a bootstrap of patients.

Censoring weights are 1 / (G(t) / G(s)): Kaplan-Meier of the censoring among those at risk at s gives that ratio. Only
patients of one fold are compared by the AUC: their risks are from one model. ``tests/test_pbc.py`` holds both to
``lifemix.metrics``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lifemix.metrics.censoring import censoring_curve
from lifemix.target import Target

__all__ = ["LandmarkWeights", "auc_and_brier"]


@dataclass(frozen=True, eq=False)
class LandmarkWeights:
    """Case and control weights of the patients at risk at s; a patient censored before s + w has none."""

    rows: np.ndarray
    case: np.ndarray
    control: np.ndarray

    @classmethod
    def of(cls, target: Target, s: float, w: float) -> LandmarkWeights:
        """Weigh the patients of a target."""
        rows = np.flatnonzero(target.time > s)
        time, event = target.time[rows] - s, target.event[rows]
        censoring = censoring_curve(time, event == 0)
        case = (time <= w) & (event > 0)
        control = time > w
        weight = 1 / censoring.before(np.minimum(time, w)), 1 / censoring.at(np.array([w]))
        return cls(rows, np.where(case, weight[0], 0.0), np.where(control, weight[1], 0.0))


def auc_and_brier(
    weights: LandmarkWeights, risk: np.ndarray, fold: np.ndarray, times_drawn: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return AUC and Brier score for each resample.

    risk, fold: of the patients at risk. times_drawn: how often each is in a resample, ``[resamples, patients]``.
    """
    above = (risk[:, None] > risk) + 0.5 * (risk[:, None] == risk)
    pairs = (fold[:, None] == fold).astype(float)
    case, control = times_drawn * weights.case, times_drawn * weights.control
    total = ((case @ pairs) * control).sum(1)
    auc = ((case @ (above * pairs)) * control).sum(1) / total
    brier = (case @ (1 - risk) ** 2 + control @ risk**2) / times_drawn.sum(1)
    return auc, brier
