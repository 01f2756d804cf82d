"""Run benchmarks: ``python -m benchmarks [NAME ...] [--quick]``; ``--report`` writes the numbers into the docs."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from .harness import machine, one_thread, result_path, save
from .tables import Table, plot_ratios, ratio_tables

NAMES = ("step", "predict", "metrics", "growth", "fit", "grid", "odd", "incidence", "preparation")


def run_benchmark(name: str, quick: bool) -> None:
    """Run one, print its tables, keep its numbers and its plot."""
    module = import_module(f".{name}", __package__)
    one_thread()
    facts = machine()
    results = module.run(quick)
    for table in tables_of(module, results):
        print(f"\n{table.text()}", flush=True)
    written = [save(name, quick, facts, results), _draw(name, quick, module, results)]
    print(
        f"\nwritten: {', '.join(path.name for path in written)} in benchmarks/results\n", flush=True
    )


def tables_of(module: Any, results: Any) -> list[Table]:
    """Return the tables of a benchmark; one without a form of its own is a list of ratios."""
    return getattr(module, "tables", ratio_tables)(results)


def _draw(name: str, quick: bool, module: Any, results: Any) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    getattr(module, "plot", plot_ratios)(results, figure)
    path = result_path(name, quick, "png")
    figure.savefig(path, dpi=100)
    return path


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.split(":")[0])
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"which ones; all if none is named: {', '.join(NAMES)}",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="smaller runs, minutes at most, kept apart as NAME.quick",
    )
    parser.add_argument(
        "--report", action="store_true", help="only write the kept numbers into docs/performance.md"
    )
    options = parser.parse_args()
    unknown = set(options.names) - set(NAMES)
    if unknown:
        parser.error(
            f"unknown benchmark {', '.join(sorted(unknown))}; expected some of {', '.join(NAMES)}"
        )
    if options.report:
        from .report import write_report

        print(f"written: {write_report().name}")
        return
    for name in options.names or NAMES:
        print(f"== {name}", flush=True)
        run_benchmark(name, options.quick)


if __name__ == "__main__":
    main()
