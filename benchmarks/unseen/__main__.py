"""Run models on the tables, keep a record per table, fold and model, and show them side by side."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lifemix.splits import EventStratifiedKFold

from ..harness import RESULTS, one_thread
from .comparison import by_table
from .models import MODELS
from .page import markdown, write_page
from .scores import fold_scores
from .tables import CHOOSING, CONFIRMING, load_table

Maker = Callable[[bool, int], Any]
SETS = {"choosing": CHOOSING, "confirming": CONFIRMING}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unseen", description=__doc__)
    parser.add_argument("set", choices=SETS, help="which tables")
    parser.add_argument("--models", default=",".join(MODELS), help="names, separated by commas")
    parser.add_argument("--tables", help="only these tables")
    parser.add_argument("--folds", type=int, default=3, help="how many of the five folds")
    parser.add_argument("--out", type=Path, help="file of records, one JSON per line")
    parser.add_argument("--show", action="store_true", help="only show what is recorded")
    parser.add_argument("--report", action="store_true", help="only write what is recorded into the documentation")
    options = parser.parse_args()
    path = options.out or RESULTS / f"unseen-{options.set}.jsonl"
    names = options.tables.split(",") if options.tables else SETS[options.set]
    models = options.models.split(",")
    one_thread()
    if options.report:
        print(write_page(records(path, names, models)))
        return
    if not options.show:
        run(path, names, models, options.folds)
    show(records(path, names, models))


def run(path: Path, names: Any, models: list[str], folds: int, makers: Mapping[str, Maker] = MODELS) -> None:
    """Compute what is not recorded yet."""
    done = {(r["table"], r["model"], r["fold"]) for r in _read(path)}
    for name in names:
        table = load_table(name)
        competing = int(table.y["event"].max()) > 1
        splits = list(EventStratifiedKFold(5, random_state=0).split(table.X, table.y))[:folds]
        for model in models:
            for fold, (train, test) in enumerate(splits):
                if (name, model, fold) in done:
                    continue
                record: dict[str, Any] = {"table": name, "model": model, "fold": fold}
                try:
                    record |= fold_scores(makers[model](competing, fold), table.X, table.y, train, test)
                except Exception as error:  # noqa: BLE001 - a model that fails is a result
                    record["error"] = f"{type(error).__name__}: {error}"[:300]
                with path.open("a") as file:
                    file.write(json.dumps(record) + "\n")


def records(path: Path, names: Any, models: list[str]) -> pd.DataFrame:
    """Return the records of these tables and models."""
    frame = pd.DataFrame(_read(path))
    frame = frame.drop_duplicates(["table", "model", "fold"], keep="last")
    return frame[frame["table"].isin(names) & frame["model"].isin(models)]


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def show(frame: pd.DataFrame) -> None:
    """Print the scores of each table, then what is in the documentation."""
    pd.set_option("display.width", 250)
    for score in ("ibs", "c"):
        print(f"\n{score}\n", by_table(frame, score).round(4).to_string(), sep="")
    print("", markdown(frame), sep="\n")


if __name__ == "__main__":
    main()
