"""What ``predict_distribution`` returns: one law of the time to event for each row."""

from __future__ import annotations

from .base import SurvivalDistribution, check_event, check_times
from .competing import CompetingDistribution
from .single import MixtureDistribution

__all__ = ["CompetingDistribution", "MixtureDistribution", "SurvivalDistribution", "check_event", "check_times"]
