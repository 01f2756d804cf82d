"""What models cost: training times, numbers of parameters, the growth with the number of rows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

from ..._html import Html, figure
from ..cells import Cell
from .figures import legend, panel
from .names import data_title, look, rank
from .records import RecordLike

__all__ = ["cost_cells", "costs", "growth", "is_growth"]


def is_growth(cell: Cell) -> bool:
    """Tell whether a cell is of one number of rows, ``n=<rows>``."""
    return re.fullmatch(r"n=\d+", cell.selection) is not None


def cost_cells(records: Iterable[RecordLike]) -> list[Cell]:
    """Return the mean training time and number of parameters of each model, from rows without artificial censoring."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for record in records:
        if record.censoring == 0:
            found.setdefault((record.data, record.model, "seconds"), []).append(record.seconds)
            if record.parameters is not None:
                found.setdefault((record.data, record.model, "parameters"), []).append(float(record.parameters))
    cells = []
    for (data, model, measure), values in found.items():
        error = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
        cells.append(Cell(data, model, measure, 1, 1.0, 0.0, "fixed", float(np.mean(values)), error, tuple(values)))
    return cells


def costs(cells: Sequence[Cell]) -> Html:
    """Show the training time and the number of parameters of each model, as bars on a logarithmic scale."""
    drawings = []
    for data, measure in dict.fromkeys((cell.data, cell.measure) for cell in cells):
        here = sorted(
            (c for c in cells if (c.data, c.measure) == (data, measure) and c.mean > 0), key=lambda c: rank(c.model)
        )
        if not here:
            continue
        words = {"seconds": "seconds of one fit", "parameters": "numbers learnt"}.get(measure, measure)
        drawing, axes = panel(f"{data_title(data)}: {words}", height=0.9 + 0.3 * len(here))
        bars = axes.barh(
            range(len(here)), [c.mean for c in here], color=[look(c.model).colour for c in here], height=0.65
        )
        axes.bar_label(bars, [_short(c.mean) for c in here], padding=3, fontsize=8.5)
        axes.set_yticks(range(len(here)), [look(c.model).title for c in here])
        axes.set_xscale("log")
        axes.set_xlim(min(c.mean for c in here) / 2, max(c.mean for c in here) * 6)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        drawings.append(drawing)
    return figure(
        drawings,
        "training time and number of parameters of each model; the table has the numbers",
        "What one fit of each model costs, mean over the folds; logarithmic scale.",
    )


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def growth(cells: Sequence[Cell]) -> Html:
    """Show training time by the number of rows; the selection of these cells is ``n=<rows>``."""
    drawings = []
    for data in dict.fromkeys(cell.data for cell in cells):
        drawing, axes = panel(f"{data_title(data)}: seconds of one fit")
        for model in sorted({cell.model for cell in cells if cell.data == data}, key=rank):
            own = sorted((_rows(cell), cell.mean) for cell in cells if (cell.data, cell.model) == (data, model))
            axes.plot(*zip(*own, strict=True), color=look(model).colour, marker=look(model).marker, ms=5, lw=1.2)
        axes.set(xscale="log", yscale="log")
        sizes = sorted({_rows(cell) for cell in cells if cell.data == data})
        axes.set_xticks(sizes[::2], [f"{size:,}" for size in sizes[::2]])
        axes.minorticks_off()
        axes.set_xlabel("rows trained on", fontsize=9)
        drawings.append(drawing)
    return figure(
        drawings,
        "training time by number of rows, one line a model",
        "Training time against the number of rows, both on logarithmic scales: a slope of one is proportional growth.",
        legend=legend(cells, {}),
    )


def _rows(cell: Cell) -> int:
    return int(cell.selection.removeprefix("n="))
