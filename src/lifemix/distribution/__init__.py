"""What ``predict_distribution`` returns: one distribution of the time to event per row."""

from __future__ import annotations

from .average import AverageDistribution
from .base import SurvivalDistribution
from .competing import CompetingDistribution
from .grid import GridDistribution
from .single import MixtureDistribution

__all__ = [
    "AverageDistribution",
    "CompetingDistribution",
    "GridDistribution",
    "MixtureDistribution",
    "SurvivalDistribution",
]
