"""One page: a title, sections with anchors, a table of contents; written whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import SettingError
from ..files import atomic_write
from .pieces import Html, link, paragraph, safe

__all__ = ["Page", "Section"]

# Nothing is fetched and nothing runs, whatever gets into a page.
STYLE = (Path(__file__).parents[1] / "templates" / "style.css").read_text(encoding="utf-8")
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
