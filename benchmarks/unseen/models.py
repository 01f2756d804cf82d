"""The models that are compared, each a function that makes one with nothing tuned by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lifemix import DeepSurvivalMachines, LifeMix
from lifemix.baselines import (
    AalenJohansen,
    CauseSpecific,
    CoxPH,
    GradientBoosting,
    ModelAverage,
    RandomSurvivalForest,
)

from .rivals import Coxnet, XGBoostCox

__all__ = ["MODELS"]


def _cause_specific(model: Any, competing: bool) -> Any:
    return CauseSpecific(model) if competing else model


MODELS: dict[str, Callable[[bool, int], Any]] = {
    "marginal": lambda competing, seed: AalenJohansen(),
    "cox": lambda competing, seed: _cause_specific(CoxPH(), competing),
    "ridge": lambda competing, seed: _cause_specific(CoxPH(penalty="auto"), competing),
    "coxnet": lambda competing, seed: Coxnet(random_state=seed),
    "xgboost": lambda competing, seed: XGBoostCox(random_state=seed),
    "boosting": lambda competing, seed: ModelAverage([GradientBoosting(random_state=3 * seed + i) for i in range(3)]),
    "forest": lambda competing, seed: _cause_specific(
        RandomSurvivalForest(n_trees=200, split_times=100, random_state=seed), competing
    ),
    "dsm": lambda competing, seed: DeepSurvivalMachines(random_state=seed),
    "paper": lambda competing, seed: DeepSurvivalMachines.paper(random_state=seed),
    "lifemix": lambda competing, seed: LifeMix(random_state=seed),
    "tuned": lambda competing, seed: DeepSurvivalMachines.tuned(competing=competing, random_state=seed),
}
