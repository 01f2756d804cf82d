"""What ``predict_distribution`` returns: one distribution of the time to event per row."""

from __future__ import annotations

from .base import SurvivalDistribution
from .competing import CompetingDistribution
from .single import MixtureDistribution

__all__ = ["CompetingDistribution", "MixtureDistribution", "SurvivalDistribution"]
