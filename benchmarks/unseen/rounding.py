"""What ``rounding`` does where times are coarse: ``python -m benchmarks.unseen.rounding tables|simulated``.

tables: the choosing tables with whole-numbered times, ``rounding=1`` against ``rounding=0``; the last column of the
printed table tells what ``rounding=None`` finds.

simulated: times from a known distribution, rounded to the nearest multiple, to completed units or to begun ones; some
12 or 25 distinct values come out. Measured are the integrated Brier score and C on other rows, rounded likewise, and
the mean distance of the predicted from the true survival curves; with early stopping, and after 30 epochs of all rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lifemix import DeepSurvivalMachines, make_target
from lifemix.estimators.settings import detect_rounding
from lifemix.target import as_target

from ..harness import RESULTS, one_thread
from .comparison import by_table
from .records import Models, current, missing, open_records, run
from .scores import measure
from .tables import load_table
from .trials import compared

WHOLE = (
    "UnempDur",
    "Z243",
    "hepatoCellular",
    "NSBCD",
    "prostate",
    "prostateSurvival",
    "pharmacoSmoking",
    "vlbw",
    "acath",
    "support",
)
MODELS: dict[str, Callable[[bool, int], Any]] = {
    "dsm": lambda competing, seed: DeepSurvivalMachines(rounding=0.0, random_state=seed),
    "rounding": lambda competing, seed: DeepSurvivalMachines(rounding=1.0, random_state=seed),
}
ROUNDED: dict[str, Callable[[Any], Any]] = {
    "nearest": np.round,
    "completed": np.floor,
    "begun": np.ceil,
}
STEPS = {"12": 3.0, "25": 1.4}  # by how many distinct times there are, about
SIZES = (300, 2_000)
FITS: dict[str, dict[str, Any]] = {
    "stopped": {},
    "30 epochs": {"validation_fraction": 0.0, "max_epochs": 30},
}
TEST_ROWS = 2_000


class Simulation:
    """Weibull times whose scale and shape depend on three of five columns; half are censored, independently."""

    def __init__(self, n: int, seed: int) -> None:
        rng = np.random.default_rng([seed, n])
        self.X = rng.standard_normal((n, 5))
        self.scale = 9 * np.exp(0.6 * self.X[:, 0] - 0.5 * np.abs(self.X[:, 1]) + 0.3)
        self.shape = np.where(self.X[:, 2] > 0, 1.6, 0.9)
        self.time = self.scale * rng.weibull(1, n) ** (1 / self.shape)
        self.censored = rng.uniform(0, 40, n)

    def survival(self, times: Any) -> Any:
        """Return the true curves."""
        return np.exp(-((np.asarray(times) / self.scale[:, None]) ** self.shape[:, None]))

    def target(self, step: float, rounded: Callable[[Any], Any]) -> Any:
        """Return what is written down; with completed units an event can be at 0."""
        seen = np.minimum(self.time, self.censored)
        return make_target(step * rounded(seen / step), (self.time <= self.censored).astype(int))


def simulate(path: Path, seeds: int) -> pd.DataFrame:
    """Run what is not recorded yet."""
    file = open_records(path)
    done = list(file.records)
    keys = {tuple(one[name] for name in ("n", "steps", "rounded", "seed")) for one in done}
    for n in SIZES:
        for steps, step in STEPS.items():
            for rounded in ROUNDED:
                for seed in range(seeds):
                    if (n, steps, rounded, seed) in keys:
                        continue
                    place = {"n": n, "steps": steps, "rounded": rounded, "seed": seed}
                    found = [one | place for one in _all(n, step, rounded, seed)]
                    file.append(found)
                    done += found
    return pd.DataFrame(done)


def _all(n: int, step: float, rounded: str, seed: int) -> list[dict[str, Any]]:
    train, test = Simulation(n, seed), Simulation(TEST_ROWS, 1_000 + seed)
    y, y_test = (one.target(step, ROUNDED[rounded]) for one in (train, test))
    grid = np.linspace(*np.quantile(train.time, [0.05, 0.8]), 60)
    found = []
    for (fit, options), rounding in product(FITS.items(), (0.0, step)):
        start = time.process_time()
        model = DeepSurvivalMachines(rounding=rounding, random_state=seed, **options).fit(
            train.X, y
        )
        one: dict[str, Any] = {"fit_seconds": time.process_time() - start}
        one |= {
            "fit": fit,
            "model": "exact" if rounding == 0 else "steps",
            "step": model.settings_["rounding"],
        }
        one["distance"] = float(
            np.abs(model.predict_survival_function(test.X, grid) - test.survival(grid)).mean()
        )
        scores = measure(model, test.X, y, y_test)
        found.append(one | {name: scores[name] for name in ("ibs", "c")})
    return found


def _show_simulated(frame: pd.DataFrame) -> None:
    cells = ["fit", "rounded", "steps", "n"]
    wide = frame.pivot_table(
        index=[*cells, "seed"], columns="model", values=["distance", "ibs", "c", "fit_seconds"]
    )
    mean = wide.groupby(cells, sort=False).mean()
    gap = wide["distance"]["steps"] - wide["distance"]["exact"]
    mean["closer in"] = (gap < 0).groupby(cells, sort=False).sum()
    mean["of"] = gap.groupby(cells, sort=False).size()
    print(mean.round(4).to_string())


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.unseen.rounding", description=__doc__
    )
    parser.add_argument("which", choices=("tables", "simulated"))
    parser.add_argument("--show", action="store_true", help="only show what is recorded")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    one_thread()
    pd.set_option("display.width", 250, "display.max_columns", 20)
    path = RESULTS / f"unseen-rounding-{options.which}.jsonl"
    if options.which == "simulated":
        _show_simulated(simulate(path, 0 if options.show else options.seeds))
        return
    models = Models(MODELS, dict.fromkeys(MODELS, "1"))
    run(path, [] if options.show else missing(path, WHOLE, MODELS, 3, known=models), models=models)
    frame = current(path, WHOLE, MODELS, models)
    for score in ("ibs", "c", "log_likelihood", "fit_seconds"):
        means = by_table(frame, score).round(4)
        means["found"] = [
            detect_rounding(as_target(load_table(str(name)).y)) for name in means.index
        ]
        print(f"\n{score}\n", means.to_string(), sep="")
    print("", compared(frame).round(4).to_string(index=False), sep="\n")


if __name__ == "__main__":
    main()
