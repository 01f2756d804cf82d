"""Differences between cells: ours and the paper's, ours and a rival's on the same folds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from ..cells import Cell
from ..published import published_cells
from .names import measure_of

__all__ = ["Count", "Difference", "Place", "against", "agreement", "count", "paired", "paper_of", "place"]

Place = tuple[str, str, int, float, float]


@dataclass(frozen=True)
class Difference:
    """First minus second, with its standard error; ``clear`` says whether it is beyond what chance explains.

    better: whether the first is the better one, which for a Brier score is the lower one.
    """

    value: float
    error: float
    clear: bool
    better: bool
    folds: int = 0


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


def place(cell: Cell) -> Place:
    """Return where a cell stands, whoever's it is."""
    return cell.data, cell.measure, cell.event, cell.horizon, cell.censoring


def paper_of(data: Iterable[str]) -> dict[tuple[str, Place], Cell]:
    """Return the paper's cells for data sets, by model and place; the intervals of transfer as standard errors."""
    found = (published_cells(name, "t" if name == "transfer" else None) for name in data)
    return {(cell.model, place(cell)): cell for cells in found for cell in cells}


def against(ours: Cell, other: Cell) -> Difference:
    """Compare two independent means; clear is what is beyond ``2 sqrt(SE² + SE²)``."""
    value, error = ours.mean - other.mean, math.hypot(ours.error, other.error)
    clear = abs(value) > 2 * error  # False where an error is not known
    return Difference(value, error, clear, value * measure_of(ours.measure).sign > 0)


def paired(ours: Cell, rival: Cell, level: float = 0.05) -> Difference | None:
    """Compare two models fold by fold; clear is what a paired t test finds at the level.

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
    clear = abs(value) > float(t.ppf(1 - level / 2, len(gaps) - 1)) * error
    return Difference(value, error, clear, value * measure_of(ours.measure).sign > 0, len(gaps))


def count(differences: Iterable[Difference]) -> Count:
    """Count differences by their direction."""
    found = [one for one in differences if not math.isnan(one.value)]
    return Count(
        len(found),
        sum(one.better for one in found),
        sum(one.clear and one.better for one in found),
        sum(one.clear and not one.better for one in found),
    )


def agreement(cells: Sequence[Cell], paper: Mapping[tuple[str, Place], Cell], model: str, other: str = "") -> Count:
    """Compare a model of ours with the paper's cells of the same model, or of another one."""
    pairs = ((cell, paper.get((other or model, place(cell)))) for cell in cells if cell.model == model)
    return count(against(cell, theirs) for cell, theirs in pairs if theirs is not None)
