"""Our own models of the tables: Deep Survival Machines with tuned settings, ``tuned``, and ``tuned-trees``.

A setting is plain data and part of every record, so results of other settings are never mistaken for it. Where a model
has several on a data set, one is selected in every fold on the inner validation part, never on test rows.

``tuned-trees`` averages the curves of the tuned Deep Survival Machine and of boosted trees, which err in different
places. On SUPPORT and METABRIC censored rows count in full or by half, whichever has the better Brier score on the
inner part: where censoring depends on the event time, as the artificial one does, they mislead.

The settings were chosen on inner splits of training parts, never on a test fold. Mean C^td / mean Brier score over the
25, 50 and 75 % quantiles of the event times; 8 members each. SUPPORT, four folds, no artificial censoring:

=============================================  ===============
log-normal, piecewise, dropout 0.5, (100)      0.7989 / 0.1435
the same, Weibull                              0.7985 / 0.1438
the same, log-normal, (100, 100)               0.8013 / 0.1429
the same, (256, 256)                           0.8014 / 0.1427
gradient boosting                              0.8023 / 0.1430
mean of the first and gradient boosting        0.8044 / 0.1415
=============================================  ===============

SUPPORT, two folds, half of the events censored artificially: the mean of (100, 100) and boosting 0.8029 / 0.1590, with
discount 0.5 0.8034 / 0.1456, with 0.3 0.8020 / 0.1444.

With competing risks the Deep Survival Machine has smooth activations. Mean C^td over the events and the 25, 50, 75 and
100 % quantiles / mean Brier score:

=====================  ================  ================  ================
.                      FLCHAIN, 4 folds  EBMT, 2 folds     METABRIC, causes
=====================  ================  ================  ================
smooth                 0.7913 / 0.0514   0.6290 / 0.1070   0.7553 / 0.1206
as on SUPPORT          0.7872 / 0.0517   0.6260 / 0.1067   0.7591 / 0.1208
gradient boosting      0.7851 / 0.0518   0.6289 / 0.1066   0.7556 / 0.1217
smooth and boosting    0.7910 / 0.0514   0.6305 / 0.1067   0.7620 / 0.1201
Cox, cause-specific    0.7834 / 0.0514   0.6257 / 0.1079   0.7467 / 0.1241
=====================  ================  ================  ================

SYNTHETIC, two folds: mean C^td as before / log-likelihood per row.

=============================================  ===============
as on SUPPORT (4 members)                      0.7330 / -2.415
Weibull, scaled numbers, (100, 100), no        0.7398 / -2.402
dropout (4 members)
the same, dropout 0.1 (4 members)              0.7418 / -2.399
the same, tanh, no dropout (4; 8 members)      0.7437 / -2.390; 0.7440 / -2.388
the same, tanh, dropout 0.1 (8 members)        0.7452 / -2.388
the same, tanh, dropout 0.1, (50, 50)          0.7460 / -2.384
the true means of the times                    0.7493
=============================================  ===============
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lifemix.baselines import GradientBoosting, ModelAverage
from lifemix.estimators import DeepSurvivalMachines
from lifemix.estimators.settings import ONE_NETWORK
from lifemix.preprocessing import TabularPreprocessor

from .records import Setting

__all__ = ["TUNED", "tuned_model", "tuned_settings", "with_trees", "with_trees_settings"]

_DSM: Setting = MappingProxyType(
    {
        "primitive": "lognormal",
        "k": 4,
        "hidden": [100, 100],
        "objective": "exact",
        "n_members": 8,
        "dropout": 0.5,
        "preprocessor": {"numbers": "piecewise", "bins": 8},
    }
)
_SMOOTH: Setting = MappingProxyType(
    {
        "primitive": "weibull",
        "k": 4,
        "hidden": [50, 50],
        "activation": "tanh",
        "objective": "exact",
        "n_members": 8,
        "dropout": 0.1,
    }
)
_SINGLE = ("support", "metabric")

TUNED: Mapping[str, Setting] = MappingProxyType({"support": _DSM, "metabric": _DSM, "": _SMOOTH})
"""By data set the options of ``DeepSurvivalMachines``, of which ``preprocessor`` may hold the options of a
``TabularPreprocessor``; ``""`` is every data set not named."""


def tuned_settings(data: str) -> list[Setting]:
    """Return the one setting of Deep Survival Machines for a data set."""
    return [dict(TUNED.get(data, TUNED[""]))]


def tuned_model(data: str, setting: Setting, random_state: int) -> DeepSurvivalMachines:
    """Return the Deep Survival Machine of a setting, ready to fit."""
    options = dict(setting)
    if isinstance(options.get("preprocessor"), Mapping):
        options["preprocessor"] = TabularPreprocessor(**options["preprocessor"])
    options["hidden"] = tuple(options.get("hidden", (100,)))
    return DeepSurvivalMachines(**{**ONE_NETWORK, **options}, random_state=random_state)


def with_trees_settings(data: str) -> list[Setting]:
    """Return the settings of the average with boosted trees; ``discount`` is of the whole average."""
    discounts = (1.0, 0.5) if data in _SINGLE else (1.0,)
    return [
        {"dsm": tuned_settings(data)[0], "boosting": {}, "discount": discount}
        for discount in discounts
    ]


def with_trees(data: str, setting: Setting, random_state: int) -> ModelAverage:
    """Return the average of a Deep Survival Machine and boosted trees, ready to fit."""
    trees = GradientBoosting(**setting["boosting"], random_state=random_state)
    return ModelAverage(
        [tuned_model(data, setting["dsm"], random_state), trees], setting["discount"]
    )
