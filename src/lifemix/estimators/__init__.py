"""The estimators that users construct; each is imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dsm import DeepSurvivalMachines
    from .life_mix import LifeMix
    from .search import FleetSearchCV

__all__ = ["DeepSurvivalMachines", "FleetSearchCV", "LifeMix"]

_MODULES = {"DeepSurvivalMachines": "dsm", "FleetSearchCV": "search", "LifeMix": "life_mix"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
