"""Run models on the tables, keep a record per table, fold and model, and show them side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from ..harness import RESULTS, one_thread
from .comparison import by_table, with_failures
from .models import MODELS
from .page import markdown, write_page
from .records import FOLDS, current, missing, run, stale
from .tables import CHOOSING, CONFIRMING

SETS = {"choosing": CHOOSING, "confirming": CONFIRMING}
SHOWN = [name for name in MODELS if name not in ("cox", "tuned")]


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unseen", description=__doc__)
    parser.add_argument("set", choices=SETS, help="which tables")
    parser.add_argument("--models", default=",".join(SHOWN), help="names, separated by commas")
    parser.add_argument("--tables", help="only these tables")
    parser.add_argument(
        "--folds",
        type=int,
        default=3,
        choices=range(1, FOLDS + 1),
        help="how many of the five folds",
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=1,
        help="how often to split anew, with new seeds of the models",
    )
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--out", type=Path, help="file of records, one JSON per line")
    parser.add_argument("--show", action="store_true", help="only show what is recorded")
    parser.add_argument(
        "--report", action="store_true", help="only write what is recorded into the documentation"
    )
    options = parser.parse_args()
    path = options.out or RESULTS / f"unseen-{options.set}.jsonl"
    names = options.tables.split(",") if options.tables else SETS[options.set]
    models = options.models.split(",")
    one_thread()
    if options.report:
        print(write_page(with_failures(current(path, names, models)), options.set))
        return
    if not options.show:
        run(path, missing(path, names, models, options.folds, options.repeats), options.jobs)
    for model, count in stale(path).items():
        print(f"{count} records of another version of {model} are left out")
    show(with_failures(current(path, names, models)))


def show(frame: pd.DataFrame) -> None:
    """Print the scores of each table, then what is in the documentation."""
    pd.set_option("display.width", 250)
    for score in ("ibs", "c"):
        print(f"\n{score}\n", by_table(frame, score).round(4).to_string(), sep="")
    print("", markdown(frame), sep="\n")


if __name__ == "__main__":
    main()
