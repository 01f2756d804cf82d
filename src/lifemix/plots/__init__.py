"""Pictures of survival models: arrays in, matplotlib Axes out.

Every function takes ``ax``, draws into it and returns it; without one it creates a figure that is not registered with
pyplot: ``ax.figure.savefig(path)``, or ``ax.figure`` as the last line of a notebook cell. Nothing is shown or
saved automatically. Needs matplotlib: ``pip install "lifemix[plots]"``.
"""

from .calibration import calibration
from .components import component_curves, mixture_components
from .curves import incidence_curves, survival_curves
from .dcalibration import d_calibration
from .hazard import hazard_curves
from .history import training_history
from .importance import importance_over_time
from .landmarks import landmark_quality, updated_curves
from .phenotypes import phenotype_means, phenotypes
from .quality import brier_over_time, concordance_over_time
from .risk_groups import number_at_risk, risk_groups
from .stacked import stacked_incidence
from .style import PALETTE

__all__ = [
    "PALETTE",
    "brier_over_time",
    "calibration",
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
