"""The estimators."""

from __future__ import annotations

from .dsm import DeepSurvivalMachines
from .search import FleetSearchCV

__all__ = ["DeepSurvivalMachines", "FleetSearchCV"]
