"""The settings of DeepHit in the paper: what its random search draws from, and what it chose."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

__all__ = ["DEEPHIT_CHOICES", "DEEPHIT_PAPER", "deephit_settings"]

DEEPHIT_PAPER: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        name: dict(
            zip(
                ("shared_layers", "shared_nodes", "cause_layers", "cause_nodes", "activation", "alpha"),
                row,
                strict=True,
            )
        )
        for name, row in {
            "support": (3, 100, 3, 300, "elu", 0.1),
            "metabric": (3, 100, 1, 100, "tanh", 5.0),
            "synthetic": (3, 300, 2, 50, "elu", 0.1),
            "seer": (1, 100, 2, 50, "elu", 0.5),
        }.items()
    }
)
"""What the paper's search chose for each data set (its table of DeepHit's hyperparameters)."""

DEEPHIT_CHOICES: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "shared_layers": (1, 2, 3, 5),
        "shared_nodes": (50, 100, 200, 300),
        "cause_layers": (1, 2, 3, 5),
        "cause_nodes": (50, 100, 200, 300),
        "activation": ("relu", "elu", "tanh"),
        "alpha": (0.1, 0.5, 1.0, 3.0, 5.0),
    }
)
"""What the paper's search drew from."""


def deephit_settings(n_settings: int = 10, random_state: int | np.random.Generator | None = 0) -> list[dict[str, Any]]:
    """Draw settings as the paper's random search does: each option at random from its list, ten times."""
    rng = np.random.default_rng(random_state)
    return [
        {name: values[int(rng.integers(len(values)))] for name, values in DEEPHIT_CHOICES.items()}
        for _ in range(n_settings)
    ]
