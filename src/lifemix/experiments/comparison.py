"""Differences between cells: ours and the paper's, ours and a rival's on the same folds.

A cell is a data set, measure, kind of event, horizon and level of censoring. What is counted here is what the tables
and the pages tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from .cells import Cell
from .published import published_cells

__all__ = [
    "NO_RIVALS",
    "Count",
    "Difference",
    "Published",
    "against",
    "against_paper",
    "against_rivals",
    "agreement",
    "by_place",
    "by_rival",
    "count",
    "paired",
    "paper_of",
    "place",
    "sign_of",
]

Place = tuple[str, str, int, float, float]
Published = Mapping[tuple[str, Place], Cell]

_COUNTED = ("ctd", "brier", "concordance")
NO_RIVALS = ("floor", "truth", "lifemix-dsm", "lifemix-default")
_SELECTIONS = ("paper", "nested", "fixed")
_LOWER_IS_BETTER = ("brier", "brier_original", "seconds", "parameters")
_LEVEL = 0.05


def sign_of(measure: str) -> int:
    """Return which way a measure is better: 1 the higher, -1 the lower."""
    return -1 if measure in _LOWER_IS_BETTER else 1


def place(cell: Cell) -> Place:
    """Return where a cell stands, whoever's it is."""
    return cell.data, cell.measure, cell.event, cell.horizon, cell.censoring


@dataclass(frozen=True)
class Difference:
    """First minus second, with its standard error; ``clear`` says whether it is beyond what chance explains.

    folds: on how many both have a number, where they are compared fold by fold; otherwise 0.
    p_value: of a paired t test over the folds; otherwise NaN.
    """

    first: Cell
    second: Cell
    value: float
    error: float
    clear: bool
    folds: int = 0
    p_value: float = math.nan

    @property
    def gain(self) -> float:
        """The difference with the sign that makes positive better."""
        return sign_of(self.first.measure) * self.value

    @property
    def better(self) -> bool:
        """Whether the first is the better one, which for a Brier score is the lower one."""
        return self.gain > 0

    @property
    def behind_by_an_error(self) -> bool:
        """Whether the first is the worse one by more than one standard error; one that is not known counts as 0."""
        return self.gain < -(0.0 if math.isnan(self.error) else self.error)


@dataclass(frozen=True)
class Count:
    """How many of some differences are for the better, and how many clearly for the better or the worse."""

    total: int
    ahead: int
    clearly_ahead: int
    clearly_behind: int

    @property
    def within(self) -> int:
        """How many are not beyond chance."""
        return self.total - self.clearly_ahead - self.clearly_behind


def count(differences: Iterable[Difference]) -> Count:
    """Count differences by their direction."""
    found = [one for one in differences if not math.isnan(one.value)]
    return Count(
        len(found),
        sum(one.better for one in found),
        sum(one.clear and one.better for one in found),
        sum(one.clear and not one.better for one in found),
    )


def by_place(published: Iterable[Cell]) -> Published:
    """Return published cells by model and place."""
    return {(cell.model, place(cell)): cell for cell in published}


def paper_of(data: Iterable[str]) -> Published:
    """Return the paper's cells for data sets; the intervals of transfer as standard errors."""
    found = (published_cells(name, "t" if name == "transfer" else None) for name in data)
    return by_place(cell for cells in found for cell in cells)


def against(ours: Cell, other: Cell) -> Difference:
    """Compare two independent means; clear is what is beyond ``2 sqrt(SE² + SE²)``."""
    value, error = ours.mean - other.mean, math.hypot(ours.error, other.error)
    return Difference(ours, other, value, error, abs(value) > 2 * error)  # not clear where an error is not known


def paired(ours: Cell, rival: Cell) -> Difference | None:
    """Compare two models fold by fold; clear is what a paired t test finds at 5 %, two-sided.

    None where the two have no folds in common: fewer than two, or not as many as each other. Folds in which one of the
    two is not defined do not count; ``folds`` is the number of those that do.
    """
    if len(ours.values) != len(rival.values):
        return None
    gaps = np.subtract(ours.values, rival.values)
    gaps = gaps[np.isfinite(gaps)]
    if len(gaps) < 2:
        return None
    value, error = float(gaps.mean()), float(gaps.std(ddof=1) / math.sqrt(len(gaps)))
    p_value = float(2 * stats.t.sf(abs(value) / error, len(gaps) - 1)) if error > 0 else float(value == 0)
    return Difference(ours, rival, value, error, p_value < _LEVEL, len(gaps), p_value)


def against_paper(cells: Sequence[Cell], paper: Published, model: str) -> list[Difference]:
    """Compare a model of ours with the paper's DSM, by the paper's selection where we have such a one."""
    theirs = [(cell, paper.get(("dsm", place(cell)))) for cell in _counted(cells, model)]
    return [against(cell, other) for cell, other in theirs if other is not None and not math.isnan(cell.mean)]


def agreement(cells: Sequence[Cell], paper: Published) -> list[Difference]:
    """Compare DSM with the paper's settings and the paper's own, in the cells whose error is known."""
    return [one for one in against_paper(cells, paper, "dsm") if not math.isnan(one.error)]


def against_rivals(cells: Sequence[Cell]) -> list[Difference]:
    """Compare ``lifemix`` with every rival on the same folds, each selection of a rival for itself."""
    ours = {place(cell): cell for cell in _counted(cells, "lifemix")}
    rivals = [
        cell
        for cell in cells
        if cell.model not in ("lifemix", *NO_RIVALS) and cell.selection in _SELECTIONS and place(cell) in ours
    ]
    found = (paired(ours[place(cell)], cell) for cell in rivals)
    return [one for one in found if one is not None]


def by_rival(differences: Iterable[Difference]) -> dict[tuple[str, str], list[Difference]]:
    """Return differences by the model and the selection of the rival."""
    found: dict[tuple[str, str], list[Difference]] = {}
    for one in differences:
        found.setdefault((one.second.model, one.second.selection), []).append(one)
    return found


def _counted(cells: Sequence[Cell], model: str) -> list[Cell]:
    own = [cell for cell in cells if cell.model == model and cell.measure in _COUNTED]
    chosen = next((way for way in _SELECTIONS if any(cell.selection == way for cell in own)), "")
    return [cell for cell in own if cell.selection == chosen]
