"""Pieces of HTML. Whatever is not yet ``Html`` is text, and is escaped wherever it goes in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Literal

from ..errors import SettingError

__all__ = [
    "Html",
    "bullets",
    "code",
    "facts",
    "joined",
    "link",
    "note",
    "paragraph",
    "preformatted",
    "safe",
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
