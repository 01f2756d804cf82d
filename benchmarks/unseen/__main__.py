"""Run models on the tables, keep a record per table, fold and model, and show them side by side."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lifemix.splits import EventStratifiedKFold

from ..harness import RESULTS, one_thread
from .models import MODELS
from .scores import fold_scores
from .tables import CHOOSING, CONFIRMING, load_table

SETS = {"choosing": CHOOSING, "confirming": CONFIRMING}


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unseen", description=__doc__)
    parser.add_argument("set", choices=SETS, help="which tables")
    parser.add_argument("--models", default=",".join(MODELS), help="names, separated by commas")
    parser.add_argument("--tables", help="only these tables")
    parser.add_argument("--folds", type=int, default=3, help="how many of the five folds")
    parser.add_argument("--against", default="ridge", help="the model that others are compared with")
    parser.add_argument("--out", type=Path, help="file of records, one JSON per line")
    parser.add_argument("--show", action="store_true", help="only show what is recorded")
    options = parser.parse_args()
    path = options.out or RESULTS / f"unseen-{options.set}.jsonl"
    names = options.tables.split(",") if options.tables else SETS[options.set]
    models = options.models.split(",")
    one_thread()
    if not options.show:
        run(path, names, models, options.folds)
    show(records(path, names, models), options.against)


def run(path: Path, names: Any, models: list[str], folds: int) -> None:
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
                    record |= fold_scores(MODELS[model](competing, fold), table.X, table.y, train, test)
                except Exception as error:  # noqa: BLE001 - a model that fails is a result
                    record["error"] = f"{type(error).__name__}: {error}"[:300]
                with path.open("a") as file:
                    file.write(json.dumps(record) + "\n")


def records(path: Path, names: Any, models: list[str]) -> pd.DataFrame:
    """Return the records of these tables and models."""
    frame = pd.DataFrame(_read(path))
    return frame[frame["table"].isin(names) & frame["model"].isin(models)]


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def show(frame: pd.DataFrame, against: str) -> None:
    """Print mean scores per table, and every model against one."""
    from scipy.stats import wilcoxon

    pd.set_option("display.width", 250)
    for score, better in (("ibs", -1), ("c", 1), ("ici", -1)):
        means = frame.pivot_table(index="table", columns="model", values=score, sort=False)
        if score == "ibs" and "marginal" in means:
            skill = 100 * (1 - means.div(means["marginal"], axis=0))
            print("\nskill: 100 (1 - IBS / IBS without covariates)\n", skill.round(1).to_string(), sep="")
            print("mean", skill.mean().round(2).to_dict())
        else:
            print(f"\n{score}\n", means.round(4).to_string(), sep="")
            print("mean", means.mean().round(4).to_dict())
        ranks = (-better * means).rank(axis=1)
        print("mean rank", ranks.mean().round(2).to_dict())
        if against in means:
            for model in means.columns.drop(against):
                gap = better * (means[model] - means[against]).dropna()
                worst = (gap / means[against]).min()
                p = wilcoxon(gap).pvalue if len(gap) > 5 and np.any(gap) else np.nan
                print(
                    f"  {model} against {against}: ahead in {int((gap > 0).sum())} of {len(gap)}, "
                    f"p = {p:.4f}, worst {100 * worst:.1f} %"
                )
    print("\nseconds of a fit", frame.groupby("model")["fit_seconds"].mean().round(1).to_dict())
    if "error" in frame and frame["error"].notna().any():
        print(frame[frame["error"].notna()][["table", "model", "fold", "error"]].to_string())


if __name__ == "__main__":
    main()
