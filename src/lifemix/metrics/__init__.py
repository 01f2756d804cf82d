"""Metrics of survival models: discrimination, accuracy and calibration under censoring and competing risks.

Plain functions of arrays: a target ``y`` in any form that the package reads, predictions, horizons. A value that the
data cannot determine, because a horizon lies beyond the follow-up or no pair is comparable, is NaN with a
``LifemixWarning``.
"""

from importlib import import_module
from pkgutil import iter_modules

from .antolini import concordance_antolini
from .auc import auc_td
from .brier import brier_score, integrated_brier_score
from .calibration import calibration_curve, integrated_calibration_index
from .concordance import concordance, concordance_td
from .dcalibration import d_calibration
from .evaluation import evaluate, mean_concordance
from .importance import permutation_importance
from .incidence import aalen_johansen
from .landmark import at_landmark, evaluate_landmarks
from .landmark_predictions import landmark_risk
from .measures import Measure, measure_named, register_measure, registered_measures
from .predictions import predicted_risk, predicted_risks, survival_at_own_time
from .resampling import bootstrap, bootstrap_difference
from .survival_curves import kaplan_meier, nelson_aalen

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

# A metric in a file of its own registers its measure when it is imported; the package's own come first.
for _name in ("standard_measures", *(module.name for module in iter_modules(__path__))):
    import_module(f".{_name}", __name__)
