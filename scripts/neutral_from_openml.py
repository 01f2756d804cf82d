"""Make the folder of ``lifemix reproduce neutral`` from tables of OpenML.

    python scripts/neutral_from_openml.py 46100 46101 --time time --status status -o FOLDER

needs a network: every number is a data set of OpenML, fetched by scikit-learn, whose cache is used. Folds are
stratified by the status, three unless told otherwise. ``scores.csv`` has the published scores; bring them along, or
start from the empty file that is written here.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from sklearn.datasets import fetch_openml

from lifemix import make_target
from lifemix.splits import EventStratifiedKFold

CENSORED = ("0", "false", "no", "alive", "censored")


def write_table(data_id: int, folder: Path, time: str, status: str, n_folds: int, cache: str | None = None) -> str:
    """Fetch one data set, and write its table and its folds; return its name."""
    found = fetch_openml(data_id=data_id, as_frame=True, parser="liac-arff", data_home=cache)
    frame = found.frame
    missing = [column for column in (time, status) if column not in frame.columns]
    if missing:
        raise SystemExit(f"data set {data_id} has no column {', '.join(missing)}; it has {', '.join(frame.columns)}.")
    name = found.details["name"].replace("/", "-")
    event = _as_status(frame[status])
    table = frame.drop(columns=[time, status]).assign(time=pd.to_numeric(frame[time]), status=event)
    table = table[table["time"] > 0].reset_index(drop=True)
    splitter = EventStratifiedKFold(n_folds, random_state=0)
    y = make_target(table["time"].to_numpy(float), table["status"].to_numpy(int))
    folds = [
        {"fold": number, "row": int(row)} for number, (_, test) in enumerate(splitter.split(table, y)) for row in test
    ]
    for part, rows in (("tables", table), ("folds", pd.DataFrame(folds))):
        (folder / part).mkdir(parents=True, exist_ok=True)
        rows.to_csv(folder / part / f"{name}.csv", index=False)
    return name


def _as_status(column: pd.Series) -> pd.Series:
    """Return 1 for an event and 0 for censored, from numbers or from words."""
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().all():
        return (numbers > 0).astype(int)
    return (~column.astype(str).str.lower().isin(CENSORED)).astype(int)


def main(words: Sequence[str] | None = None) -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="+", type=int, metavar="ID")
    parser.add_argument("--time", default="time")
    parser.add_argument("--status", default="status")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--cache", help="folder of scikit-learn's cache")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args(words)
    for number in options.ids:
        name = write_table(number, options.output, options.time, options.status, options.folds, options.cache)
        print(f"{number}: {name}")
    scores = options.output / "scores.csv"
    if not scores.exists():
        scores.write_text("table,learner,measure,value\n", encoding="utf-8")


if __name__ == "__main__":
    main()
