"""Differences between cells: ours and the paper's, ours and a rival's on the same folds; for tables and pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from .cells import Cell, Place
from .names import is_reference, model_title, rows_of, sign_of
from .published import published_cells

__all__ = [
    "Count",
    "Difference",
    "Published",
    "against",
    "against_paper",
    "against_rivals",
    "agreement",
    "by_place",
    "count",
    "findings",
    "paired",
    "paper_of",
    "rival_counts",
]

Published = Mapping[tuple[str, Place], Cell]
_COUNTED = ("ctd", "brier", "concordance")
_SELECTIONS = ("paper", "nested", "fixed")
_LEVEL = 0.05


@dataclass(frozen=True)
class Difference:
    """First minus second, with its standard error; ``significant`` says whether chance does not explain it.

    folds: on how many both have a number, where they are compared fold by fold; otherwise 0.
    p_value: of a paired t test over the folds; otherwise NaN.
    """

    first: Cell
    second: Cell
    value: float
    error: float
    significant: bool
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
        """Whether the first is the worse one by more than one standard error; an unknown one counts as 0."""
        return self.gain < -(0.0 if math.isnan(self.error) else self.error)


@dataclass(frozen=True)
class Count:
    """How many of some differences are for the better, and how many significantly for the better or the worse."""

    total: int
    ahead: int
    significantly_ahead: int
    significantly_behind: int

    @property
    def within(self) -> int:
        """How many are not significant."""
        return self.total - self.significantly_ahead - self.significantly_behind


def count(differences: Iterable[Difference]) -> Count:
    """Count differences by their direction."""
    found = [one for one in differences if not math.isnan(one.value)]
    return Count(
        len(found),
        sum(one.better for one in found),
        sum(one.significant and one.better for one in found),
        sum(one.significant and not one.better for one in found),
    )


def by_place(published: Iterable[Cell]) -> Published:
    """Return published cells by model and place."""
    return {(cell.model, cell.place): cell for cell in published}


def paper_of(data: Iterable[str]) -> Published:
    """Return the paper's cells for data sets; the intervals of transfer as standard errors."""
    found = (published_cells(name, "t" if name == "transfer" else None) for name in data)
    return by_place(cell for cells in found for cell in cells)


def against(ours: Cell, other: Cell) -> Difference:
    """Compare two independent means; significant is what is beyond ``2 sqrt(SE² + SE²)``."""
    value, error = ours.mean - other.mean, math.hypot(ours.error, other.error)
    return Difference(ours, other, value, error, abs(value) > 2 * error)  # never where an error is not known


def paired(ours: Cell, rival: Cell) -> Difference | None:
    """Compare two models fold by fold; significant is what a paired t test finds at 5 %, two-sided.

    None where the two do not have the same folds, or fewer than two. Folds in which one of the two is not defined do
    not count.
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
    """Compare a model of ours with the paper's DSM, by the paper's selection where we have it."""
    theirs = [(cell, paper.get(("dsm", cell.place))) for cell in _counted(cells, model)]
    return [against(cell, other) for cell, other in theirs if other is not None and not math.isnan(cell.mean)]


def agreement(cells: Sequence[Cell], paper: Published) -> list[Difference]:
    """Compare DSM with the paper's settings and the paper's own, in the cells whose error is known."""
    return [one for one in against_paper(cells, paper, "dsm") if not math.isnan(one.error)]


def against_rivals(cells: Sequence[Cell]) -> list[Difference]:
    """Compare ``lifemix`` with every rival on the same folds, each selection of a rival separately."""
    ours = {cell.place: cell for cell in _counted(cells, "lifemix")}
    rivals = [
        cell
        for cell in cells
        if cell.model != "lifemix"
        and not is_reference(cell.model)
        and cell.selection in _SELECTIONS
        and cell.place in ours
    ]
    found = (paired(ours[cell.place], cell) for cell in rivals)
    return [one for one in found if one is not None]


def rival_counts(cells: Sequence[Cell]) -> dict[tuple[str, str], Count]:
    """Return how often ``lifemix`` is ahead of each rival, by model and selection, in the order of the tables."""
    gaps: dict[tuple[str, str], list[Difference]] = {}
    for one in against_rivals(cells):
        gaps.setdefault((one.second.model, one.second.selection), []).append(one)
    return {row: count(gaps[row]) for row in rows_of(cells) if row in gaps}


def findings(cells: Sequence[Cell], paper: Published) -> list[str]:
    """Return what the cells show, one sentence each; the main number between double asterisks."""
    sentences = []
    ours = model_title("lifemix", cells[0].data)
    dsm = count(agreement(cells, paper))
    if dsm.total:
        sentences.append(
            f"DSM with the paper’s settings is within 2√(SE² + SE²) of the paper’s number in **{dsm.within} of "
            f"{dsm.total}** cells; beyond that, better in {dsm.significantly_ahead} and worse in "
            f"{dsm.significantly_behind}."
        )
    best = against_paper(cells, paper, "lifemix")
    if best:
        sentences.append(
            f"{ours} is ahead of the paper’s DSM in **{count(best).ahead} of {len(best)}** cells, and behind it by "
            f"more than one standard error of the difference in {sum(gap.behind_by_an_error for gap in best)}."
        )
    rivals = count(against_rivals(cells))
    if rivals.total:
        sentences.append(
            f"Against every rival on the same folds, {ours} is ahead in **{rivals.ahead} of {rivals.total}** "
            f"comparisons; significantly ahead in {rivals.significantly_ahead}, significantly behind in "
            f"{rivals.significantly_behind} (paired t test at 5\u00a0%)."
        )
    return sentences


def _counted(cells: Sequence[Cell], model: str) -> list[Cell]:
    own = [cell for cell in cells if cell.model == model and cell.measure in _COUNTED]
    chosen = next((way for way in _SELECTIONS if any(cell.selection == way for cell in own)), "")
    return [cell for cell in own if cell.selection == chosen]
