"""What a page shows in a few sentences and one table: agreement with the paper, and our best against the rivals."""

from __future__ import annotations

from collections.abc import Sequence

from ..._html import Entry, Html, TableColumn, joined, table
from ..cells import Cell
from ..comparison import Published, against_paper, against_rivals, agreement, by_rival, count
from .names import row_title
from .tables import rows_of

__all__ = ["findings", "rival_table"]


def findings(cells: Sequence[Cell], paper: Published) -> list[Html]:
    """Return the sentences of the summary that the cells allow."""
    return [*_dsm(cells, paper), *_best(cells, paper), *_against_rivals(cells)]


def _dsm(cells: Sequence[Cell], paper: Published) -> list[Html]:
    found = count(agreement(cells, paper))
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
    gaps = against_paper(cells, paper, "lifemix")
    if not gaps:
        return []
    behind = sum(gap.behind_by_an_error for gap in gaps)
    return [
        joined(
            "lifemix is ahead of the paper’s DSM in ",
            _strong(f"{count(gaps).ahead} of {len(gaps)}"),
            f" cells, and behind it by more than one standard error of the difference in {behind}.",
        )
    ]


def _against_rivals(cells: Sequence[Cell]) -> list[Html]:
    found = count(against_rivals(cells))
    if not found.total:
        return []
    return [
        joined(
            "Against every rival on the same folds, lifemix is ahead in ",
            _strong(f"{found.ahead} of {found.total}"),
            f" comparisons; beyond chance ahead in {found.clearly_ahead}, behind in {found.clearly_behind}.",
        )
    ]


def rival_table(cells: Sequence[Cell]) -> Html | None:
    """Return how often our best is ahead of each rival; None where there is nothing to compare."""
    gaps = by_rival(against_rivals(cells))
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
    columns = [TableColumn("lifemix against", text=True), *(TableColumn(head, digits=0) for head in heads)]
    foot = "Over all data sets, horizons, kinds of event and levels of censoring; clearly: by a paired t test at 5 %."
    return table(columns, lines, "lifemix against each rival on the same folds", foot)


def _strong(text: str) -> Html:
    return Html(f"<strong>{text}</strong>")
