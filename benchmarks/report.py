"""Write the kept numbers into docs/performance.md, between two markers; no number there is typed by hand."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from .harness import result_path

__all__ = ["write_report"]

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
BEGIN = "<!-- benchmarks: begin, written by `python -m benchmarks --report` -->"
END = "<!-- benchmarks: end -->"


def write_report(page: Path = PAGE) -> Path:
    """Replace the text between the markers by the tables of all results; a full run wins over a quick one."""
    from .__main__ import NAMES

    text = page.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(
            f"expected the two markers once each in {page.name}; put them where the numbers shall stand."
        )
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    sections = [section for name in NAMES if (section := _section(name))]
    body = (
        "\n\n".join(sections)
        or "No results yet: run `make bench`, then `python -m benchmarks --report`."
    )
    page.write_text(f"{head}{BEGIN}\n\n{body}\n\n{END}{tail}", encoding="utf-8")
    return page


def _section(name: str) -> str:
    """Return the tables of one benchmark with the facts of its run; nothing where it has not been run."""
    for quick in (False, True):
        path = result_path(name, quick, "json")
        if path.is_file():
            record = json.loads(path.read_text(encoding="utf-8"))
            return "\n\n".join([f"### {name}", _facts(record), *_tables(name, record)])
    return ""


def _tables(name: str, record: dict[str, Any]) -> list[str]:
    from .__main__ import tables_of

    module = import_module(f".{name}", __package__)
    return [table.markdown() for table in tables_of(module, record["results"])]


def _facts(record: dict[str, Any]) -> str:
    machine, versions = record["machine"], record["versions"]
    kind = "**Quick run, not the final numbers.** " if record["quick"] else ""
    packages = ", ".join(f"{package} {version}" for package, version in versions.items())
    load = (
        f", load {machine['load_before']} before the run"
        if machine.get("load_before") is not None
        else ""
    )
    threads = f"{machine['threads']} thread(s) of {machine['cores']} cores"
    return f"{kind}{record['date']}, {machine['cpu']}, {threads}{load}; {packages}."
