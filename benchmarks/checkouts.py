"""CPU time of this checkout relative to another one: ``python -m benchmarks.checkouts OLD [--only WORD]``.

Each checkout runs in a process of its own, one thread; the processes take turns case by case, so that a busy machine
slows both. Only the public API that both checkouts have is used. The ratio is that of the least CPU seconds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .harness import Table

ROOT = Path(__file__).parent.parent


def cases() -> dict[str, Callable[[], Callable[[], Any]]]:
    """Return, by name, functions that prepare a case and return the call to measure."""
    import numpy as np

    from lifemix import DeepSurvivalMachines, datasets, make_target, metrics

    support, metabric = datasets.load_support(), datasets.load_metabric()
    X, y = metabric.X, metabric.y
    times = np.quantile(y["time"], np.linspace(0.05, 0.95, 50))
    time, event = np.maximum(y["time"], 0.1), y["event"].astype(int)
    two_events = make_target(time, event * (1 + np.arange(len(y)) % 2))
    short = DeepSurvivalMachines(max_epochs=5, patience=5)

    def fit(model: Any, X: Any, y: Any) -> Callable[[], Callable[[], Any]]:
        return lambda: lambda: model.fit(X, y)

    def predict(name: str, y: Any, rows: slice = slice(None), **options: Any) -> Any:
        def prepare() -> Callable[[], Any]:
            distribution = short.fit(X, y).predict_distribution(X[rows])
            return lambda: getattr(distribution, name)(times, **options)

        return prepare

    def one_row() -> Callable[[], Any]:
        model = short.fit(support.X, support.y)
        row = support.X.iloc[:1]
        return lambda: [model.predict_survival_function(row, [365.0]) for _ in range(50)]

    def concordance() -> Callable[[], Any]:
        rng = np.random.default_rng(0)
        risk = rng.normal(size=20_000)
        target = make_target(rng.exponential(np.exp(-risk)) + 1e-3, rng.random(20_000) < 0.7)
        noisy = risk + rng.normal(size=20_000)
        return lambda: metrics.concordance_td(target, target, noisy, 1.0)

    def brier() -> Callable[[], Any]:
        survival = np.exp(-np.outer(np.ones(len(time)), times / times[-1]))
        target = make_target(time, event)
        return lambda: metrics.integrated_brier_score(target, target, survival, times)

    late = make_target(time, event, entry=time * 0.3)
    interval = make_target(time, event, upper=np.where(event > 0, time * 1.2, time))
    both = make_target(time, two_events["event"], upper=np.where(event > 0, time * 1.2, time))
    return {
        "fit, METABRIC, default": fit(DeepSurvivalMachines(), X, y),
        "fit, SUPPORT, default": fit(DeepSurvivalMachines(), support.X, support.y),
        "fit, late entry": fit(short, X, late),
        "fit, intervals": fit(short, X, interval),
        "fit, intervals, two events": fit(short, X, both),
        "fit, spline": fit(DeepSurvivalMachines(primitive="spline", max_epochs=5), X, y),
        "fit, generalised gamma": fit(
            DeepSurvivalMachines(primitive="generalised_gamma", n_members=1, max_epochs=5), X, y
        ),
        "survival, 50 times": predict("survival", y),
        "incidences, two events, 50 times": predict("cumulative_incidences", two_events),
        "quantiles": lambda: (
            lambda distribution: lambda: distribution.quantile([0.25, 0.5, 0.75])
        )(short.fit(X, y).predict_distribution(X)),
        "50 x one SUPPORT row": one_row,
        "search, paper's grid on METABRIC": search_paper_grid,
        "concordance, 20,000 rows": concordance,
        "integrated Brier score": brier,
    }


def search_paper_grid() -> Callable[[], Any]:
    """Prepare ``FleetSearchCV`` on the paper's grid of 72 settings with three folds."""
    from lifemix import DeepSurvivalMachines, FleetSearchCV, datasets

    grid = {
        "learning_rate": [1e-3, 1e-4],
        "k": [4, 6, 8],
        "discount": [0.5, 0.75, 1.0],
        "hidden": [(50,), (100,)],
        "primitive": ["weibull", "lognormal"],
    }
    data = datasets.load_metabric()
    estimator = DeepSurvivalMachines.paper(batch_size=100, max_epochs=30, patience=3)
    search = FleetSearchCV(estimator, grid, cv=3, refit=False)
    return lambda: search.fit(data.X, data.y)


def work() -> None:
    """Read names of cases from standard input; answer each with the CPU seconds of one more call."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    prepare, calls = cases(), {}
    print(*prepare, sep="\t", flush=True)
    for line in sys.stdin:
        name = line.rstrip("\n")
        if name not in calls:
            calls[name] = prepare[name]()
        start = time.process_time()
        calls[name]()
        print(time.process_time() - start, flush=True)


def start(checkout: Path) -> subprocess.Popen[str]:
    """Start the process that measures a checkout."""
    path = os.pathsep.join([str((checkout / "src").resolve()), str(ROOT)])
    code = "from benchmarks.checkouts import work; work()"
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def measure(process: subprocess.Popen[str], name: str) -> float:
    """Return the CPU seconds of one call in a process."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{name}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def main() -> None:
    """Read the command line, run both checkouts and print the ratios."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkouts", description=__doc__)
    parser.add_argument("old", type=Path, help="folder of the checkout to compare with")
    parser.add_argument("--only", default="", metavar="WORD", help="cases whose name contains it")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    processes = {"old": start(options.old), "new": start(ROOT)}
    names = [process.stdout.readline().rstrip("\n").split("\t") for process in processes.values()]
    rows = []
    for name in names[1]:
        if options.only not in name:
            continue
        seconds: dict[str, list[float]] = {"old": [], "new": []}
        for _ in range(options.repeats):
            for checkout, process in processes.items():
                seconds[checkout].append(measure(process, name))
        old, new = min(seconds["old"]), min(seconds["new"])
        rows.append([name, old, new, new / old])
        print(f"{name}: {new:.4g} s, {new / old:.2f} times the old time", flush=True)
    print(Table("CPU seconds", ["", "old", "new", "new / old"], rows).text())


if __name__ == "__main__":
    main()
