"""Differences between cells: ours and the paper's, ours and a rival's on the same folds; for tables and pages.

What counts is decided here, once: every rival counts under one selection (nested where there is one, never the
optimistic one if another is known) and with the most settings to select from that is known, on at least three folds, in
the cells that can be judged (``is_judged``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import stats

from .cells import Cell, Place
from .names import is_ours, is_reference, plain_of, rows_of, sign_of
from .published import published_cells

__all__ = [
    "Agreement",
    "Count",
    "Difference",
    "Published",
    "against",
    "against_paper",
    "against_rivals",
    "agreements",
    "behind",
    "by_place",
    "count",
    "holm",
    "is_judged",
    "our_models",
    "paired",
    "paper_of",
    "rival_counts",
]

Published = Mapping[tuple[str, Place], Cell]
_COUNTED = ("ctd", "brier", "concordance")
_HONEST = ("nested", "fixed", "paper")
_LEAST_FOLDS = 3
_LEVEL = 0.05


@dataclass(frozen=True)
class Difference:
    """First minus second, with its standard error; ``significant`` says whether chance does not explain it.

    folds: on how many both have a number, where they are compared fold by fold; otherwise 0.
    p_value: of a corrected paired t test over the folds; otherwise NaN. adjusted: the same after Holm's correction for
    all comparisons of one model of ours in one table.
    """

    first: Cell
    second: Cell
    value: float
    error: float
    significant: bool
    folds: int = 0
    p_value: float = math.nan
    adjusted: float = math.nan

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
    """How many of some differences are for the better, and how many significantly, before and after Holm."""

    total: int
    ahead: int
    significantly_ahead: int
    significantly_behind: int
    ahead_after_holm: int = 0
    behind_after_holm: int = 0

    @property
    def within(self) -> int:
        """How many are not significant."""
        return self.total - self.significantly_ahead - self.significantly_behind


@dataclass(frozen=True)
class Agreement:
    """In how many cells a model agrees with the paper's number, under both readings of its ±.

    as_error: ± is the standard error, as the paper's text says. as_interval: it is a 90 % interval, as its appendix
    says.
    """

    model: str
    selection: str
    total: int
    as_error: int
    as_interval: int


def count(differences: Iterable[Difference]) -> Count:
    """Count differences by their direction."""
    found = [one for one in differences if not math.isnan(one.value)]
    after = [one for one in found if one.adjusted < _LEVEL]
    return Count(
        len(found),
        sum(one.better for one in found),
        sum(one.significant and one.better for one in found),
        sum(one.significant and not one.better for one in found),
        sum(one.better for one in after),
        sum(not one.better for one in after),
    )


def by_place(published: Iterable[Cell]) -> Published:
    """Return published cells by model and place."""
    return {(cell.model, cell.place): cell for cell in published}


def paper_of(data: Iterable[str], reading: Literal["error", "interval"] = "error") -> Published:
    """Return the paper's cells for data sets.

    reading: what ± is taken for where the paper contradicts itself; on transfer it is an interval.
    """
    found = (
        published_cells(name, "t" if name == "transfer" or reading == "interval" else None)
        for name in data
    )
    return by_place(cell for cells in found for cell in cells)


def against(ours: Cell, other: Cell) -> Difference:
    """Compare two independent means; significant is what is beyond ``2 sqrt(SE² + SE²)``."""
    value, error = ours.mean - other.mean, math.hypot(ours.error, other.error)
    return Difference(
        ours, other, value, error, abs(value) > 2 * error
    )  # never where an error is not known


def paired(ours: Cell, rival: Cell) -> Difference | None:
    """Compare two models fold by fold; significant is what a corrected paired t test finds at 5 %, two-sided.

    Folds share training rows, so the variance of the mean is ``s² (1 / n + n_test / n_train)``, in which the second
    term, ``1 / (folds - 1)``, is the correction of Nadeau and Bengio (2003, doi:10.1023/A:1024068626366). None where
    the two do not have the same folds, or fewer than three; those in which one is not defined do not count.
    """
    if len(ours.values) != len(rival.values):
        return None
    gaps = np.subtract(ours.values, rival.values)
    gaps = gaps[np.isfinite(gaps)]
    if len(gaps) < _LEAST_FOLDS:
        return None
    value = float(gaps.mean())
    error = float(gaps.std(ddof=1) * math.sqrt(1 / len(gaps) + 1 / (len(ours.values) - 1)))
    p_value = (
        float(2 * stats.t.sf(abs(value) / error, len(gaps) - 1)) if error > 0 else float(value == 0)
    )
    return Difference(ours, rival, value, error, p_value < _LEVEL, len(gaps), p_value)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values adjusted for their number, as Holm (1979) does."""
    order = np.argsort(p_values, kind="stable")
    steps = np.asarray(p_values, dtype=np.float64)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted.tolist()


def is_judged(cell: Cell) -> bool:
    """Tell whether a cell counts in comparisons.

    Not the Brier scores of SYNTHETIC, where censoring depends on the event time itself: the weights assume that it does
    not, and the true distribution scores worse than a fitted one. Not DeepHit at the last event time, where its
    probability is all in the last interval. Not Brier scores with other weights than those of the tables.
    """
    if cell.data == "synthetic" and cell.measure == "brier":
        return False
    if cell.model.startswith("deephit") and cell.horizon == 1.0 and cell.measure != "concordance":
        return False
    return cell.measure in _COUNTED


def our_models(cells: Sequence[Cell]) -> list[str]:
    """Return which of our models are among the cells, in the order of the tables."""
    return [model for model in dict.fromkeys(row[0] for row in rows_of(cells)) if is_ours(model)]


def against_paper(cells: Sequence[Cell], paper: Published, model: str) -> list[Difference]:
    """Compare a model of ours with the paper's DSM."""
    theirs = [(cell, paper.get(("dsm", cell.place))) for cell in _honest(cells, model)]
    return [
        against(cell, other)
        for cell, other in theirs
        if other is not None and not math.isnan(cell.mean)
    ]


def agreements(cells: Sequence[Cell]) -> list[Agreement]:
    """Compare every model of the paper with the paper's own numbers, in the cells whose error is known."""
    data = dict.fromkeys(cell.data for cell in cells)
    readings = [paper_of(data, "error"), paper_of(data, "interval")]
    found = []
    for model, selection in rows_of(cells):
        own = [cell for cell in cells if (cell.model, cell.selection) == (model, selection)]
        name = plain_of(model)
        known = [
            cell for cell in own if (name, cell.place) in readings[0] and math.isfinite(cell.error)
        ]
        if known and not known[0].is_shape:
            gaps = [
                [against(cell, paper[name, cell.place]) for cell in known] for paper in readings
            ]
            within = [sum(not gap.significant for gap in of_reading) for of_reading in gaps]
            found.append(Agreement(model, selection, len(known), *within))
    return found


def against_rivals(cells: Sequence[Cell], model: str) -> list[Difference]:
    """Compare one model of ours with every rival on the same folds; p values adjusted by data set."""
    ours = {cell.place: cell for cell in _honest(cells, model)}
    rivals = dict.fromkeys(
        cell.model for cell in cells if not is_ours(cell.model) and not is_reference(cell.model)
    )
    theirs = [cell for rival in rivals for cell in _honest(cells, rival) if cell.place in ours]
    replaced = {
        (plain_of(cell.model), cell.place) for cell in theirs if plain_of(cell.model) != cell.model
    }
    pairs = [
        (ours[cell.place], cell) for cell in theirs if (cell.model, cell.place) not in replaced
    ]
    found = [
        one for one in (paired(*pair) for pair in pairs if is_judged(pair[1])) if one is not None
    ]
    adjusted: list[Difference] = []
    for data in dict.fromkeys(one.first.data for one in found):
        own = [one for one in found if one.first.data == data]
        after = holm([one.p_value for one in own])
        adjusted += [replace(one, adjusted=value) for one, value in zip(own, after, strict=True)]
    return adjusted


def rival_counts(cells: Sequence[Cell], model: str) -> dict[str, Count]:
    """Return how often a model of ours is ahead of each rival, in the order of the tables."""
    gaps: dict[str, list[Difference]] = {}
    for one in against_rivals(cells, model):
        gaps.setdefault(one.second.model, []).append(one)
    order = dict.fromkeys(row[0] for row in rows_of(cells))
    return {rival: count(gaps[rival]) for rival in order if rival in gaps}


def behind(cells: Sequence[Cell], model: str) -> list[Difference]:
    """Return the comparisons in which a model of ours is significantly behind, before Holm's correction."""
    return [one for one in against_rivals(cells, model) if one.significant and not one.better]


def _honest(cells: Sequence[Cell], model: str) -> list[Cell]:
    """Return the cells of a model under one selection, the most honest that there is."""
    own = [cell for cell in cells if cell.model == model and cell.measure in _COUNTED]
    chosen = next((way for way in _HONEST if any(cell.selection == way for cell in own)), "")
    return [cell for cell in own if cell.selection == chosen]
