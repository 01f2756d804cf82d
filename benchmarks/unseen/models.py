"""The models that are compared, each a function that makes one with nothing tuned by hand: some tune themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lifemix import DeepSurvivalMachines, LifeMix
from lifemix.baselines import (
    AalenJohansen,
    CauseSpecific,
    CoxPH,
    GradientBoosting,
    MartingaleForest,
    ModelAverage,
    RandomSurvivalForest,
)

from .auton_table import AutonTable
from .rivals import Coxnet, XGBoostCox

__all__ = ["MODELS", "VERSIONS"]


def _cause_specific(model: Any, competing: bool) -> Any:
    return CauseSpecific(model) if competing else model


MODELS: dict[str, Callable[[bool, int], Any]] = {
    "marginal": lambda competing, seed: AalenJohansen(),
    "cox": lambda competing, seed: _cause_specific(CoxPH(), competing),
    "ridge": lambda competing, seed: _cause_specific(CoxPH(penalty="auto"), competing),
    "coxnet": lambda competing, seed: _cause_specific(Coxnet(random_state=seed), competing),
    "xgboost": lambda competing, seed: _cause_specific(XGBoostCox(random_state=seed), competing),
    "xgboost-tuned": lambda competing, seed: _cause_specific(
        XGBoostCox(random_state=seed, tuned=True), competing
    ),
    "boosting": lambda competing, seed: ModelAverage(
        [GradientBoosting(random_state=3 * seed + i) for i in range(3)]
    ),
    "forest": lambda competing, seed: _cause_specific(
        RandomSurvivalForest(n_trees=200, split_times=100, random_state=seed), competing
    ),
    "martingale": lambda competing, seed: MartingaleForest(random_state=seed),
    "auton": lambda competing, seed: AutonTable(random_state=seed),
    "dsm": lambda competing, seed: DeepSurvivalMachines(random_state=seed),
    "paper": lambda competing, seed: DeepSurvivalMachines.paper(random_state=seed),
    "lifemix": lambda competing, seed: LifeMix(random_state=seed),
    "tuned": lambda competing, seed: DeepSurvivalMachines.tuned(
        competing=competing, random_state=seed
    ),
}

# What a model is, in a word. A record counts only if it carries the word that stands here: change it whenever a change
# of the code changes what the model predicts, and the next run computes the model anew. Records of before there were
# such words (and D-calibration) do not count.
VERSIONS: dict[str, str] = dict.fromkeys(MODELS, "1") | {
    "dsm": "defaults 0.3",
    "lifemix": "defaults 0.3",
}
