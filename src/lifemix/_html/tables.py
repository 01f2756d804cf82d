"""Tables of numbers: caption, units, errors, the best of a column marked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from ..errors import SettingError
from .pieces import Html, safe

__all__ = ["TableColumn", "Entry", "Value", "table"]

MISSING = "–"


@dataclass(frozen=True)
class TableColumn:
    """What a column holds.

    digits: decimals of its numbers. best: which of its numbers is marked (among rows with ``Value.ranked``).
    group: columns next to each other with the same group share a heading above their own.
    text: words, set to the left. signed: a plus sign before positive numbers.
    """

    title: object
    unit: str = ""
    digits: int = 3
    best: Literal["max", "min"] | None = None
    group: object = ""
    text: bool = False
    signed: bool = False


@dataclass(frozen=True)
class Value:
    """A number of a table; ``suffix`` follows it, ``note`` is a small second line under it, ``mark`` colours both.

    ranked: False leaves the number out of the choice of the best one. digits: decimals other than the column's.
    """

    number: float
    error: float | None = None
    note: object = ""
    mark: Literal["", "good", "bad"] = ""
    ranked: bool = True
    suffix: str = ""
    digits: int | None = None


Entry = Value | float | str | None


def table(
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[Entry]],
    caption: object,
    foot: object = "",
) -> Html:
    """Return a table that scrolls sideways where the screen is narrow; the first column names the row.

    rows: one entry per column: a number, a ``Value``, text, or None where there is none. NaN reads as none.
    """
    for number, row in enumerate(rows):
        if len(row) != len(columns):
            raise SettingError(
                f"row {number} has {len(row)} entries for {len(columns)} columns. Give None for a gap."
            )
    best = [_best(column, [row[i] for row in rows]) for i, column in enumerate(columns)]
    body = "".join(
        "<tr>" + "".join(map(_cell, columns, row, best, [True] + [False] * len(row))) + "</tr>"
        for row in rows
    )
    end = f'<p class="foot">{safe(foot)}</p>' if foot else ""
    return Html(
        f'<div class="table"><div class="scroll" tabindex="0" role="group" aria-label="table, scrolls sideways"><table>'
        f"<caption>{safe(caption)}</caption><thead>{_head(columns)}</thead><tbody>{body}</tbody></table></div>{end}</div>"
    )


def _head(columns: Sequence[TableColumn]) -> str:
    groups = ""
    if any(column.group for column in columns):
        runs = [
            (group, len(list(run)))
            for group, run in groupby(columns, key=lambda column: column.group)
        ]
        scope = 'scope="colgroup" class="group"'
        groups = "".join(
            f"<th {scope} colspan={n}>{safe(group)}</th>" if group else f"<td colspan={n}></td>"
            for group, n in runs
        )
        groups = f"<tr>{groups}</tr>"
    titles = ""
    for column in columns:
        unit = f' <span class="unit">{safe(column.unit)}</span>' if column.unit else ""
        titles += f'<th scope="col"{_align(column)}>{safe(column.title)}{unit}</th>'
    return f"{groups}<tr>{titles}</tr>"


def _align(column: TableColumn) -> str:
    return ' class="text"' if column.text else ""


def _number(entry: Entry) -> float:
    """Return the number of an entry, NaN for text and gaps."""
    if isinstance(entry, Value):
        return entry.number
    return math.nan if entry is None or isinstance(entry, str) else float(entry)


def _best(column: TableColumn, entries: Sequence[Entry]) -> str | None:
    """Return the best number of a column as it is printed, so that ties in print are marked alike."""
    ranked = [_number(entry) for entry in entries if not isinstance(entry, Value) or entry.ranked]
    ranked = [number for number in ranked if math.isfinite(number)]
    if column.best is None or len(ranked) < 2:
        return None
    return _print(max(ranked) if column.best == "max" else min(ranked), column.digits)


def _print(number: float, digits: int) -> str:
    if math.isnan(number):
        return MISSING
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    return f"{number:,.{digits}f}".replace("-", "−")


def _cell(column: TableColumn, entry: Entry, best: str | None, first: bool) -> str:
    tag, scope = ("th", ' scope="row"') if first else ("td", "")
    if isinstance(entry, str):
        return f"<{tag}{scope}{_align(column)}>{safe(entry)}</{tag}>"
    value = entry if isinstance(entry, Value) else Value(_number(entry))
    digits = column.digits if value.digits is None else value.digits
    shown = _print(value.number, digits)
    content = f"+{shown}" if column.signed and value.number > 0 else shown
    if value.error is not None and math.isfinite(value.error):
        content += f'<span class="error"> ± {_print(value.error, digits)}</span>'
    if shown == best and value.ranked:
        content = f'<strong class="best">{content}</strong>'
    if value.suffix:
        content += f' <span class="suffix {value.mark}">{safe(value.suffix)}</span>'
    if value.note:
        content += f'<small class="under {value.mark}">{safe(value.note)}</small>'
    return f"<{tag}{scope}{_align(column)}>{content}</{tag}>"
