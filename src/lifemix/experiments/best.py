"""Our best settings: the column ``lifemix`` of the tables."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..estimators import DeepSurvivalMachines

__all__ = ["BEST", "best_model"]

BEST: Mapping[str, Any] = MappingProxyType(
    {"hidden": (100, 100), "objective": "exact", "n_members": 8, "dropout": 0.1, "preprocessor": "auto"}
)


def best_model(random_state: int) -> Any:
    """Return the model of the column ``lifemix``, the same for every data set."""
    return DeepSurvivalMachines(**BEST, random_state=random_state)
