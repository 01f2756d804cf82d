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
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from typer.testing import CliRunner

from lifemix import DeepSurvivalMachines, FleetSearchCV, cli, datasets, make_target, metrics, report

from .harness import ROOT, Call, Table, one_thread

SHORT = {"max_epochs": 5, "patience": 5}
PAPER_GRID = {
    "learning_rate": [1e-3, 1e-4],
    "k": [4, 6, 8],
    "discount": [0.5, 0.75, 1.0],
    "hidden": [(50,), (100,)],
    "primitive": ["weibull", "lognormal"],
}


def fits() -> dict[str, Call]:
    """Return fits to METABRIC with every kind of target, and the paper's search of 72 settings with three folds."""
    support, metabric = datasets.load_support(), datasets.load_metabric()
    X, y = metabric.X, metabric.y
    time = np.maximum(y["time"], 0.1)
    event = y["event"].astype(int)
    upper = np.where(event > 0, 1.2 * time, time)
    late = make_target(time, event, entry=0.3 * time)
    intervals = make_target(time, two_events(event), upper=upper)
    default = DeepSurvivalMachines()
    short = DeepSurvivalMachines(**SHORT)
    spline = DeepSurvivalMachines(primitive="spline", max_epochs=5)
    gamma = DeepSurvivalMachines(primitive="generalised_gamma", n_members=1, max_epochs=5)
    paper = DeepSurvivalMachines.paper(batch_size=100, max_epochs=30, patience=3)
    search = FleetSearchCV(paper, PAPER_GRID, cv=3, refit=False)
    return {
        "fit, METABRIC, default": partial(default.fit, X, y),
        "fit, SUPPORT, default": partial(default.fit, support.X, support.y),
        "fit, late entry": partial(short.fit, X, late),
        "fit, intervals, two events": partial(short.fit, X, intervals),
        "fit, spline": partial(spline.fit, X, y),
        "fit, generalised gamma": partial(gamma.fit, X, y),
        "search, paper's grid": partial(search.fit, X, y),
    }


def two_events(event: np.ndarray) -> np.ndarray:
    """Return event codes in which every second row has another type of event."""
    return event * (1 + np.arange(len(event)) % 2)


def time_grid(y: np.ndarray) -> np.ndarray:
    """Return 50 times."""
    return np.quantile(y["time"], np.linspace(0.05, 0.95, 50))


def predictions() -> dict[str, Call]:
    """Return predictions for METABRIC, and for single rows of SUPPORT."""
    support, metabric = datasets.load_support(), datasets.load_metabric()
    X, y = metabric.X, metabric.y
    times = time_grid(y)
    event = two_events(y["event"].astype(int))
    y_two_events = make_target(y["time"], event)
    model = DeepSurvivalMachines(**SHORT)
    single = model.fit(X, y).predict_distribution(X)
    competing = model.fit(X, y_two_events).predict_distribution(X)
    model.fit(support.X, support.y)
    row = support.X.iloc[:1]

    def predict_one_row() -> None:
        for _ in range(50):
            model.predict_survival_function(row, [365.0])

    return {
        "survival, 50 times": partial(single.survival, times),
        "incidences, two events, 50 times": partial(competing.cumulative_incidences, times),
        "quantiles": partial(single.quantile, [0.25, 0.5, 0.75]),
        "50 x one SUPPORT row": predict_one_row,
    }


def scores() -> dict[str, Call]:
    """Return the concordance of 20,000 simulated rows, and Brier scores of METABRIC."""
    rng = np.random.default_rng(0)
    risk = rng.normal(size=20_000)
    time = rng.exponential(np.exp(-risk)) + 1e-3
    target = make_target(time, rng.random(20_000) < 0.7)
    noisy_risk = risk + rng.normal(size=20_000)
    y = datasets.load_metabric().y
    times = time_grid(y)
    curve = np.exp(-times / times[-1])
    survival = np.tile(curve, (len(y), 1))
    return {
        "concordance, 20,000 rows": partial(
            metrics.concordance_td, target, target, noisy_risk, 1.0
        ),
        "integrated Brier score": partial(metrics.integrated_brier_score, y, y, survival, times),
    }


def pages_and_commands(folder: Path) -> dict[str, Call]:
    """Return the report and the calculator of a model of SUPPORT, and ``lifemix fit`` on its CSV file."""
    data = datasets.load_support()
    model = DeepSurvivalMachines(**SHORT).fit(data.X, data.y)
    event = data.y["event"].astype(int)
    table = data.X.assign(time=data.y["time"], event=event)
    table.to_csv(folder / "support.csv", index=False)
    command = ["fit", str(folder / "support.csv"), "--time", "time", "--event", "event"]
    command += ["--force", "-o", str(folder / "model.safetensors")]

    def fit_on_the_command_line(*options: str) -> None:
        result = CliRunner().invoke(cli.app, [*command, *options])
        if result.exit_code != 0:
            raise RuntimeError(result.output)

    X, y = data.X.iloc[:2000], data.y[:2000]
    return {
        "report": partial(report.write_report, model, X, y, folder / "report.html"),
        "calculator": partial(report.write_calculator, model, folder / "calculator.html"),
        "lifemix fit, SUPPORT": fit_on_the_command_line,
        "lifemix fit --model cox, SUPPORT": partial(fit_on_the_command_line, "--model", "cox"),
    }


def work() -> None:
    """Read names of cases from standard input; answer each with the CPU seconds of one more call."""
    one_thread()
    warnings.simplefilter("ignore")
    with TemporaryDirectory() as folder:
        calls = fits() | predictions() | scores()
        calls |= pages_and_commands(Path(folder))
        print(*calls, sep="\t", flush=True)
        for line in sys.stdin:
            start = time.process_time()
            calls[line.rstrip("\n")]()
            print(time.process_time() - start, flush=True)


def start(checkout: Path) -> subprocess.Popen[str]:
    """Start the process that measures a checkout."""
    source = (checkout / "src").resolve()
    path = os.pathsep.join([str(source), str(ROOT)])
    return subprocess.Popen(
        [sys.executable, "-c", "from benchmarks.checkouts import work; work()"],
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
    for process in processes.values():
        assert process.stdout is not None
        names = process.stdout.readline().rstrip("\n").split("\t")
    rows = []
    for name in names:
        if options.only not in name:
            continue
        seconds = {"old": np.inf, "new": np.inf}
        for _ in range(options.repeats):
            for checkout, process in processes.items():
                seconds[checkout] = min(seconds[checkout], measure(process, name))
        ratio = seconds["new"] / seconds["old"]
        rows.append([name, seconds["old"], seconds["new"], ratio])
        print(f"{name}: {seconds['new']:.4g} s, {ratio:.2f} times the old time", flush=True)
    table = Table("CPU seconds", ["", "old", "new", "new / old"], rows)
    print(table.text())


if __name__ == "__main__":
    main()
