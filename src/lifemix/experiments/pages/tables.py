"""The tables of a page: our numbers with the paper's under them, and differences on the same folds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from ..._html import Entry, Html, TableColumn, Value, joined, table
from ..cells import Cell
from ..comparison import Difference, Published, against, paired, place, sign_of
from .facts import RunFacts
from .names import look, measure_of, rank, row_title

__all__ = ["comparison_table", "paired_table", "rows_of"]

Row = tuple[str, str]
PLAIN_FOOT = "Mean ± standard error over the folds, best in bold."
FOOT = (
    "Mean ± standard error over the folds, best in bold. Small print: the paper’s number · ours minus the paper’s, "
    "with ▲ (better) or ▼ (worse) where beyond 2√(SE² + SE²)."
)
ARROWS = {"": "", "good": "▲", "bad": "▼"}
PAIRED_FOOT = (
    "Mean ± standard error of the differences fold by fold; positive is in favour of lifemix. ▲ (ahead), ▼ (behind): "
    "paired t test at 5 %, two-sided, not corrected for the number of tests."
)


def rows_of(cells: Sequence[Cell]) -> list[Row]:
    """Return the models of some cells with how their settings were chosen, in the order of the tables."""
    return sorted(
        {(cell.model, cell.selection) for cell in cells}, key=lambda row: (rank(row[0]), row[1] != "paper", row[1])
    )


def _columns(cells: Sequence[Cell], facts: RunFacts, best: bool = True) -> tuple[list[float], list[TableColumn]]:
    """Return the horizons of cells of one table and a column for each, with the time where it is known."""
    first = cells[0]
    measure = measure_of(first.measure)
    way: Literal["max", "min"] = "max" if sign_of(first.measure) > 0 else "min"
    quantiles = sorted({cell.horizon for cell in cells})
    columns = []
    for i, quantile in enumerate(quantiles):
        title: object = f"{100 * quantile:g} % of events" if i == 0 else f"{100 * quantile:g} %"
        if first.measure == "concordance":
            title = measure.title
        unit = facts.time(first.data, first.event, i) if first.measure != "concordance" else ""
        columns.append(TableColumn(title, unit, measure.digits, way if best else None, signed=not best))
    return quantiles, columns


def comparison_table(
    cells: Sequence[Cell], paper: Published, facts: RunFacts, caption: object, foot: object = ""
) -> Html:
    """Return models by horizons, of one measure, kind of event and level of censoring.

    Models of the paper's that were not run have its numbers alone.
    """
    theirs = [
        cell
        for (_, where), cell in paper.items()
        if where[:3] == place(cells[0])[:3] and where[4] == cells[0].censoring
    ]
    quantiles, columns = _columns([*cells, *theirs], facts)
    ours = {(cell.model, cell.selection, cell.horizon): cell for cell in cells}
    run = {cell.model for cell in cells}
    lines: list[list[Entry]] = []
    for model, selection in rows_of([*cells, *(cell for cell in theirs if cell.model not in run)]):
        line: list[Entry] = [row_title(model, selection)]
        for quantile in quantiles:
            where = (*place(cells[0])[:3], quantile, cells[0].censoring)
            line.append(_value(ours.get((model, selection, quantile)), paper.get((model, where))))
        lines.append(line)
    return table(
        [TableColumn("Model", text=True), *columns],
        lines,
        caption,
        joined(FOOT if theirs else PLAIN_FOOT, foot),
    )


def _value(ours: Cell | None, theirs: Cell | None) -> Value | None:
    """Return our number, with the paper's and the difference in small print."""
    if theirs is None:
        return None if ours is None else Value(ours.mean, ours.error, ranked=not look(ours.model).reference)
    digits = measure_of(theirs.measure).digits
    printed = f"{theirs.mean:.{digits}f} ± {theirs.error:.{digits}f}"
    if ours is None or math.isnan(ours.mean):
        return Value(math.nan, note=f"paper {printed}")
    gap = against(ours, theirs)
    return Value(
        ours.mean, ours.error, f"{printed} · {_signed(gap, digits)}", _mark(gap), not look(ours.model).reference
    )


def _mark(gap: Difference) -> Literal["", "good", "bad"]:
    if not gap.clear:
        return ""
    return "good" if gap.better else "bad"


def _signed(gap: Difference, digits: int = 3) -> str:
    """Return a difference with its sign, and an arrow where it is clear."""
    return f"{gap.value:+.{digits}f} {ARROWS[_mark(gap)]}".rstrip().replace("-", "−")


def paired_table(cells: Sequence[Cell], facts: RunFacts, caption: object, ours: str = "lifemix") -> Html | None:
    """Return the differences between our best and every rival, fold by fold; None where there are none to show."""
    mine = {cell.horizon: cell for cell in cells if cell.model == ours}
    rivals = [cell for cell in cells if cell.model != ours and not look(cell.model).reference]
    if not mine or not rivals:
        return None
    quantiles, columns = _columns(cells, facts, best=False)
    found = {(cell.model, cell.selection, cell.horizon): cell for cell in rivals}
    lines: list[list[Entry]] = []
    for model, selection in rows_of(rivals):
        line: list[Entry] = [row_title(model, selection, inline=True)]
        for quantile in quantiles:
            line.append(_paired_value(mine.get(quantile), found.get((model, selection, quantile))))
        lines.append(line)
    return table([TableColumn("lifemix against", text=True), *columns], lines, caption, PAIRED_FOOT)


def _paired_value(mine: Cell | None, rival: Cell | None) -> Value | None:
    gap = paired(mine, rival) if mine is not None and rival is not None else None
    if gap is None or mine is None:
        return None
    missing = f"{gap.folds} of {len(mine.values)} folds" if gap.folds < len(mine.values) else ""
    return Value(gap.gain, gap.error, missing, _mark(gap), suffix=ARROWS[_mark(gap)] or "\u2007")
