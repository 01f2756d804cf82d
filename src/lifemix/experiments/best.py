"""Our best settings: the column ``lifemix`` of the tables.

A setting is plain data, so that it stands in every record: what was computed with other settings is never taken for it.
Where a data set has several, one is chosen in every fold on the inner validation part, never on test rows.
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
    {"": ({"hidden": [100, 100], "objective": "exact", "n_members": 8, "dropout": 0.1},)}
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
