"""The tables of a page: our numbers with the paper's under them, and differences on the same folds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from ..cells import Cell
from ..comparison import Difference, Published, against, is_judged, our_models, paired, rival_counts
from ..names import (
    is_ours,
    is_reference,
    is_strong,
    measure_of,
    model_title,
    plain_of,
    rows_of,
    selection_title,
    sign_of,
)
from .facts import RunFacts
from .pieces import Entry, Html, TableColumn, Value, joined, safe, table

__all__ = ["comparison_table", "measure_title", "paired_table", "rival_table"]

_ARROWS = {"": "", "good": "▲", "bad": "▼"}
_PLAIN_FOOT = "Mean ± standard error over the folds, best in bold."
_FOOT = (
    "Mean ± standard error over the folds, best in bold. Small print: the paper’s number · ours minus the paper’s, "
    "with ▲ (better) or ▼ (worse) where beyond 2√(SE² + SE²)."
)
_PAIRED_FOOT = (
    "Mean ± standard error of the differences fold by fold; positive is in favour of our model. ▲ (ahead), ▼ (behind): "
    "paired t test at 5 %, two-sided, corrected for the training rows that folds share (Nadeau and Bengio), not for "
    "the number of tests. A cell that cannot be judged is empty."
)


def measure_title(measure: str) -> Html:
    """Return a measure's name as HTML."""
    return Html(safe(measure_of(measure).title).replace("C^td", "C<sup>td</sup>"))


def _row_title(model: str, data: str, selection: str, inline: bool = False) -> Html:
    """Return a model's name with how its settings were selected under it, or after it."""
    way = "unit" if inline else "under"
    return Html(
        f'{safe(model_title(model, data))} <small class="{way}">{safe(selection_title(selection))}</small>'
    )


def _columns(
    cells: Sequence[Cell], facts: RunFacts, best: bool = True
) -> tuple[list[float], list[TableColumn]]:
    """Return the horizons of the cells of one table and a column for each, with the time where it is known."""
    first = cells[0]
    measure = measure_of(first.measure)
    way: Literal["max", "min"] = "max" if sign_of(first.measure) > 0 else "min"
    quantiles = sorted({cell.horizon for cell in cells})
    columns = []
    for number, quantile in enumerate(quantiles):
        title: object = f"{100 * quantile:g} %" + (" of events" if number == 0 else "")
        unit = facts.time(first.data, first.event, number)
        if not measure.has_horizon:
            title, unit = measure_title(first.measure), ""
        columns.append(
            TableColumn(title, unit, measure.digits, way if best else None, signed=not best)
        )
    return quantiles, columns


def comparison_table(
    cells: Sequence[Cell], paper: Published, facts: RunFacts, caption: object, foot: object = ""
) -> Html:
    """Return models by horizons, of one measure, event type and level of censoring.

    Models of the paper that were not run have its numbers alone.
    """
    first = cells[0]
    theirs = [
        cell
        for (_, place), cell in paper.items()
        if place[:3] == first.place[:3] and place[4] == first.censoring
    ]
    quantiles, columns = _columns([*cells, *theirs], facts)
    ours = {(cell.model, cell.selection, cell.horizon): cell for cell in cells}
    run = {cell.model for cell in cells}
    lines: list[list[Entry]] = []
    for model, selection in rows_of([*cells, *(cell for cell in theirs if cell.model not in run)]):
        line: list[Entry] = [_row_title(model, first.data, selection)]
        for quantile in quantiles:
            place = (first.data, first.measure, first.event, quantile, first.censoring)
            line.append(
                _value(ours.get((model, selection, quantile)), paper.get((plain_of(model), place)))
            )
        lines.append(line)
    heads = [TableColumn("Model", text=True), *columns]
    return table(heads, lines, caption, joined(_FOOT if theirs else _PLAIN_FOOT, foot))


def _value(ours: Cell | None, theirs: Cell | None) -> Value | None:
    """Return our number, with the paper's and the difference in small print."""
    if theirs is None:
        return (
            None
            if ours is None
            else Value(ours.mean, ours.error, ranked=not is_reference(ours.model))
        )
    digits = measure_of(theirs.measure).digits
    printed = f"{theirs.mean:.{digits}f} ± {theirs.error:.{digits}f}"
    if ours is None or math.isnan(ours.mean):
        return Value(math.nan, note=f"paper {printed}")
    gap = against(ours, theirs)
    signed = f"{gap.value:+.{digits}f} {_ARROWS[_mark(gap)]}".rstrip().replace("-", "−")
    return Value(
        ours.mean, ours.error, f"{printed} · {signed}", _mark(gap), not is_reference(ours.model)
    )


def _mark(gap: Difference) -> Literal["", "good", "bad"]:
    if not gap.significant:
        return ""
    return "good" if gap.better else "bad"


def paired_table(cells: Sequence[Cell], facts: RunFacts, caption: object, ours: str) -> Html | None:
    """Return the differences between a model of ours and every rival, fold by fold; None where there are none."""
    mine = {cell.horizon: cell for cell in cells if cell.model == ours}
    rivals = [cell for cell in cells if not is_ours(cell.model) and not is_reference(cell.model)]
    if not mine or not rivals:
        return None
    quantiles, columns = _columns(cells, facts, best=False)
    found = {(cell.model, cell.selection, cell.horizon): cell for cell in rivals}
    lines: list[list[Entry]] = []
    for model, selection in rows_of(rivals):
        line: list[Entry] = [_row_title(model, cells[0].data, selection, inline=True)]
        for quantile in quantiles:
            line.append(_paired_value(mine.get(quantile), found.get((model, selection, quantile))))
        lines.append(line)
    title = f"{model_title(ours, cells[0].data)} against"
    if not any(entry is not None for line in lines for entry in line[1:]):
        return None
    return table([TableColumn(title, text=True), *columns], lines, caption, _PAIRED_FOOT)


def _paired_value(mine: Cell | None, rival: Cell | None) -> Value | None:
    gap = (
        paired(mine, rival) if mine is not None and rival is not None and is_judged(rival) else None
    )
    if gap is None or mine is None:
        return None
    missing = f"{gap.folds} of {len(mine.values)} folds" if gap.folds < len(mine.values) else ""
    return Value(gap.gain, gap.error, missing, _mark(gap), suffix=_ARROWS[_mark(gap)] or "\u2007")


def rival_table(cells: Sequence[Cell]) -> Html | None:
    """Return how often each of our models is ahead of each rival; None where there is nothing to compare."""
    data = cells[0].data
    lines: list[list[Entry]] = [
        [
            safe(f"{model_title(model, data)} against {model_title(rival, data)}")
            + (" (strong)" * is_strong(rival)),
            own.total,
            own.ahead,
            f"{own.significantly_ahead} / {own.significantly_behind}",
            f"{own.ahead_after_holm} / {own.behind_after_holm}",
        ]
        for model in our_models(cells)
        for rival, own in rival_counts(cells, model).items()
    ]
    if not lines:
        return None
    numbers = [TableColumn(head, digits=0) for head in ("compared", "ahead")]
    columns = [
        TableColumn("Ours against a rival", text=True),
        *numbers,
        TableColumn("p < 5 %"),
        TableColumn("Holm"),
    ]
    foot = (
        "Over all data sets, horizons, event types and levels of censoring that can be judged, each rival under one "
        "selection, on at least three folds. p < 5 %: significantly ahead / behind by a paired t test with the "
        "correction of Nadeau and Bengio; Holm: the same, corrected for the number of comparisons on a data set too."
    )
    return table(columns, lines, "Our models against each rival on the same folds", foot)
