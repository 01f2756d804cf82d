"""The package's docstrings, plain text with one line a parameter, as lists for the API reference.

``name: meaning`` where the name is one of the signature begins an item; lines that go on in mid-sentence belong to it.
A line of its own above indented lines is a heading. Everything outside double backticks is taken literally.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

_LITERAL = re.compile(r"(``.+?``)")
_HEADING = re.compile(r"[A-Z][a-z]+")


def to_rst(lines: list[str], names: set[str]) -> list[str]:
    """Return a docstring as reStructuredText; ``names`` are the parameters."""
    result: list[str] = []
    for block in _blocks(lines):
        for kind, text in _pieces(_headed(block), names):
            if kind != "item" and result or (kind == "item" and result and not result[-1].startswith("* ")):
                result.append("")
            result.append(("* " if kind in ("item", "bullet") else "") + text)
        result.append("")
    return result


def _blocks(lines: list[str]) -> list[list[str]]:
    """Return the lines between blank lines."""
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            blocks[-1].append(line.rstrip())
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def _headed(block: list[str]) -> list[tuple[bool, str]]:
    """Return the lines without indentation, each with whether it is a heading."""
    following = [*block[1:], ""]
    return [
        (bool(_HEADING.fullmatch(line)) and after.startswith(" "), line.strip())
        for line, after in zip(block, following, strict=True)
    ]


def _pieces(lines: list[tuple[bool, str]], names: set[str]) -> list[tuple[str, str]]:
    """Return headings, items and paragraphs in order, as (kind, text)."""
    pieces: list[tuple[str, str]] = []
    for heading, line in lines:
        kind = "heading" if heading else _kind(line, names)
        goes_on = pieces and pieces[-1][0] != "heading" and (pieces[-1][0] == "text" or pieces[-1][1][-1] not in ".;")
        if kind == "text" and goes_on:
            pieces[-1] = (pieces[-1][0], f"{pieces[-1][1]} {line}")
        else:
            pieces.append((kind, line.removeprefix("- ") if kind == "bullet" else line))
    return [
        (kind, _markup(kind, part))
        for kind, text in pieces
        for part in (_split_items(text, names) if kind == "item" else [text])
    ]


def _kind(line: str, names: set[str]) -> str:
    if line.startswith("- "):
        return "bullet"
    return "item" if _item(line, names) else "text"


def _item(text: str, names: set[str]) -> re.Match[str] | None:
    """Match ``name: `` or ``name, name: `` at the beginning, where all the names are parameters."""
    found = re.match(r"([A-Za-z_]\w*(?:(?:, | and )[A-Za-z_]\w*)*): ", text)
    return found if found and set(re.split(", | and ", found[1])) <= names else None


def _split_items(text: str, names: set[str]) -> list[str]:
    """Split a line that describes several parameters, one sentence each."""
    starts = [found.end() for found in re.finditer(r"[.;] ", text) if _item(text[found.end() :], names)]
    edges = [0, *starts, len(text)]
    return [text[a:b].rstrip("; ") for a, b in zip(edges[:-1], edges[1:], strict=True)]


def _markup(kind: str, text: str) -> str:
    if kind == "heading":
        return f"**{text}**"
    if kind == "item":
        name, rest = text.split(": ", 1)
        return f"**{_plain(name)}**: {_plain(rest)}"
    return _plain(text)


def _plain(text: str) -> str:
    """Escape what reStructuredText would read as markup, outside double backticks."""
    parts = _LITERAL.split(text)
    return "".join(part if part.startswith("``") else re.sub(r"([\\*_`|])", r"\\\1", part) for part in parts)


def _names(thing: Any) -> set[str]:
    try:
        return set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return set()


def _process(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if not any(
        line.startswith("---")
        or line.startswith(
            (":param", ".. rubric", ":returns", ":Parameters", ".. attribute", ":Attributes:", ":raises", ":Yields")
        )
        for line in lines
    ):
        lines[:] = to_rst(lines, _names(thing))


def setup(app: Any) -> dict[str, Any]:
    """Read the package's docstrings in this way."""
    app.connect("autodoc-process-docstring", _process)
    return {"parallel_read_safe": True}
