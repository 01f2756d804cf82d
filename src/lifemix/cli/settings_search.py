"""The settings of a model for a table: a small cross-validated search over those that the user did not give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators import DeepSurvivalMachines, FleetSearchCV
from ..preprocessing import TableData
from ..splits import EventStratifiedKFold, train_validation_split

__all__ = ["SEARCH_ROWS", "batch_size", "candidates", "choose_settings", "ensemble_size"]

SEARCH_ROWS = 10_000
"""With more rows than this, the search uses a random sample of this size."""
_PRIMITIVES = ("weibull", "lognormal")
_NETWORKS: tuple[dict[str, Any], ...] = (
    {"hidden": (), "dropout": 0.0, "learning_rate": 5e-3},
    {"hidden": (50,), "dropout": 0.25, "learning_rate": 2e-3},
    {"hidden": (100,), "dropout": 0.5, "learning_rate": 1e-3},
)


def candidates(given: Mapping[str, Any]) -> list[dict[str, list[Any]]]:
    """Return the grid to search: distributions and networks, with the settings that the user gave in place of each."""
    primitives = [given["primitive"]] if "primitive" in given else list(_PRIMITIVES)
    grid: dict[str, dict[str, list[Any]]] = {}
    for network in _NETWORKS:
        chosen = network | {name: value for name, value in given.items() if name != "primitive"}
        if not chosen["hidden"]:
            chosen["dropout"] = 0.0
        grid.setdefault(
            repr(chosen),
            {"primitive": primitives} | {name: [value] for name, value in chosen.items()},
        )
    return list(grid.values())


def batch_size(n_rows: int) -> int:
    """Return the batch size: larger for larger tables, so that an epoch is a few hundred to a few thousand steps."""
    return 128 if n_rows <= 20_000 else 512 if n_rows <= 100_000 else 2048


def ensemble_size(n_rows: int) -> int:
    """Return the default number of ensemble members: one where a fit takes minutes."""
    return 4 if n_rows <= 200_000 else 1


def choose_settings(
    X: TableData, y: NDArray[np.void], given: Mapping[str, Any], seed: int, jobs: int = 1
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the settings with the highest held-out likelihood, and the score of every candidate, best first."""
    grid = candidates(given)
    if len(grid) == 1 and len(grid[0]["primitive"]) == 1:
        return {name: values[0] for name, values in grid[0].items()}, []
    if len(y) > SEARCH_ROWS:
        _, rows = train_validation_split(y, fraction=SEARCH_ROWS / len(y), random_state=seed)
        X, y = X.iloc[rows], y[rows]
    search = FleetSearchCV(
        DeepSurvivalMachines(n_members=1, random_state=seed, batch_size=batch_size(len(y))),
        grid,
        scoring="log_likelihood",
        cv=EventStratifiedKFold(3, random_state=seed),
        refit=False,
        max_fleet=6,
        n_jobs=jobs,
    ).fit(X, y)
    results = search.cv_results_
    order = np.argsort(results["rank_test_score"], kind="stable")
    scores = [
        {"settings": results["params"][i], "log_likelihood": results["mean_test_score"][i]}
        for i in order
    ]
    return dict(search.best_params_), scores
