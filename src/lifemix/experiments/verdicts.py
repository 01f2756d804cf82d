"""How our numbers stand to the paper's, and ``lifemix`` to its rivals, cell by cell.

A cell is a data set, measure, kind of event, horizon and level of censoring. Differences have the sign that makes
positive better: of concordances, and of Brier scores the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from .cells import Cell

__all__ = ["NO_RIVALS", "Difference", "PAPER_SELECTION", "against_paper", "against_rivals", "verdicts"]

PAPER_SELECTION = ("paper", "fixed")
SELECTIONS = ("paper", "nested", "fixed")
COMPARED = ("ctd", "brier", "concordance")
NO_RIVALS = ("floor", "truth", "lifemix-dsm", "lifemix-default")
_LEVEL = 0.05

Place = tuple[str, str, int, float, float]


@dataclass(frozen=True)
class Difference:
    """Ours minus the other's in one cell, so that positive is better, and its standard error.

    p_value: of a paired t-test over the folds; NaN where the folds of the other are not known.
    """

    data: str
    model: str
    other: str
    selection: str
    measure: str
    event: int
    horizon: float
    censoring: float
    difference: float
    error: float
    p_value: float = math.nan


def place_of(cell: Cell) -> Place:
    """Return where in the tables a cell stands, whatever its model."""
    return cell.data, cell.measure, cell.event, cell.horizon, cell.censoring


def against_paper(cells: Iterable[Cell], published: Iterable[Cell], model: str, other: str = "dsm") -> list[Difference]:
    """Compare a model of ours with a published one, in the cells that both have; the error is of both together."""
    theirs = {place_of(cell): cell for cell in published if cell.model == other}
    found = []
    for cell in cells:
        paper = theirs.get(place_of(cell))
        if cell.model == model and paper is not None:
            error = math.hypot(_zero(cell.error), _zero(paper.error))
            found.append(_difference(cell, "paper:" + other, cell.mean - paper.mean, error))
    return found


def against_rivals(cells: Iterable[Cell], model: str = "lifemix") -> list[Difference]:
    """Compare a model with every other on the same folds, by paired differences; of a rival its better selection."""
    everything = [cell for cell in cells if cell.measure in COMPARED]
    ours = {place_of(cell): cell for cell in everything if cell.model == model}
    found = []
    for cell in everything:
        own = ours.get(place_of(cell))
        if own is None or cell.model == model or cell.model in NO_RIVALS or len(own.values) != len(cell.values):
            continue
        paired = np.subtract(own.values, cell.values)
        if np.isnan(paired).any():
            continue
        error = float(paired.std(ddof=1) / math.sqrt(len(paired))) if len(paired) > 1 else math.nan
        p_value = float(2 * stats.t.sf(abs(paired.mean()) / error, len(paired) - 1)) if error > 0 else math.nan
        found.append(_difference(cell, cell.model, float(paired.mean()), error, p_value, model))
    return found


def _difference(
    cell: Cell, other: str, raw: float, error: float, p_value: float = math.nan, model: str | None = None
) -> Difference:
    sign = -1.0 if cell.measure.startswith("brier") else 1.0
    return Difference(
        cell.data,
        model or cell.model,
        other,
        cell.selection,
        cell.measure,
        cell.event,
        cell.horizon,
        cell.censoring,
        sign * raw,
        error,
        p_value,
    )


def verdicts(cells: Sequence[Cell], published: Sequence[Cell] = ()) -> dict[str, Any]:
    """Return the shares of cells that the project is measured by, and the cells that are exceptions.

    dsm: cells of DSM with the paper's settings and selection that lie within two combined standard errors of the
    paper's. lifemix_paper: cells of ``lifemix`` above the paper's DSM. lifemix_rivals: cells of ``lifemix`` ahead of a
    rival, and those significantly (p < 0.05) behind.
    """
    cells = [cell for cell in cells if cell.measure in COMPARED and cell.selection in SELECTIONS]
    dsm = [one for one in against_paper(cells, published, "dsm") if one.selection in PAPER_SELECTION]
    best = against_paper(cells, published, "lifemix")
    rivals = against_rivals(cells)
    return {
        "dsm": _share(dsm, lambda one: abs(one.difference) <= 2 * one.error),
        "lifemix_paper": _share(best, lambda one: one.difference > 0)
        | {"below_by_more_than_one_error": [asdict(one) for one in best if one.difference < -one.error]},
        "lifemix_rivals": {
            name: _share(group, lambda one: one.difference > 0)
            | {"significantly_behind": [asdict(one) for one in group if one.difference < 0 and one.p_value < _LEVEL]}
            for name in sorted({f"{one.other} ({one.selection})" for one in rivals})
            if (group := [one for one in rivals if f"{one.other} ({one.selection})" == name])
        },
    }


def _share(differences: Sequence[Difference], holds: Any) -> dict[str, Any]:
    good = [one for one in differences if holds(one)]
    return {
        "cells": len(differences),
        "holds": len(good),
        "share": round(len(good) / len(differences), 4) if differences else None,
        "exceptions": [asdict(one) for one in differences if not holds(one)],
    }


def _zero(error: float) -> float:
    return 0.0 if math.isnan(error) else error
