"""From records to cells: settings are selected, scores averaged over folds.

``paper``: the setting with the best mean C^td over folds, event types and horizons on the *test* rows, as in the paper;
optimistic, because the same rows select and measure.
``nested``: in every fold the setting with the best C^td on the inner validation rows. Models that are not in the paper
are selected in this way only, by the Brier score (``selected_by`` in ``models``).
``fixed``: there was one setting.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from .models import MODELS
from .records import Frame

__all__ = ["CELL", "MEASURES", "cell", "horizon_cells", "select_settings"]

CELL = ["data", "measure", "event", "horizon", "censoring"]
"""What a cell is about, whichever model it is of."""
MEASURES = ("ctd", "brier", "brier_original", "concordance")


def select_settings(records: Frame) -> Frame:
    """Return the records of the selected settings, one per fold, with columns ``selection`` and ``candidates``.

    Settings that lack a fold are not candidates.
    """
    records = records.reset_index(drop=True)
    records["key"] = [json.dumps(setting, sort_keys=True) for setting in records["setting"]]
    selected = []
    for (_, model, _), rows in records.groupby(["data", "model", "censoring"], sort=False):
        # index of the record of each fold and setting; [n_folds, n_settings]
        candidates = rows.reset_index().pivot(
            index="fold",
            columns="key",
            values="index",
        )
        candidates = candidates.dropna(axis="columns").astype(int)
        selections = {}
        if rows["key"].nunique() == 1:
            selections["fixed"] = candidates.iloc[:, 0]
        elif candidates.size:
            measure = MODELS[str(model)].selected_by
            if measure == "ctd":
                test = rows["test"].map(partial(_mean_score, measure=measure))
                best = candidates.map(test.get).mean(skipna=False).fillna(-np.inf).idxmax()
                selections["paper"] = candidates[best]
            inner = rows["inner"].map(partial(_mean_score, measure=measure))
            scores = candidates.map(inner.get)
            best_by_fold = scores.fillna(-np.inf).idxmax(axis="columns")
            selections["nested"] = pd.Series(
                [candidates.at[fold, key] for fold, key in best_by_fold.items()]
            )
        for selection, index in selections.items():
            columns = {"selection": selection, "candidates": candidates.shape[1]}
            selected.append(records.loc[index].assign(**columns))
    return pd.concat(selected, ignore_index=True)


def _mean_score(scores: dict[str, Any], measure: str) -> float:
    """Return the mean over event types and horizons, higher is better."""
    if measure == "ctd":
        return float(np.mean(np.asarray(scores.get("ctd", scores.get("concordance")), dtype=float)))
    values = np.asarray(scores["brier"], dtype=float)  # a horizon may lack weights
    return -float(np.nanmean(values)) if np.isfinite(values).any() else np.nan


def cell(
    identity: Sequence[Hashable],
    model: str,
    selection: str,
    values: Any,
) -> dict[str, Any]:
    """Return a cell: mean and standard error of the values of all folds."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return {
        **dict(zip(CELL, identity, strict=True)),
        "model": model,
        "selection": selection,
        "mean": float(np.mean(values)),
        "error": float(error),
        "values": tuple(float(value) for value in values),
    }


def horizon_cells(selected: Frame, quantiles: Sequence[float]) -> Frame:
    """Return the cells of selected records: every measure, event type and horizon."""
    cells = []
    groups = selected.groupby(["data", "model", "censoring", "selection"], sort=False)
    for (data, model, censoring, selection), rows in groups:
        for measure in MEASURES:
            if measure in rows["test"].iloc[0]:
                values = np.array([test[measure] for test in rows["test"]], dtype=float)
                for event, i in np.ndindex(values.shape[1:]):
                    identity = (data, measure, event + 1, quantiles[i], censoring)
                    cells.append(cell(identity, model, selection, values[:, event, i]))
    return pd.DataFrame(cells)
