"""Deep Survival Machines: parametric survival regression for censored data with competing risks.

Names are imported when they are first used, so that ``import lifemix`` and the command line start without PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import baselines, datasets, export, metrics, plots, report, splits
    from . import encoders as encoders
    from . import histories as histories
    from .estimators import DeepSurvivalMachines, FleetSearchCV, LifeMix
    from .persistence import load, save
    from .pipeline import make_pipeline
    from .target import make_target

__version__ = "0.2.0"
__all__ = [
    "DeepSurvivalMachines",
    "FleetSearchCV",
    "LifeMix",
    "baselines",
    "datasets",
    "export",
    "load",
    "make_pipeline",
    "make_target",
    "metrics",
    "plots",
    "report",
    "save",
    "splits",
]

_ALSO = ("encoders", "histories")  # modules that are there without an import of their own

_HOMES = {
    "DeepSurvivalMachines": ".estimators",
    "FleetSearchCV": ".estimators",
    "LifeMix": ".estimators",
    "load": ".persistence",
    "make_pipeline": ".pipeline",
    "make_target": ".target",
    "save": ".persistence",
}


def __getattr__(name: str) -> Any:
    if name not in __all__ and name not in _ALSO:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name], __name__), name)
    return import_module(f".{name}", __name__)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
