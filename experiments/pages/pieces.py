"""Pieces of HTML for pages that are not templates yet: text is escaped, ``Html`` is not."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import lifemix
from lifemix._html import figure_uri, new_figure
from lifemix.errors import SettingError
from lifemix.files import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Entry",
    "Html",
    "Page",
    "Section",
    "TableColumn",
    "Value",
    "bullets",
    "check_figures",
    "code",
    "facts",
    "figure",
    "joined",
    "link",
    "new_figure",
    "note",
    "paragraph",
    "preformatted",
    "safe",
    "table",
]


class Html(str):
    """HTML that may go into a page as it is: made by this package, or written by you in the program itself."""

    __slots__ = ()


def safe(content: object) -> Html:
    """Return HTML as it is and anything else as escaped text."""
    return content if isinstance(content, Html) else Html(escape(str(content)))


def joined(*parts: object, by: str = "") -> Html:
    """Put pieces one after another, escaping those that are text."""
    return Html(safe(by).join(safe(part) for part in parts))


def paragraph(*parts: object) -> Html:
    """Return a paragraph of text and inline pieces."""
    return Html(f"<p>{joined(*parts)}</p>")


def code(text: object) -> Html:
    """Return a command or a name inside a sentence."""
    return Html(f"<code>{safe(text)}</code>")


def preformatted(text: object) -> Html:
    """Return a block of code or of printed text."""
    return Html(f'<pre tabindex="0"><code>{safe(text)}</code></pre>')


def link(text: object, address: str) -> Html:
    """Return a link to a section (``#anchor``), to a file beside the page, or to a page on the web."""
    scheme = address.split(":", 1)[0].lower() if ":" in address.split("/", 1)[0] else ""
    if scheme not in ("", "http", "https", "mailto"):
        raise SettingError(
            f"a link leads to a section, a file or an http(s) address; got {address!r}."
        )
    return Html(f'<a href="{escape(address)}">{safe(text)}</a>')


def bullets(items: Iterable[object]) -> Html:
    """Return a list, one point per item."""
    return Html("<ul>" + "".join(f"<li>{safe(item)}</li>" for item in items) + "</ul>")


def note(*parts: object, kind: Literal["note", "warning"] = "note") -> Html:
    """Return a remark in a box; a warning says so in words, not by colour alone."""
    if kind not in ("note", "warning"):
        raise SettingError(f"a note's kind is 'note' or 'warning'; got {kind!r}.")
    return Html(
        f'<aside class="{kind}"><strong>{kind.capitalize()}.</strong> {joined(*parts)}</aside>'
    )


def facts(values: Mapping[str, object]) -> Html:
    """Return names and what they are, one pair a line."""
    pairs = "".join(
        f"<div><dt>{safe(name)}</dt><dd>{safe(value)}</dd></div>" for name, value in values.items()
    )
    return Html(f'<dl class="facts">{pairs}</dl>')


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


# Nothing is fetched and nothing runs, whatever gets into a page.
STYLE = (Path(lifemix.__file__).with_name("templates") / "style.css").read_text(encoding="utf-8")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass
class Section:
    """A heading and what stands under it; text that is not yet ``Html`` becomes a paragraph."""

    title: object
    blocks: list[object] = field(default_factory=list)
    anchor: str = ""
    sections: list[Section] = field(default_factory=list)

    def add(self, title: object, *blocks: object, anchor: str = "") -> Section:
        """Add a section inside this one, and return it."""
        self.sections.append(Section(title, list(blocks), anchor))
        return self.sections[-1]


@dataclass
class Page:
    """A page in the making.

    lead: the sentence under the title. foot: the last line, such as what made the page. back: a link above the title.
    meta: names and values that programs find in the head of the page, not shown.
    """

    title: str
    lead: object = ""
    foot: object = ""
    back: Html | None = None
    meta: Mapping[str, str] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)

    def add(self, title: object, *blocks: object, anchor: str = "") -> Section:
        """Add a section and return it; ``anchor`` is made from the title where none is given."""
        self.sections.append(Section(title, list(blocks), anchor))
        return self.sections[-1]

    def html(self) -> str:
        """Return the whole page."""
        anchors = _anchors(self.sections)
        body = "".join(_section(section, anchors, 2) for section in self.sections)
        contents = _contents(self.sections, anchors)
        lead = f'<div class="lead">{_block(self.lead)}</div>' if self.lead else ""
        back = f'<p class="back">{self.back}</p>' if self.back else ""
        foot = f"<footer>{_block(self.foot)}</footer>" if self.foot else ""
        meta = "".join(
            f'<meta name="{safe(name)}" content="{safe(value)}">'
            for name, value in self.meta.items()
        )
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{safe(POLICY)}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"{meta}<title>{safe(self.title)}</title><style>{STYLE}</style></head>\n<body>"
            f"<header>{back}<h1>{safe(self.title)}</h1>{lead}</header>\n"
            f'<div class="columns">{contents}<main>{body}</main></div>\n{foot}</body></html>\n'
        )

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, making its folder; a kill while writing leaves no half page there."""
        path = Path(path)
        with atomic_write(path, make_folder=True) as partial:
            partial.write_text(self.html(), encoding="utf-8")
        return path


def _block(content: object) -> Html:
    return content if isinstance(content, Html) else paragraph(content)


def _walk(sections: Sequence[Section]) -> list[Section]:
    return [inner for section in sections for inner in (section, *_walk(section.sections))]


def _anchors(sections: Sequence[Section]) -> dict[int, str]:
    """Return one anchor a section, each once in the page."""
    anchors: dict[int, str] = {}
    for section in _walk(sections):
        words = (
            re.sub(r"<[^>]*>", "", section.title)
            if isinstance(section.title, Html)
            else str(section.title)
        )
        plain = section.anchor or re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "section"
        if not re.fullmatch(r"[A-Za-z][\w.-]*|[\w-]+", plain):
            raise SettingError(
                f"an anchor has letters, digits, '.', '-' and '_' only; got {plain!r}."
            )
        anchor, number = plain, 1
        while anchor in anchors.values():
            anchor, number = f"{plain}-{number + 1}", number + 1
        anchors[id(section)] = anchor
    return anchors


def _section(section: Section, anchors: dict[int, str], level: int) -> str:
    heading = f"<h{level}>{safe(section.title)}</h{level}>"
    blocks = "".join(_block(content) for content in section.blocks)
    inner = "".join(_section(part, anchors, min(level + 1, 6)) for part in section.sections)
    return f'<section id="{anchors[id(section)]}">{heading}{blocks}{inner}</section>\n'


def _contents(sections: Sequence[Section], anchors: dict[int, str]) -> str:
    """Return the table of contents; a page of one section needs none."""
    if len(_walk(sections)) < 2:
        return ""
    return f'<nav aria-label="Contents"><h2>Contents</h2>{_entries(sections, anchors)}</nav>'


def _entries(sections: Sequence[Section], anchors: dict[int, str]) -> str:
    items = ""
    for section in sections:
        inner = _entries(section.sections, anchors) if section.sections else ""
        items += f"<li>{link(section.title, '#' + anchors[id(section)])}{inner}</li>"
    return f"<ul>{items}</ul>"


def check_figures() -> None:
    """Refuse to begin what ends with figures where they cannot be drawn."""
    new_figure()


def figure(
    drawing: Figure | Sequence[Figure],
    alt: str,
    caption: object,
    kind: Literal["svg", "png"] = "svg",
    legend: Mapping[str, tuple[str, str]] | None = None,
) -> Html:
    """Return a figure as an image with caption, on a light card so that it reads in dark mode too.

    drawing: one figure, or several small ones that stand side by side or, on a phone, one below the other.
    alt: what the picture shows, for who cannot see it. kind: ``"png"`` for very many points.
    legend: for several figures together: names, each with its colour and the character of its marker.
    The same figure gives the same bytes.
    """
    if not alt.strip():
        raise SettingError(
            "a figure needs an alternative text; got an empty one. Say what the picture shows."
        )
    drawings = list(drawing) if isinstance(drawing, Sequence) else [drawing]
    images = ""
    for number, one in enumerate(drawings, 1):
        part = f" ({number} of {len(drawings)})" if len(drawings) > 1 else ""
        images += f'<img alt="{safe(alt + part)}" src="{figure_uri(one, kind)}">'
    keys = "".join(
        f'<li><span style="color:{safe(colour)}" aria-hidden="true">{safe(sign)}</span> {safe(name)}</li>'
        for name, (colour, sign) in (legend or {}).items()
    )
    keys = f'<ul class="legend">{keys}</ul>' if keys else ""
    several = (
        "" if len(drawings) == 1 else " several pairs" if len(drawings) in (2, 4) else " several"
    )
    card = f'<div class="card">{keys}<div class="images{several}">{images}</div></div>'
    return Html(f"<figure>{card}<figcaption>{safe(caption)}</figcaption></figure>")
