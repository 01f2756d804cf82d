"""Run the comparison: ``python -m benchmarks.pbc [--repeats 2] [--splits 5]``; ``--report`` writes the docs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..auton import CACHE
from ..harness import machine, one_thread, result_path, save
from .data import load
from .report import write_report
from .study import FOLDS, VISIT_MODELS, landmark_fold, landmark_table, visit_split

_RECORDS = CACHE / "pbc"


def _kept(name: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return a record that is there already, or compute and keep it."""
    path: Path = _RECORDS / f"{name}.json"
    if not path.is_file():
        _RECORDS.mkdir(parents=True, exist_ok=True)
        partly = path.with_suffix(".partly")
        partly.write_text(json.dumps(compute()), encoding="utf-8")
        partly.rename(path)
        print(name, flush=True)
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.pbc", description=__doc__.split(":")[0]
    )
    parser.add_argument("--repeats", type=int, default=2, help="repeats of the five folds")
    parser.add_argument(
        "--splits", type=int, default=5, help="random splits of the comparison by visit"
    )
    parser.add_argument("--quick", action="store_true", help="one repeat, one split, kept apart")
    parser.add_argument(
        "--report", action="store_true", help="only write the kept numbers into docs/histories.md"
    )
    options = parser.parse_args()
    if options.report:
        print(f"written: {write_report().name}")
        return
    one_thread()
    cohort, facts = load(), machine()
    repeats, splits = (1, 1) if options.quick else (options.repeats, options.splits)
    folds = [
        _kept(
            f"fold-{repeat}-{fold}",
            lambda repeat=repeat, fold=fold: landmark_fold(cohort, repeat, fold),
        )
        for repeat in range(repeats)
        for fold in range(FOLDS)
    ]
    visits = [
        _kept(f"split-{seed}-{place}", lambda seed=seed, name=name: visit_split(cohort, seed, name))
        for seed in range(splits)
        for place, name in enumerate(VISIT_MODELS)
    ]
    results = {
        "landmarks": landmark_table(cohort, folds),
        "repeats": repeats,
        "visits": visits,
        "seconds": {
            name: float(np.mean([fold["seconds"][name] for fold in folds]))
            for name in folds[0]["seconds"]
        },
    }
    print(f"written: {save('pbc', options.quick, facts, results).name}")
    if result_path("pbc", False, "json").is_file():
        write_report()


if __name__ == "__main__":
    main()
