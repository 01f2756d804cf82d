"""The models that Deep Survival Machines is compared with, all behind one interface.

``fit(X, y)``, ``predict_survival_function(X, times)``, ``predict_cumulative_incidence(X, times, event=1)`` and
``predict(X)``, a risk score; DeepSurv and DeepHit also ``transform(X)``. KernelPCA, NNMF and VAE only represent X.

Names are imported when they are first used: only DeepSurv, DeepHit and VAE need PyTorch, and only DeepSurv, DeepHit
(pycox) and RandomSurvivalForest (scikit-survival) the optional packages of ``lifemix[baselines]``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .average import ModelAverage
    from .boosting import GradientBoosting
    from .cause_specific import CauseSpecific
    from .cox import CoxPH
    from .deephit import DeepHit
    from .deephit_search import deephit_settings
    from .deepsurv import DeepSurv
    from .fine_gray import FineGray
    from .forest import RandomSurvivalForest
    from .nonparametric import AalenJohansen, KaplanMeier
    from .representations import NNMF, KernelPCA
    from .selection import Selection, select_model
    from .truth import TrueSynthetic
    from .vae import VAE

__all__ = [
    "NNMF",
    "VAE",
    "AalenJohansen",
    "CauseSpecific",
    "CoxPH",
    "DeepHit",
    "DeepSurv",
    "FineGray",
    "GradientBoosting",
    "KaplanMeier",
    "KernelPCA",
    "ModelAverage",
    "RandomSurvivalForest",
    "Selection",
    "TrueSynthetic",
    "deephit_settings",
    "select_model",
]

_HOMES = {
    "AalenJohansen": "nonparametric",
    "CauseSpecific": "cause_specific",
    "CoxPH": "cox",
    "DeepHit": "deephit",
    "DeepSurv": "deepsurv",
    "FineGray": "fine_gray",
    "GradientBoosting": "boosting",
    "KaplanMeier": "nonparametric",
    "KernelPCA": "representations",
    "ModelAverage": "average",
    "NNMF": "representations",
    "RandomSurvivalForest": "forest",
    "Selection": "selection",
    "TrueSynthetic": "truth",
    "VAE": "vae",
    "deephit_settings": "deephit_search",
    "select_model": "selection",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
