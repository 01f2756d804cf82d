"""From records to the cells of the tables: settings selected in two ways, means and standard errors over folds.

``paper``: the setting with the best mean C^td over folds, event types and horizons on the *test* rows, as in the
paper; optimistic, since the same rows select and measure.
``nested``: in every fold the setting with the best C^td on the inner validation part of the training rows.
``tuned-trees`` and ``boosting-discount``, which are not in the paper, are selected by ``nested`` alone, and by the
Brier score, which sees whether the probabilities are right where C^td sees only their order.
``fixed``: there was one setting. The error is the standard error, standard deviation / sqrt(folds).
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lifemix.errors import SettingError

from .cells import Cell
from .records import Record, Setting

__all__ = [
    "BY_BRIER",
    "SELECTIONS",
    "Selected",
    "cells_of",
    "representative_records",
    "select",
    "summarise",
]

SELECTIONS = ("paper", "nested", "both")
BY_BRIER = ("tuned-trees", "boosting-discount")
"""Models whose settings are selected by the Brier score on the inner validation part; the others by C^td."""
_MEASURES = ("ctd", "brier", "brier_original", "concordance")


@dataclass(frozen=True)
class Selected:
    """The records that stand for a model: one per fold, each with the setting that was selected in it."""

    data: str
    model: str
    censoring: float
    selection: str
    records: tuple[Record, ...] = field(repr=False)
    candidates: int = 1  # how many settings there were to select from

    @property
    def settings(self) -> list[Setting]:
        """The setting of each fold."""
        return [record.setting for record in self.records]

    def shown(self) -> dict[str, Any]:
        """Return what the tables tell about it; one setting for all folds stands once."""
        settings = [json.loads(record.key[2]) for record in self.records]
        return {
            "data": self.data,
            "model": self.model,
            "censoring": self.censoring,
            "selection": self.selection,
            "candidates": self.candidates,
            "folds": [record.fold for record in self.records],
            "settings": settings[:1]
            if all(setting == settings[0] for setting in settings)
            else settings,
            "parameters": self.records[0].parameters,
        }


def select(records: Iterable[Record], selection: str = "both") -> list[Selected]:
    """Select settings for every data set, model and level of censoring; settings that lack a fold do not count."""
    if selection not in SELECTIONS:
        raise SettingError(f"selection must be one of {', '.join(SELECTIONS)}; got {selection!r}.")
    groups: dict[tuple[str, str, float], list[Record]] = defaultdict(list)
    for record in records:
        groups[record.data, record.model, record.censoring].append(record)
    return [one for group, own in groups.items() for one in _select(group, own, selection)]


def _select(
    group: tuple[str, str, float], records: Sequence[Record], selection: str
) -> list[Selected]:
    folds = sorted({record.fold for record in records})
    by_setting: dict[str, dict[int, Record]] = defaultdict(dict)
    for record in records:
        by_setting[record.key[2]][record.fold] = record
    complete = [
        [of_fold[fold] for fold in folds]
        for of_fold in by_setting.values()
        if len(of_fold) == len(folds)
    ]
    if not complete:
        return []
    if len(by_setting) == 1:
        return [Selected(*group, "fixed", tuple(complete[0]))]
    score = _mean_concordance
    if group[1] in BY_BRIER:
        selection = "nested"
        score = _brier_gain
    found = []
    if selection in ("paper", "both"):
        best = max(
            complete,
            key=lambda own: _or_least(np.mean([_mean_concordance(one.test) for one in own])),
        )
        found.append(Selected(*group, "paper", tuple(best), len(complete)))
    if selection in ("nested", "both"):
        by_fold = [
            max(column, key=lambda one: _or_least(score(one.inner)))
            for column in zip(*complete, strict=True)
        ]
        found.append(Selected(*group, "nested", tuple(by_fold), len(complete)))
    return found


def summarise(
    records: Iterable[Record], quantiles: Sequence[float], selection: str = "both"
) -> tuple[list[Cell], list[Selected]]:
    """Return the cells of all models, and the settings selected."""
    selected = select(records, selection)
    return [cell for one in selected for cell in cells_of(one, quantiles)], selected


def cells_of(selected: Selected, quantiles: Sequence[float]) -> list[Cell]:
    """Return the cells of a model: every measure, event type and horizon."""
    cells = []
    for measure in (name for name in _MEASURES if name in selected.records[0].test):
        values = np.array(
            [record.test[measure] for record in selected.records]
        )  # [folds, events, horizons]
        for event in range(values.shape[1]):
            for number, quantile in enumerate(quantiles):
                place = (selected.data, measure, event + 1, float(quantile), selected.censoring)
                cells.append(
                    Cell.of(
                        place, selected.model, selected.selection, values[:, event, number].tolist()
                    )
                )
    return cells


def representative_records(selected: Iterable[Selected]) -> list[Record]:
    """Return one record per model and fold: of the nested selection where there was one, else of what there is."""
    found: dict[tuple[str, str, float], Selected] = {}
    for one in selected:
        group = (one.data, one.model, one.censoring)
        if group not in found or one.selection == "nested":
            found[group] = one
    return [record for one in found.values() for record in one.records]


def _mean_concordance(scores: Mapping[str, Any]) -> float:
    return float(np.mean(scores["ctd"] if "ctd" in scores else scores["concordance"]))


def _brier_gain(scores: Mapping[str, Any]) -> float:
    """Return minus the mean Brier score over event types and those horizons that have one; NaN where none has."""
    values = np.asarray(scores["brier"], dtype=np.float64)
    known = values[np.isfinite(values)]
    return -float(known.mean()) if len(known) else np.nan


def _or_least(value: float | np.floating[Any]) -> float:
    return -math.inf if math.isnan(value) else float(value)
