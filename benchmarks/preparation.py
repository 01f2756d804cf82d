"""What stands around training: preprocessing, the work before the first epoch, the model file, many levels and causes.

python -m benchmarks.preparation [--quick]

Every task runs in a process of its own, several times in turn; the least processor time counts, and the peak of memory
beyond the import. With the environment variable LIFEMIX_BEFORE, the folder ``src`` of another checkout, that version
takes turns with this one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lifemix import DeepSurvivalMachines, baselines, datasets, make_target, save
from lifemix.estimators.plan import make_plan
from lifemix.preprocessing import TabularPreprocessor

from .harness import Timing, clock, main_of, one_thread
from .tables import Table

__all__ = ["plot", "run", "tables"]

BEFORE = "LIFEMIX_BEFORE"
BASELINES = ("KaplanMeier", "CoxPH", "CauseSpecific", "GradientBoosting")


def _result(timing: Timing, share: float = 1.0, size: int | None = None) -> dict[str, Any]:
    return {"cpu": timing.cpu * share, "size": size}


def wide(n: int, d: int, missing: float) -> dict[str, Any]:
    """Fit and apply the preprocessor to a wide table of numbers."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    X[rng.random(X.shape) < missing] = np.nan
    TabularPreprocessor().fit_transform(X[:, :50])
    return _result(clock(lambda: TabularPreprocessor().fit_transform(X)))


def before_first_epoch(n: int, d: int) -> dict[str, Any]:
    """Plan a fit: all that is done before training."""
    one_thread()
    X, y = _drawn(n, d)
    model = DeepSurvivalMachines()
    make_plan(model, X[:1000], y[:1000])
    return _result(clock(lambda: make_plan(model, X, y)))


def one_row() -> dict[str, Any]:
    """Preprocess single rows of the raw SUPPORT table, each a DataFrame of its own."""
    X = datasets.load_support().X
    fitted = TabularPreprocessor().fit(X)
    rows = [X.iloc[i : i + 1].copy() for i in range(500)]
    fitted.transform(rows[0])
    return _result(clock(lambda: [fitted.transform(row) for row in rows]), 1 / len(rows))


def predicted_row(members: int, kind: str) -> dict[str, Any]:
    """Predict survival at three times for single rows of SUPPORT, each a table of its own."""
    one_thread()
    data = datasets.load_support()
    X = data.X if kind == "frame" else TabularPreprocessor().fit_transform(data.X)
    model = DeepSurvivalMachines(n_members=members, max_epochs=1).fit(X, data.y)
    rows = [(X.iloc[i : i + 1] if kind == "frame" else X[i : i + 1]).copy() for i in range(300)]
    times = [30.0, 90.0, 360.0]
    model.predict_survival_function(rows[0], times)
    turns = [clock(lambda: [model.predict_survival_function(row, times) for row in rows]) for _ in range(3)]
    return _result(min(turns, key=lambda turn: turn.cpu), 1 / len(rows))


def score_of_causes(n: int, count: int) -> dict[str, Any]:
    """Score a model of many causes, fitted for one epoch."""
    one_thread()
    X, y = _of_causes(n, count)
    warnings.simplefilter("ignore")
    model = DeepSurvivalMachines(max_epochs=1).fit(X, y)
    return _result(clock(lambda: model.score(X, y)))


def model_file(n: int) -> dict[str, Any]:
    """Save a linear model of one column: what the file holds beside weights."""
    one_thread()
    X, y = _drawn(n, 1)
    model = DeepSurvivalMachines(hidden=(), k=1, max_epochs=0).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        timing = clock(lambda: save(model, path))
        return _result(timing, size=path.stat().st_size)


def baseline_file(n: int, name: str) -> dict[str, Any]:
    """Save a baseline: its curves, and what the file holds beside them."""
    one_thread()
    X, y = _drawn(n, 1)
    if name == "CauseSpecific":
        y = make_target(y["time"], np.where(np.arange(n) % 2, y["event"], 2 * y["event"]))
        model = baselines.CauseSpecific(baselines.CoxPH())
    else:
        model = getattr(baselines, name)()
    model.fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        timing = clock(lambda: save(model, path))
        return _result(timing, size=path.stat().st_size)


def levels(n: int, count: int) -> dict[str, Any]:
    """Fit three epochs to a column of many levels."""
    one_thread()
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"level": rng.integers(0, count, n).astype(str), "a": rng.standard_normal(n)})
    model = DeepSurvivalMachines(max_epochs=3, preprocessor=TabularPreprocessor(max_levels=count))
    y = _drawn(n, 1)[1]
    return _result(clock(lambda: model.fit(X, y)))


def causes(n: int, count: int) -> dict[str, Any]:
    """Fit three epochs to many causes, and predict the incidence of each at two times."""
    one_thread()
    X, y = _of_causes(n, count)
    model = DeepSurvivalMachines(max_epochs=3)
    warnings.simplefilter("ignore")
    return _result(clock(lambda: model.fit(X, y).predict_cumulative_incidences(X, [0.5, 1.0])))


def _of_causes(n: int, count: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X, event = rng.standard_normal((n, 2)), rng.integers(0, count + 1, n)
    event[:count] = np.arange(1, count + 1)
    return X, make_target(rng.weibull(1.5, n) + 0.01, event)


def _drawn(n: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    happens, leaves = np.exp(0.5 * X[:, 0]) * rng.weibull(1.3, n), 1.2 * rng.exponential(size=n)
    return X, make_target(np.maximum(np.minimum(happens, leaves), 1e-6), happens <= leaves)


def tasks(quick: bool) -> dict[str, tuple[str, list[Any]]]:
    """Return the tasks by title: a function of this module and its arguments."""
    n = 50_000 if quick else 1_000_000
    d = 500 if quick else 5_000
    return {
        f"preprocessing, 1,000 x {d:,}": ("wide", [1_000, d, 0.0]),
        f"preprocessing, 1,000 x {d:,}, 1 % missing": ("wide", [1_000, d, 0.01]),
        f"preprocessing, 5,000 x {d:,}": ("wide", [5_000, d, 0.0]),
        f"before the first epoch, {n:,} x 20": ("before_first_epoch", [n, 20]),
        "preprocessing of one row, SUPPORT": ("one_row", []),
        "survival of one row, DataFrame, one network": ("predicted_row", [1, "frame"]),
        "survival of one row, array, one network": ("predicted_row", [1, "array"]),
        "survival of one row, DataFrame, 16 networks": ("predicted_row", [16, "frame"]),
        f"saving a model of {n:,} rows": ("model_file", [n]),
        **{f"saving a {name} of {n:,} rows": ("baseline_file", [n, name]) for name in BASELINES},
        "fit, 100 levels in 20,000 rows": ("levels", [20_000, 100]),
        "fit, 1,000 levels in 20,000 rows": ("levels", [20_000, 1_000]),
        **({} if quick else {"fit, 10,000 levels in 20,000 rows": ("levels", [20_000, 10_000])}),
        "fit and incidences, 5 causes, 500 rows": ("causes", [500, 5]),
        "fit and incidences, 50 causes, 500 rows": ("causes", [500, 50]),
        "score, 5 causes, 500 rows": ("score_of_causes", [500, 5]),
        "score, 50 causes, 500 rows": ("score_of_causes", [500, 50]),
    }


def run(quick: bool) -> dict[str, Any]:
    """Run all tasks in turn with every version."""
    own = str(Path(__file__).parent.parent / "src")
    sources = {"before": os.environ[BEFORE]} if os.environ.get(BEFORE) else {}
    sources["now"] = own
    found: dict[str, Any] = {}
    for title, (function, arguments) in tasks(quick).items():
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in sources}
        for _ in range(1 if quick else 3):
            for name, source in sources.items():
                runs[name].append(_in_version(source, function, arguments))
        found[title] = {name: min(several, key=lambda one: one["cpu"]) for name, several in runs.items()}
    return found


def _in_version(source: str, function: str, arguments: list[Any]) -> dict[str, Any]:
    """Run a task in a process of its own that imports lifemix from a folder."""
    root = str(Path(__file__).parent.parent)
    path = os.pathsep.join([source, root, *filter(None, sys.path)])
    command = [sys.executable, "-m", "benchmarks.memory", "preparation", function, json.dumps(arguments)]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment, cwd=root)
    return json.loads(done.stdout.splitlines()[-1])


def tables(results: dict[str, Any]) -> list[Table]:
    """Return one row per task."""
    names = list(next(iter(results.values())))
    heads = [f"{what}, {name}" for what in ("CPU ms", "peak MB beyond import", "file, kB") for name in names]
    rows = []
    for title, found in results.items():
        peaks = [(found[name]["peak_memory"] - found[name]["memory_after_import"]) / 1e6 for name in names]
        sizes = [found[name]["size"] / 1e3 if found[name]["size"] else None for name in names]
        ratio = [found["before"]["cpu"] / found["now"]["cpu"]] if "before" in found else []
        rows.append([title, *[found[name]["cpu"] * 1e3 for name in names], *peaks, *sizes, *ratio])
    ratio_head = ["times faster"] if "before" in names else []
    return [Table("Around training", ["", *heads, *ratio_head], rows, "The memory includes the data of the task.")]


def plot(results: dict[str, Any], figure: Any) -> None:
    """Show the processor time of every task."""
    ax = figure.subplots()
    for offset, name in enumerate(next(iter(results.values()))):
        places = np.arange(len(results)) + 0.3 * offset
        ax.barh(places, [found[name]["cpu"] for found in results.values()], height=0.3, label=name)
    ax.set(xscale="log", xlabel="seconds of processor time")
    ax.set_yticks(np.arange(len(results)), list(results))
    ax.legend()


if __name__ == "__main__":
    main_of("preparation", __doc__)
