"""The models that Deep Survival Machines is compared with, all with the same interface.

``fit(X, y)``, ``predict_survival_function(X, times)``, ``predict_cumulative_incidence(X, times, event=1)``,
``predict(X)``, a risk score, and ``score(X, y)``; DeepSurv and DeepHit also ``transform(X)``.

Names are imported when they are first used: only DeepSurv and DeepHit need PyTorch, and only
RandomSurvivalForest needs an optional package, scikit-survival of ``lifemix[baselines]``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .boosting import GradientBoosting
    from .combined import CauseSpecific, ModelAverage
    from .cox import CoxPH
    from .deephit import DeepHit
    from .deepsurv import DeepSurv
    from .fine_gray import FineGray
    from .forest import RandomSurvivalForest
    from .martingale_forest import MartingaleForest
    from .nonparametric import AalenJohansen, KaplanMeier

__all__ = [
    "AalenJohansen",
    "CauseSpecific",
    "CoxPH",
    "DeepHit",
    "DeepSurv",
    "FineGray",
    "GradientBoosting",
    "KaplanMeier",
    "MartingaleForest",
    "ModelAverage",
    "RandomSurvivalForest",
]

_HOMES = {
    "AalenJohansen": "nonparametric",
    "CauseSpecific": "combined",
    "CoxPH": "cox",
    "DeepHit": "deephit",
    "DeepSurv": "deepsurv",
    "FineGray": "fine_gray",
    "GradientBoosting": "boosting",
    "KaplanMeier": "nonparametric",
    "MartingaleForest": "martingale_forest",
    "ModelAverage": "combined",
    "RandomSurvivalForest": "forest",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
