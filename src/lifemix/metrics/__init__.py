"""Metrics of survival models: discrimination, accuracy and calibration.

Plain functions of arrays: a target ``y`` in any form that the package reads, predictions, horizons.
A value that the data cannot determine, because a horizon lies beyond the follow-up or no pair is
comparable, is NaN with a ``LifemixWarning``.
"""

from .auc import auc_td
from .brier import brier_score, integrated_brier_score
from .calibration import calibration_curve, d_calibration, integrated_calibration_index
from .concordance import concordance, concordance_antolini, concordance_td
from .curves import aalen_johansen, kaplan_meier, nelson_aalen
from .evaluation import (
    Measure,
    evaluate,
    mean_concordance,
    measure_named,
    predicted_risk,
    predicted_risks,
    register_measure,
    registered_measures,
    survival_at_own_time,
)
from .importance import permutation_importance
from .landmark import at_landmark, evaluate_landmarks, landmark_risk
from .resampling import bootstrap, bootstrap_difference

__all__ = [
    "Measure",
    "aalen_johansen",
    "at_landmark",
    "auc_td",
    "bootstrap",
    "bootstrap_difference",
    "brier_score",
    "calibration_curve",
    "concordance",
    "concordance_antolini",
    "concordance_td",
    "d_calibration",
    "evaluate",
    "evaluate_landmarks",
    "integrated_brier_score",
    "integrated_calibration_index",
    "kaplan_meier",
    "landmark_risk",
    "mean_concordance",
    "measure_named",
    "nelson_aalen",
    "permutation_importance",
    "predicted_risk",
    "predicted_risks",
    "register_measure",
    "registered_measures",
    "survival_at_own_time",
]
