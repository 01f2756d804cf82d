"""Our numbers and the paper's side by side: one line a model, one panel a horizon and kind of event."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..._html import Html, figure, joined
from ..cells import Cell
from ..comparison import Published, place, sign_of
from .figures import PAPER, drawable, panel
from .names import look, measure_of
from .tables import rows_of

__all__ = ["dots"]


def dots(cells: Sequence[Cell], paper: Published, title: Callable[[int, float], str]) -> Html:
    """Show every model's number with its standard error, and the paper's as a hollow diamond.

    cells: of one measure and level of censoring. title: of the panel of a kind of event and a horizon.
    """
    cells = drawable(cells)
    drawings = []
    rows = rows_of(cells)
    for event, horizon in sorted({(cell.event, cell.horizon) for cell in cells}):
        here = {(c.model, c.selection): c for c in cells if (c.event, c.horizon) == (event, horizon)}
        drawing, axes = panel(title(event, horizon), height=0.75 + 0.25 * len(rows))
        for line, row in enumerate(rows):
            cell = here.get(row)
            if cell is None or not math.isfinite(cell.mean):
                continue
            error = cell.error if math.isfinite(cell.error) else 0.0
            axes.errorbar(cell.mean, line, xerr=error, color=look(row[0]).colour, marker="o", ms=5, lw=1.3)
            theirs = paper.get((cell.model, place(cell)))
            if theirs is not None:
                style: dict[str, Any] = {
                    "color": PAPER,
                    "marker": "D",
                    "mfc": "white",
                    "ms": 4,
                    "elinewidth": 0.7,
                    "lw": 0,
                }
                axes.errorbar(theirs.mean, line + 0.28, xerr=theirs.error, **style)
        axes.set_yticks(range(len(rows)), [_label(row, rows) for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(axis="x", color="#e5e7eb", linewidth=0.7)
        drawings.append(drawing)
    measure = measure_of(cells[0].measure)
    way = "the further right the better" if sign_of(cells[0].measure) > 0 else "the further left the better"
    keys = {"ours": ("#0072B2", "●"), "in the paper": (PAPER, "◇")} if _matched(cells, paper) else None
    return figure(
        drawings,
        f"{measure.plain} of each model with its standard error; the tables have the numbers",
        joined(measure.title, f" of each model, with one standard error: {way}."),
        legend=keys,
    )


def _matched(cells: Sequence[Cell], paper: Published) -> bool:
    return any((cell.model, place(cell)) in paper for cell in cells)


def _label(row: tuple[str, str], rows: Sequence[tuple[str, str]]) -> str:
    """Return a model's name, and how its settings were chosen where it is there more than once."""
    several = sum(model == row[0] for model, _ in rows) > 1
    way = {"paper": "best CV", "nested": "nested"}.get(row[1], row[1])
    return f"{look(row[0]).title}, {way}" if several else look(row[0]).title
