"""The tables of a run as files: ``tables.json`` for programs and ``tables.md`` for readers, the same in every run."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .cells import Cell
from .comparison import by_place, place
from .verdicts import verdicts

__all__ = ["markdown", "write_tables"]

_TITLES = {
    "ctd": "C^td",
    "brier": "Brier score",
    "brier_original": "Brier score, G from the training rows before artificial censoring",
    "concordance": "Harrell's C",
    "seconds": "seconds of one fit",
    "parameters": "numbers that are learnt",
}
_DIGITS = {"seconds": 2, "parameters": 0}
_TIMELESS = ("concordance", "seconds", "parameters")
_SELECTIONS = {
    "paper": "best cross-validated score, as in the paper (optimistic)",
    "nested": "chosen in every fold on the inner validation part",
    "fixed": "nothing chosen",
}


def write_tables(
    folder: Path,
    title: str,
    cells: Sequence[Cell],
    published: Sequence[Cell],
    chosen: Sequence[Mapping[str, Any]],
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Write both files, and return what the JSON one holds."""
    content = {
        "title": title,
        "notes": list(notes),
        "cells": [_plain(asdict(cell)) for cell in cells],
        "chosen": [dict(choice) for choice in chosen],
        "verdicts": _plain(verdicts(cells, published)),
    }
    folder.mkdir(parents=True, exist_ok=True)
    _replace(folder / "tables.json", json.dumps(content, indent=1, allow_nan=False) + "\n")
    _replace(folder / "tables.md", markdown(title, cells, published, chosen, notes))
    return content


def markdown(
    title: str,
    cells: Sequence[Cell],
    published: Sequence[Cell],
    chosen: Sequence[Mapping[str, Any]] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return the tables as Markdown: our mean ± standard error, and the paper's beside it."""
    lines = [
        f"# {title}",
        "",
        "Ours: mean ± standard error over the folds. Paper: as printed there. Horizons: quantiles of the event times.",
        "",
        *(f"- *{name}*: {meaning}." for name, meaning in _SELECTIONS.items()),
        *(f"- {text}" for text in notes),
    ]
    for heading, table in _tables(cells):
        lines += ["", f"## {heading}", "", *_table(table, published)]
    if any(one["candidates"] > 1 for one in chosen):
        lines += ["", "## Settings chosen", "", *_chosen(chosen)]
    told = _verdicts(verdicts(cells, published))
    lines += ["", "## Verdicts", "", *told] if told else []
    return "\n".join(lines) + "\n"


def _tables(cells: Sequence[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    """Yield the cells of each table with its heading."""
    places = dict.fromkeys((cell.data, cell.censoring, cell.measure, cell.event) for cell in cells)
    several = {data: len({cell.event for cell in cells if cell.data == data}) > 1 for data, *_ in places}
    order = list(_TITLES)
    for data, censoring, measure, event in sorted(places, key=lambda p: (p[0], p[1], order.index(p[2]), p[3])):
        heading = f"{data}: {_TITLES[measure]}" + (f", event {event}" if several[data] else "")
        if censoring:
            heading += f", {censoring:.0%} of the training events censored"
        own = (data, censoring, measure, event)
        yield heading, [cell for cell in cells if (cell.data, cell.censoring, cell.measure, cell.event) == own]


def _table(cells: Sequence[Cell], published: Sequence[Cell]) -> list[str]:
    horizons = sorted({cell.horizon for cell in cells})
    here = {place(cell) for cell in cells}
    papers = by_place(cell for cell in published if place(cell) in here)
    rows = dict.fromkeys((cell.model, cell.selection) for cell in cells)
    ours = {(cell.model, cell.selection, cell.horizon): cell for cell in cells}
    beside = " | paper" if papers else ""
    heads = ["value"] if cells[0].measure in _TIMELESS else [f"{q:.0%}" for q in horizons]
    lines = [
        "| model | selection | " + " | ".join(head + beside for head in heads) + " |",
        "|---|---|" + "---|" * len(horizons) * (2 if papers else 1),
    ]
    for model, selection in rows:
        shown = []
        for horizon in horizons:
            cell = ours.get((model, selection, horizon))
            paper = papers.get((model, place(cell))) if cell else None
            shown += [_number(cell), _number(paper)] if papers else [_number(cell)]
        lines.append(f"| {model} | {selection} | " + " | ".join(shown) + " |")
    return lines


def _number(cell: Cell | None) -> str:
    if cell is None or math.isnan(cell.mean):
        return ""
    digits = _DIGITS.get(cell.measure, 4)
    return f"{cell.mean:.{digits}f}" + ("" if math.isnan(cell.error) else f" ± {cell.error:.{digits}f}")


def _chosen(chosen: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = ["| data | model | censored | selection | of | settings by fold |", "|---|---|---|---|---|---|"]
    for one in chosen:
        if one["candidates"] > 1:
            settings = "; ".join(", ".join(f"{k} {v}" for k, v in setting.items()) for setting in one["settings"])
            lines.append(
                f"| {one['data']} | {one['model']} | {one['censoring']:.0%} | {one['selection']} | "
                f"{one['candidates']} | {settings} |"
            )
    return lines


def _verdicts(found: Mapping[str, Any]) -> list[str]:
    lines = []
    if found["dsm"]["cells"]:
        lines.append(_line("DSM within two combined standard errors of the paper's", found["dsm"]))
    best = found["lifemix_paper"]
    if best["cells"]:
        behind = len(best["below_by_more_than_one_error"])
        lines.append(_line("lifemix above the paper's DSM", best) + f"; below by more than one error in {behind}")
    for rival, share in found["lifemix_rivals"].items():
        behind = len(share["significantly_behind"])
        lines.append(_line(f"lifemix ahead of {rival}, paired", share) + f"; significantly behind in {behind}")
    return lines


def _line(what: str, share: Mapping[str, Any]) -> str:
    return f"- {what}: {share['holds']} of {share['cells']} cells ({share['share']:.0%})"


def _plain(value: Any) -> Any:
    """Return what JSON can hold: NaN becomes null, long numbers are cut."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.8g}") if math.isfinite(value) else None
    return value


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)
