"""What a page shows in a few sentences and one table: agreement with the paper, and our best against the rivals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...report import Column, Entry, Html, joined, table
from ..cells import Cell
from .comparison import Difference, Place, against, count, paired, place
from .names import look, row_title
from .tables import rows_of

__all__ = ["findings", "rival_table", "rivals"]

Published = Mapping[tuple[str, Place], Cell]
COUNTED = ("ctd", "brier", "concordance")
SELECTIONS = ("paper", "nested", "fixed")
Row = tuple[str, str]


def findings(cells: Sequence[Cell], paper: Published) -> list[Html]:
    """Return the sentences of the summary that the cells allow."""
    return [*_dsm(cells, paper), *_best(cells, paper), *_against_rivals(cells)]


def _of(cells: Sequence[Cell], model: str) -> list[Cell]:
    """Return a model's cells that count, by the paper's selection where there is such a one."""
    own = [cell for cell in cells if cell.model == model and cell.measure in COUNTED]
    chosen = next((way for way in SELECTIONS if any(cell.selection == way for cell in own)), "")
    return [cell for cell in own if cell.selection == chosen]


def _gaps(cells: Sequence[Cell], paper: Published) -> list[Difference]:
    """Compare cells with what the paper has for its DSM."""
    theirs = [(cell, paper.get(("dsm", place(cell)))) for cell in cells]
    return [against(cell, other) for cell, other in theirs if other is not None and cell.mean == cell.mean]


def _dsm(cells: Sequence[Cell], paper: Published) -> list[Html]:
    found = count(_gaps(_of(cells, "dsm"), paper))
    if not found.total:
        return []
    share = f"{found.within} of {found.total}"
    return [
        joined(
            "DSM with the paper’s settings is within 2√(SE² + SE²) of the paper’s number in ",
            _strong(share),
            f" cells; beyond that, better in {found.clearly_ahead} and worse in {found.clearly_behind}.",
        )
    ]


def _best(cells: Sequence[Cell], paper: Published) -> list[Html]:
    gaps = _gaps(_of(cells, "lifemix"), paper)
    if not gaps:
        return []
    behind = sum(not gap.better and abs(gap.value) > gap.error for gap in gaps)
    return [
        joined(
            "lifemix is ahead of the paper’s DSM in ",
            _strong(f"{count(gaps).ahead} of {len(gaps)}"),
            f" cells, and behind it by more than one standard error of the difference in {behind}.",
        )
    ]


def _against_rivals(cells: Sequence[Cell]) -> list[Html]:
    found = count(gap for gaps in rivals(cells).values() for gap in gaps)
    if not found.total:
        return []
    return [
        joined(
            "Against every rival on the same folds, lifemix is ahead in ",
            _strong(f"{found.ahead} of {found.total}"),
            f" comparisons; beyond chance ahead in {found.clearly_ahead}, behind in {found.clearly_behind}.",
        )
    ]


def rivals(cells: Sequence[Cell]) -> dict[Row, list[Difference]]:
    """Return the differences between our best and each rival, fold by fold, over everything that counts."""
    mine = {place(cell): cell for cell in _of(cells, "lifemix")}
    found: dict[Row, list[Difference]] = {}
    for cell in cells:
        own = mine.get(place(cell))
        if own is None or cell.selection not in SELECTIONS or cell.model == "lifemix" or look(cell.model).reference:
            continue
        gap = paired(own, cell)
        if gap is not None:
            found.setdefault((cell.model, cell.selection), []).append(gap)
    return found


def rival_table(cells: Sequence[Cell]) -> Html | None:
    """Return how often our best is ahead of each rival; None where there is nothing to compare."""
    gaps = rivals(cells)
    lines: list[list[Entry]] = []
    for model, selection in rows_of(cells):
        if (model, selection) in gaps:
            found = count(gaps[model, selection])
            lines.append(
                [
                    row_title(model, selection, inline=True),
                    found.total,
                    found.ahead,
                    found.clearly_ahead,
                    found.clearly_behind,
                ]
            )
    if not lines:
        return None
    heads = ("compared", "ahead", "clearly ahead", "clearly behind")
    columns = [Column("lifemix against", text=True), *(Column(head, digits=0) for head in heads)]
    foot = "Over all data sets, horizons, kinds of event and levels of censoring; clearly: by a paired t test at 5 %."
    return table(columns, lines, "lifemix against each rival on the same folds", foot)


def _strong(text: str) -> Html:
    return Html(f"<strong>{text}</strong>")
