"""Plots of survival models: arrays in, matplotlib Axes out.

Every function takes ``ax``, draws into it and returns it. Without it, the function draws into a new
figure of pyplot, so that ``plt.title``, ``plt.savefig`` and ``plt.close`` work, and notebooks show
it. Needs matplotlib: ``pip install "lifemix[plots]"``.
"""

from ._axes import PALETTE
from .calibration import calibration, d_calibration
from .components import component_curves, mixture_components
from .curves import hazard_curves, incidence_curves, stacked_incidence, survival_curves
from .features import coefficients, importance_over_time, phenotype_means, phenotypes
from .history import training_history
from .quality import brier_over_time, concordance_over_time, landmark_quality, updated_curves
from .risk_groups import number_at_risk, risk_groups

__all__ = [
    "PALETTE",
    "brier_over_time",
    "calibration",
    "coefficients",
    "component_curves",
    "concordance_over_time",
    "d_calibration",
    "hazard_curves",
    "importance_over_time",
    "incidence_curves",
    "landmark_quality",
    "mixture_components",
    "number_at_risk",
    "phenotype_means",
    "phenotypes",
    "risk_groups",
    "stacked_incidence",
    "survival_curves",
    "training_history",
    "updated_curves",
]
