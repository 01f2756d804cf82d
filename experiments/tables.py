"""The tables of a run as files: ``tables.json`` for programs and ``tables.md`` for readers, the same in every run."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from lifemix.files import atomic_write

from .cells import Cell
from .comparison import Published, agreements, our_models, rival_counts
from .findings import findings, names_of_behind
from .names import (
    MEASURES,
    data_title,
    is_strong,
    measure_of,
    model_title,
    plain_of,
    row_notes,
    rows_of,
)
from .records import plain
from .selection import Selected

__all__ = ["markdown", "write_tables"]

_SELECTIONS = {
    "paper": "the setting with the best cross-validated score, as in the paper (optimistic)",
    "nested": "selected in every fold on the inner validation part",
    "fixed": "one setting in all folds",
}
_SHAPES = "- *1x25*: one hidden layer of 25 nodes, and so on."
_GROWTH = "- *n=1000*: 1,000 rows, and so on; 20 epochs without early stopping, beyond the data's own rows repeated."


def write_tables(
    folder: Path,
    title: str,
    cells: Sequence[Cell],
    paper: Published,
    selected: Sequence[Selected],
    notes: Sequence[str] = (),
) -> None:
    """Write both files."""
    content = {
        "title": title,
        "notes": list(notes),
        "cells": [plain(asdict(cell), 8) for cell in cells],
        "chosen": [one.shown() for one in selected],
    }
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "tables.json": json.dumps(content, indent=1, allow_nan=False) + "\n",
        "tables.md": markdown(title, cells, paper, selected, notes),
    }
    for name, text in texts.items():
        with atomic_write(folder / name) as path:
            path.write_text(text, encoding="utf-8")


def markdown(
    title: str,
    cells: Sequence[Cell],
    paper: Published,
    selected: Sequence[Selected] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return the tables as Markdown: our mean ± standard error, and the paper's beside it."""
    lines = [
        f"# {title}",
        "",
        *_guide(cells, paper),
        *(f"- {text}" for text in (*row_notes(cells), *notes)),
    ]
    for heading, table in _tables(cells):
        lines += ["", f"## {heading}", "", *_table(table, paper)]
    if any(one.candidates > 1 for one in selected):
        lines += ["", "## Settings selected", "", *_settings(selected)]
    found = findings(cells, paper)
    if found:
        lines += [
            "",
            "## Comparisons",
            "",
            *(f"- {sentence}" for sentence in found),
            *_rivals(cells),
        ]
    behind = names_of_behind(cells)
    if behind:
        lines += [
            "",
            "Significantly behind, before Holm’s correction:",
            "",
            *(f"- {name}" for name in behind),
        ]
    return "\n".join([*lines, *_agreements(cells)]) + "\n"


def _guide(cells: Sequence[Cell], paper: Published) -> list[str]:
    """Return what the words of the tables mean."""
    sentences = ["Ours: mean ± standard error over the folds."]
    if paper:
        intervals = any(cell.data == "transfer" for cell in cells)
        sentences.append(
            "Paper: its 90 % intervals as standard errors."
            if intervals
            else "Paper: as printed there."
        )
    if any(measure_of(cell.measure).has_horizon for cell in cells):
        sentences.append("Horizons: quantiles of the event times.")
    ways = {cell.selection for cell in cells}
    lines = [
        " ".join(sentences),
        "",
        *(f"- *{way}*: {text}." for way, text in _SELECTIONS.items() if way in ways),
    ]
    lines += [_SHAPES] if any(cell.is_shape for cell in cells) else []
    return lines + ([_GROWTH] if any(cell.is_growth for cell in cells) else [])


def _tables(cells: Sequence[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    """Yield the cells of each table with its heading."""
    places = dict.fromkeys((cell.data, cell.censoring, cell.measure, cell.event) for cell in cells)
    several = {
        data: len({cell.event for cell in cells if cell.data == data}) > 1 for data, *_ in places
    }
    order = list(MEASURES)
    for data, censoring, measure, event in sorted(
        places, key=lambda p: (p[0], p[1], order.index(p[2]), p[3])
    ):
        heading = f"{data_title(data)}: {measure_of(measure).title}" + (
            f", event {event}" if several[data] else ""
        )
        if censoring:
            heading += f", {censoring:.0%} of the training events censored"
        own = (data, censoring, measure, event)
        yield (
            heading,
            [
                cell
                for cell in cells
                if (cell.data, cell.censoring, cell.measure, cell.event) == own
            ],
        )


def _table(cells: Sequence[Cell], paper: Published) -> list[str]:
    horizons = sorted({cell.horizon for cell in cells})
    here = {cell.place for cell in cells}
    beside = any(place in here for _, place in paper)
    ours = {(cell.model, cell.selection, cell.horizon): cell for cell in cells}
    heads = (
        [f"{q:.0%}" for q in horizons] if measure_of(cells[0].measure).has_horizon else ["value"]
    )
    rows = []
    for model, selection in rows_of(cells):
        row = [model_title(model, cells[0].data), selection]
        for horizon in horizons:
            cell = ours.get((model, selection, horizon))
            row.append(_number(cell))
            row += (
                [_number(paper.get((plain_of(model), cell.place)) if cell else None)]
                if beside
                else []
            )
        rows.append(row)
    columns = [name for head in heads for name in ((head, "paper") if beside else (head,))]
    return _grid(["model", "selection", *columns], rows)


def _number(cell: Cell | None) -> str:
    if cell is None or math.isnan(cell.mean):
        return ""
    measure = measure_of(cell.measure)
    digits = 4 if measure.digits == 3 else measure.digits
    return f"{cell.mean:.{digits}f}" + (
        "" if math.isnan(cell.error) else f" ± {cell.error:.{digits}f}"
    )


def _settings(selected: Sequence[Selected]) -> list[str]:
    rows = []
    for one in (one for one in selected if one.candidates > 1):
        shown = one.shown()["settings"]
        settings = "; ".join(", ".join(f"{k} {v}" for k, v in setting.items()) for setting in shown)
        title = model_title(one.model, one.data)
        rows.append(
            [
                data_title(one.data),
                title,
                f"{one.censoring:.0%}",
                one.selection,
                str(one.candidates),
                settings,
            ]
        )
    return _grid(["data", "model", "censored", "selection", "of", "settings by fold"], rows)


def _rivals(cells: Sequence[Cell]) -> list[str]:
    """Return how often each of our models is ahead of each rival on the same folds."""
    data = cells[0].data
    rows = [
        [
            model_title(model, data),
            model_title(rival, data) + (" (strong)" if is_strong(rival) else ""),
            *map(str, (own.total, own.ahead, own.significantly_ahead, own.significantly_behind)),
            f"{own.ahead_after_holm} / {own.behind_after_holm}",
        ]
        for model in our_models(cells)
        for rival, own in rival_counts(cells, model).items()
    ]
    heads = [
        "ours",
        "against",
        "compared",
        "ahead",
        "significantly ahead",
        "significantly behind",
        "after Holm",
    ]
    return ["", *_grid(heads, rows)] if rows else []


def _agreements(cells: Sequence[Cell]) -> list[str]:
    """Return in how many cells each model agrees with the paper's numbers, under both readings of its ±."""
    data = cells[0].data
    rows = [
        [
            model_title(one.model, data),
            one.selection,
            str(one.total),
            str(one.as_error),
            str(one.as_interval),
        ]
        for one in agreements(cells)
    ]
    heads = [
        "model",
        "selection",
        "cells",
        "within, ± a standard error",
        "within, ± a 90 % interval",
    ]
    return ["", "## Agreement with the paper", "", *_grid(heads, rows)] if rows else []


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    return [lines[0], "|---" * len(heads) + "|", *lines[1:]]
