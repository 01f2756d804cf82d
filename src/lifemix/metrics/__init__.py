"""How good a survival model is: discrimination, accuracy and calibration under censoring and competing risks.

Plain functions of arrays: a target ``y`` in any form that the package reads, predictions, horizons. What the data
cannot give, because a horizon lies beyond the follow-up or no pair can be compared, is NaN with a ``LifemixWarning``.
"""

from .antolini import concordance_antolini
from .auc import auc_td
from .brier import brier_score, integrated_brier_score
from .calibration import calibration_curve, integrated_calibration_index
from .concordance import concordance, concordance_td
from .dcalibration import d_calibration
from .evaluation import evaluate
from .importance import permutation_importance
from .incidence import aalen_johansen
from .resampling import bootstrap, bootstrap_difference
from .survival_curves import kaplan_meier, nelson_aalen

__all__ = [
    "aalen_johansen",
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
    "integrated_brier_score",
    "integrated_calibration_index",
    "kaplan_meier",
    "nelson_aalen",
    "permutation_importance",
]
