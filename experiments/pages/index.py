"""The index of the pages in a folder, made from what each page says about itself in its head."""

from __future__ import annotations

import json
import os
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from .pieces import Html, Page, bullets, code, link, note, paragraph

__all__ = ["META", "summary_of", "write_index"]

META = "lifemix-experiment"
ORDER = ("support", "metabric", "synthetic", "seer", "standins", "transfer", "scaling")


class _Finder(HTMLParser):
    """Finds the summary of a page in its head."""

    found: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at the names and values in the head."""
        values = dict(attrs)
        if tag == "meta" and values.get("name") == META:
            self.found = values.get("content")


def summary_of(path: Path) -> dict[str, Any] | None:
    """Return what a page says about itself; None where it is not one of ours."""
    finder = _Finder()
    finder.feed(path.read_text(encoding="utf-8").split("</head>", 1)[0])
    try:
        found = json.loads(finder.found or "null")
    except json.JSONDecodeError:
        return None
    return (
        found
        if isinstance(found, dict) and {"title", "run", "command", "findings"} <= set(found)
        else None
    )


def write_index(folder: str | os.PathLike[str]) -> Path:
    """Write ``index.html`` over all pages of experiments in a folder, and return its path."""
    folder = Path(folder)
    pages = {path: summary_of(path) for path in folder.glob("*.html") if path.name != "index.html"}
    page = Page(
        "Deep Survival Machines: the paper’s experiments reproduced",
        lead="Our numbers beside the published ones.",
    )
    for path in sorted(pages, key=_order):
        summary = pages[path]
        if summary is not None:
            page.add(summary["title"], *_entry(path, summary))
    return page.write(folder / "index.html")


def _order(path: Path) -> tuple[int, str]:
    """Return the place of a page: the paper's order, a quick run after the full one."""
    first = path.stem.split("-")[0]
    return (ORDER.index(first) if first in ORDER else len(ORDER), path.stem)


def _entry(path: Path, summary: dict[str, Any]) -> list[Html]:
    blocks = []
    if summary["run"] != "full":
        blocks.append(
            note(
                "A quick run, with fewer settings and folds: a preview, not a result.",
                kind="warning",
            )
        )
    if summary["findings"]:
        blocks.append(bullets(summary["findings"]))
    made = [", made by ", code(summary["command"]), "."]
    blocks.append(paragraph(link("Tables and figures", path.name), *made))
    return blocks
