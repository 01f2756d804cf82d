"""Our best settings: the column ``lifemix`` of the tables.

A setting is plain data, so that it stands in every record: what was computed with other settings is never taken for it.
Where a data set has several, one is chosen in every fold on the inner validation part, never on test rows.

Chosen on inner splits of the training parts of the first folds (two for SUPPORT, four for METABRIC), never on a test
fold. Mean C^td / mean Brier score over the 25, 50 and 75 % quantiles of the event times; 8 members, one layer of 100:

=======================================  ================  ================
settings                                 SUPPORT           METABRIC
=======================================  ================  ================
Weibull, scaled numbers                  0.7864 / 0.1495   0.6809 / 0.1746
the same, dropout 0.2; 0.3               0.7875 / 0.1491   0.6830 / 0.1743
log-normal, scaled, dropout 0.5          not run           0.6829 / 0.1748
log-normal, piecewise, dropout 0.2       0.7893 / 0.1483   0.6871 / 0.1741
log-normal, piecewise, dropout 0.3       0.7898 / 0.1483   0.6868 / 0.1740
log-normal, piecewise, dropout 0.4       0.7903 / 0.1479   0.6878 / 0.1736
log-normal, piecewise, dropout 0.5       0.7908 / 0.1477   0.6882 / 0.1737
gradient boosting                        0.7945 / 0.1479   0.6818 / 0.1753
=======================================  ================  ================

Not looked at yet: competing risks, and training rows censored artificially.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ..estimators import DeepSurvivalMachines
from ..preprocessing import TabularPreprocessor

__all__ = ["BEST", "best_model", "best_settings"]

Setting = dict[str, Any]

BEST: Mapping[str, tuple[Mapping[str, Any], ...]] = MappingProxyType(
    {
        "": (
            {
                "primitive": "lognormal",
                "k": 4,
                "hidden": [100],
                "objective": "exact",
                "n_members": 8,
                "dropout": 0.5,
                "preprocessor": {"numbers": "piecewise", "bins": 8},
            },
        )
    }
)
"""By data set the settings to choose from, options of ``DeepSurvivalMachines``; ``""`` is every data set not named.

``preprocessor`` may hold the options of a ``TabularPreprocessor``.
"""


def best_settings(data: str) -> list[Setting]:
    """Return the settings to choose from for a data set; one where there is nothing to choose."""
    return [dict(setting) for setting in BEST.get(data, BEST[""])]


def best_model(data: str, setting: Mapping[str, Any], random_state: int) -> Any:
    """Return the model of a setting, ready to fit."""
    options = dict(setting)
    if isinstance(options.get("preprocessor"), Mapping):
        options["preprocessor"] = TabularPreprocessor(**options["preprocessor"])
    options["hidden"] = tuple(options.get("hidden", (100,)))
    return DeepSurvivalMachines(**options, random_state=random_state)
