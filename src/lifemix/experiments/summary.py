"""From records to the cells of tables: settings chosen in two ways, means and standard errors over folds.

``paper``: of all settings the one with the best mean over folds of the C^td on the *test* rows (mean over kinds of
event and horizons), as the paper does it; optimistic, since the same rows choose and measure.
``nested``: in every fold the setting with the best C^td on the inner validation part of the training rows.
``lifemix``, which is no part of the paper, is chosen by ``nested`` alone, and by the Brier score, which sees whether
probabilities are right where C^td sees their order.
``fixed``: there was nothing to choose. The error is the standard error, standard deviation / sqrt(folds).
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import SettingError
from .cells import Cell
from .records import Record
from .scores import CHOSEN_BY_BRIER, brier_gain, main_score

__all__ = ["MEASURES", "Choice", "cells_of", "choices", "mean_and_error", "summarise"]

MEASURES = ("ctd", "brier", "brier_original", "concordance")
SELECTIONS = ("paper", "nested", "both")


@dataclass(frozen=True)
class Choice:
    """The records that stand for a model: one a fold, each with the setting that was chosen."""

    data: str
    model: str
    censoring: float
    selection: str
    records: tuple[Record, ...]
    candidates: int = 1  # how many settings there were to choose from

    @property
    def settings(self) -> list[Mapping[str, Any]]:
        """The setting of each fold."""
        return [record.setting for record in self.records]


def choices(records: Iterable[Record], selection: str = "both") -> list[Choice]:
    """Choose settings for every data set, model and level of censoring; settings that lack a fold do not count."""
    if selection not in SELECTIONS:
        raise SettingError(f"selection must be one of {', '.join(SELECTIONS)}; got {selection!r}.")
    groups: dict[tuple[str, str, float], list[Record]] = defaultdict(list)
    for record in records:
        groups[record.data, record.model, record.censoring].append(record)
    return [choice for place, group in groups.items() for choice in _choose(place, group, selection)]


def _choose(place: tuple[str, str, float], records: Sequence[Record], selection: str) -> list[Choice]:
    folds = {record.fold for record in records}
    by_setting: dict[str, dict[int, Record]] = defaultdict(dict)
    for record in records:
        by_setting[record.key[2]][record.fold] = record
    whole = [[of_fold[fold] for fold in sorted(folds)] for of_fold in by_setting.values() if set(of_fold) == folds]
    if not whole:
        return []
    if len(by_setting) == 1:
        return [Choice(*place, "fixed", tuple(whole[0]))]
    found = []
    score = main_score
    if place[1] in CHOSEN_BY_BRIER:
        selection = "nested"
        if all("brier" in record.inner for record in records):  # there is none where representations are compared
            score = brier_gain
    if selection in ("paper", "both"):
        best = max(whole, key=lambda group: _or_least(np.mean([main_score(record.test) for record in group])))
        found.append(Choice(*place, "paper", tuple(best), len(whole)))
    if selection in ("nested", "both"):
        one_a_fold = [
            max(column, key=lambda record: _or_least(score(record.inner))) for column in zip(*whole, strict=True)
        ]
        found.append(Choice(*place, "nested", tuple(one_a_fold), len(whole)))
    return found


def _or_least(value: float | np.floating[Any]) -> float:
    return -math.inf if math.isnan(value) else float(value)


def cells_of(choice: Choice, quantiles: Sequence[float]) -> list[Cell]:
    """Return the cells of a choice: every measure, kind of event and horizon."""
    cells = []
    for measure in MEASURES:
        if measure not in choice.records[0].test:
            continue
        values = np.array([record.test[measure] for record in choice.records])  # [folds, events, horizons]
        for event in range(values.shape[1]):
            for place, quantile in enumerate(quantiles):
                cells.append(_cell(choice, measure, event + 1, float(quantile), values[:, event, place]))
    return cells


def _cell(choice: Choice, measure: str, event: int, quantile: float, values: Any) -> Cell:
    mean, error = mean_and_error(values)
    return Cell(
        data=choice.data,
        model=choice.model,
        measure=measure,
        event=event,
        horizon=quantile,
        censoring=choice.censoring,
        selection=choice.selection,
        mean=mean,
        error=error,
        values=tuple(float(value) for value in values),
    )


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean over folds and its standard error, NaN where there is one fold."""
    error = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
    return float(np.mean(values)), error


def summarise(
    records: Iterable[Record], quantiles: Sequence[float], selection: str = "both"
) -> tuple[list[Cell], list[dict[str, Any]]]:
    """Return the cells of all models, and which settings were chosen in which fold."""
    chosen = choices(records, selection)
    cells = [cell for choice in chosen for cell in cells_of(choice, quantiles)]
    return cells, [_shown(choice) for choice in chosen]


def _shown(choice: Choice) -> dict[str, Any]:
    settings = [json.dumps(dict(setting), sort_keys=True) for setting in choice.settings]
    return {
        "data": choice.data,
        "model": choice.model,
        "censoring": choice.censoring,
        "selection": choice.selection,
        "candidates": choice.candidates,
        "folds": [record.fold for record in choice.records],
        "settings": [json.loads(setting) for setting in (settings[:1] if len(set(settings)) == 1 else settings)],
        "parameters": choice.records[0].parameters,
    }
