"""Run benchmarks: ``python -m benchmarks [NAME ...] [--quick]``; ``--report`` writes the tables into performance.md."""

from __future__ import annotations

import argparse
import json
from importlib import import_module
from pathlib import Path
from typing import Any

from .harness import Table, machine, one_thread, result_path, save

NAMES = ("step", "predict", "latency", "metrics", "growth", "fit")
PAGE = Path(__file__).parent / "performance.md"
BEGIN = "<!-- benchmarks: begin, written by `python -m benchmarks --report` -->"
END = "<!-- benchmarks: end -->"


def run_benchmark(name: str, quick: bool) -> None:
    """Run one benchmark, print its tables and save them."""
    one_thread()
    facts = machine()
    tables = import_module(f".{name}", __package__).run(quick)
    for table in tables:
        print(f"\n{table.text()}", flush=True)
    print(f"\nwritten: benchmarks/results/{save(name, quick, facts, tables).name}\n", flush=True)


def write_report(page: Path = PAGE) -> Path:
    """Replace the text between the markers by the saved tables; a full run wins over a quick one."""
    text = page.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(
            f"{page.name} must contain each of the markers {BEGIN!r} and {END!r} once."
        )
    sections = []
    for name in NAMES:
        path = result_path(name, quick=False)
        if not path.is_file():
            path = result_path(name, quick=True)
        if path.is_file():
            record = json.loads(path.read_text(encoding="utf-8"))
            sections.append(_section(record))
    head, _, tail = text.partition(BEGIN)
    tail = tail[tail.index(END) :]
    body = "\n\n".join([BEGIN, *sections, tail])
    page.write_text(head + body, encoding="utf-8")
    return page


def _section(record: dict[str, Any]) -> str:
    """Return the tables of one benchmark with the facts of its run."""
    facts = record["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    quick = "**Quick run, not the final numbers.** " if record["quick"] else ""
    run = (
        f"{quick}{record['date']}, {facts['cpu']}, one thread of {facts['cores']} cores, "
        f"load {facts['load_before']} before the run; {packages}."
    )
    tables = [Table(**table).markdown() for table in record["tables"]]
    return "\n\n".join([f"### {record['benchmark']}", run, *tables])


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split(":")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(NAMES)}; default all")
    parser.add_argument("--quick", action="store_true", help="smaller runs, minutes at most")
    parser.add_argument(
        "--report", action="store_true", help="only write benchmarks/performance.md"
    )
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; expected {', '.join(NAMES)}")
    if options.report:
        print(f"written: {write_report().name}")
        return
    for name in options.names or NAMES:
        print(f"== {name}", flush=True)
        run_benchmark(name, options.quick)


if __name__ == "__main__":
    main()
