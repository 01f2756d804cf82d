"""Files of format 1, which release 0.1.0 wrote: Deep Survival Machines only, in a layout of their own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["upgrade"]


def upgrade(content: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return the content and arrays that a file of today would have."""
    preprocessor = dict(content["preprocessor"])
    preprocessor["kind"] = {"as it is": "passthrough"}.get(preprocessor["kind"], preprocessor["kind"])
    options = content["options"] | {"hidden": {"$tuple": content["options"]["hidden"]}}
    if options["preprocessor"] == "tabular":
        options["preprocessor"] = {"$preprocessor": preprocessor["settings"]}
    if content["has_encoder"]:
        options["encoder"] = {"$encoder": True}
    history, columns = content["history"], ("member", "epoch", "train_loss", "validation_loss")
    arrays = arrays | {f"history_.{name}": _column(history, name) for name in columns}
    unit, first_event = content["time_scale"]
    fitted = {
        "training_target_": {name: f"training.{name}" for name in ("event", "time", "entry", "upper")},
        "n_features_in_": content["n_features"],
        "preprocessor_": preprocessor,
        "network_": {
            "layout": content["layout"],
            "unit": unit,
            "first_event": first_event,
            "parameters": "parameters",
            "modules": _modules(arrays) if content["has_encoder"] else [],
        },
        "best_epoch_": content["best_epoch"],
        "history_": {name: f"history_.{name}" for name in columns},
    }
    if content["feature_names"] is not None:
        fitted["feature_names_in_"] = content["feature_names"]
    if content.get("metadata") is not None:
        fitted["metadata_"] = content["metadata"]
    return {"class": content["class"], "options": options, "fitted": fitted}, arrays


def _column(history: list[dict[str, Any]], name: str) -> NDArray[Any]:
    if name in ("member", "epoch"):
        return np.array([record[name] for record in history], dtype=np.int64)
    return np.array([math.nan if record[name] is None else record[name] for record in history], dtype=np.float64)


def _modules(arrays: dict[str, NDArray[Any]]) -> list[dict[str, str]]:
    """Return by member the names of the arrays of an encoder, ``module.{member}.{name}``."""
    found: dict[int, dict[str, str]] = {}
    for key in arrays:
        if key.startswith("module."):
            _, member, name = key.split(".", 2)
            found.setdefault(int(member), {})[name] = key
    members = len(arrays["parameters"])
    return [found.get(member, {}) for member in range(members)]
