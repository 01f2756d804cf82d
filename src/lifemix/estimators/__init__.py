"""The estimators."""

from __future__ import annotations

from .dsm import DeepSurvivalMachines

__all__ = ["DeepSurvivalMachines"]
