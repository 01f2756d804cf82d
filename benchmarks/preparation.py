"""What stands around training: preprocessing, the work before the first epoch, the model file, many levels and causes.

python -m benchmarks.preparation [--quick]

Every task runs in a process of its own, a short one three times; the least processor time counts, and the peak of
memory beyond the import. With the environment variable LIFEMIX_BEFORE, the folder ``src`` of another checkout, that
version takes turns with this one (not in the tables of growth with causes and levels, where it would take hours).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lifemix import DeepSurvivalMachines, baselines, datasets, make_target, save
from lifemix.estimators.preparation import TrainingSet, prepare
from lifemix.preprocessing import TabularPreprocessor

from .harness import Timing, clock, main_of, one_thread
from .tables import Table

__all__ = ["plot", "run", "tables"]

BEFORE = "LIFEMIX_BEFORE"
BASELINES = ("KaplanMeier", "CoxPH", "CauseSpecific", "GradientBoosting")
ROWS, SIZES = (500, 10_000), {"causes": (2, 10, 50), "levels": (10, 1_000, 10_000)}
_TURNS, _SHORT = 3, 10.0  # a task is repeated while it has taken fewer seconds


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
    prepare(model, TrainingSet(X[:1000], y[:1000]))
    return _result(clock(lambda: prepare(model, TrainingSet(X, y))))


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
    turns = [
        clock(lambda: [model.predict_survival_function(row, times) for row in rows])
        for _ in range(3)
    ]
    return _result(min(turns, key=lambda turn: turn.cpu), 1 / len(rows))


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
    """Fit three epochs to a column of many levels, and predict and score the same rows."""
    one_thread()
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"level": rng.integers(0, count, n).astype(str), "a": rng.standard_normal(n)})
    model = DeepSurvivalMachines(max_epochs=3, preprocessor=TabularPreprocessor(max_levels=count))
    y = _drawn(n, 1)[1]
    fitted = clock(lambda: model.fit(X, y))
    predicted = clock(lambda: model.predict_survival_function(X, [0.5, 1.0]))
    scored = clock(lambda: model.score(X, y))
    found = X["level"].nunique()
    return {
        "cpu": fitted.cpu,
        "predict": predicted.cpu,
        "score": scored.cpu,
        "inputs": found,
        "size": None,
    }


def causes(n: int, count: int) -> dict[str, Any]:
    """Fit three epochs to many causes, predict the incidence of each at two times, and score."""
    one_thread()
    X, y = _of_causes(n, count)
    model = DeepSurvivalMachines(max_epochs=3)
    warnings.simplefilter("ignore")
    fitted = clock(lambda: model.fit(X, y))
    predicted = clock(lambda: _incidences(model, X, count))
    scored = clock(lambda: model.score(X, y))
    return {
        "cpu": fitted.cpu,
        "predict": predicted.cpu,
        "score": scored.cpu,
        "inputs": count,
        "size": None,
    }


def all_of_causes(n: int, count: int) -> dict[str, Any]:
    """Return the processor time of the three together."""
    found = causes(n, count)
    return {"cpu": found["cpu"] + found["predict"] + found["score"], "size": None}


def _incidences(model: Any, X: Any, count: int) -> Any:
    if hasattr(model, "predict_cumulative_incidences"):
        return model.predict_cumulative_incidences(X, [0.5, 1.0])
    return [
        model.predict_cumulative_incidence(X, [0.5, 1.0], event=event)
        for event in range(1, count + 1)
    ]


def repeated(function: str, arguments: list[Any]) -> dict[str, Any]:
    """Do a task once, or three times if it is short; return what the quickest gave."""
    task, found, began = globals()[function], [], time.perf_counter()
    while not found or (len(found) < _TURNS and time.perf_counter() - began < _SHORT):
        found.append(task(*arguments))
    return {
        key: min(one[key] for one in found) if found[0][key] is not None else None
        for key in found[0]
    }


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
    d, causes = (500, 5) if quick else (5_000, 50)
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
        **{
            f"saving a {name} of {n // 10:,} rows": ("baseline_file", [n // 10, name])
            for name in BASELINES
        },
        f"fit, incidences, score of {causes} causes, 500 rows": ("all_of_causes", [500, causes]),
    }


def run(quick: bool) -> dict[str, Any]:
    """Run all tasks with every version, and those of growth with this one."""
    own = str(Path(__file__).parent.parent / "src")
    sources = {"before": os.environ[BEFORE]} if os.environ.get(BEFORE) else {}
    sources["now"] = own
    found: dict[str, Any] = {"tasks": {}, **{name: {} for name in SIZES}}
    for title, (function, arguments) in tasks(quick).items():
        runs = {name: _in_version(source, function, arguments) for name, source in sources.items()}
        found["tasks"][title] = {name: run for name, run in runs.items() if run is not None}
    for name, counts in SIZES.items():
        for n in ROWS[:1] if quick else ROWS:
            for count in counts[:2] if quick else counts:
                found[name][f"{n} {count}"] = _in_version(own, name, [n, count])
    return found


def _in_version(source: str, function: str, arguments: list[Any]) -> dict[str, Any] | None:
    """Run a task in a process of its own that imports lifemix from a folder; None where an older version fails."""
    root = str(Path(__file__).parent.parent)
    path = os.pathsep.join([source, root, *filter(None, sys.path)])
    command = [
        sys.executable,
        "-m",
        "benchmarks.memory",
        "preparation",
        "repeated",
        json.dumps([function, arguments]),
    ]
    environment = {**os.environ, "PYTHONPATH": path}
    older = source == os.environ.get(BEFORE)
    done = subprocess.run(
        command, check=not older, stdout=subprocess.PIPE, text=True, env=environment, cwd=root
    )
    return None if done.returncode else json.loads(done.stdout.splitlines()[-1])


def tables(results: dict[str, Any]) -> list[Table]:
    """Return the tasks, and how cost grows with causes and with levels."""
    return [_task_table(results["tasks"]), *(_size_table(name, results[name]) for name in SIZES)]


def _beyond(found: dict[str, Any]) -> float:
    return (found["peak_memory"] - found["memory_after_import"]) / 1e6


def _task_table(results: dict[str, Any]) -> Table:
    names = ["before", "now"] if any("before" in found for found in results.values()) else ["now"]
    heads = [
        f"{what}, {name}"
        for what in ("CPU ms", "peak MB beyond import", "file, kB")
        for name in names
    ]
    rows = []
    for title, found in results.items():
        runs = [found.get(name) for name in names]
        seconds = [run and run["cpu"] * 1e3 for run in runs]
        sizes = [run["size"] / 1e3 if run and run["size"] else None for run in runs]
        ratio = [seconds[0] / seconds[1] if seconds[0] else None] if len(names) > 1 else []
        rows.append([title, *seconds, *[run and _beyond(run) for run in runs], *sizes, *ratio])
    ratio_head = ["times faster"] if len(names) > 1 else []
    note = "The memory includes the data of the task. A dash: the version before cannot do it, or writes no file."
    return Table("Around training", ["", *heads, *ratio_head], rows, note)


def _size_table(name: str, results: dict[str, Any]) -> Table:
    rows = []
    for size, found in results.items():
        n, count = map(int, size.split())
        fitted, predicted, scored = (found[part] * 1e3 for part in ("cpu", "predict", "score"))
        each = [value / found["inputs"] for value in (fitted, predicted, scored)]
        rows.append([n, count, found["inputs"], fitted, predicted, scored, *each, _beyond(found)])
    what = "incidences" if name == "causes" else "survival"
    times = ["fit, ms", f"{what}, ms", "score, ms"]
    columns = [
        "rows",
        name,
        "of them in the rows",
        *times,
        *(f"{part} each" for part in times),
        "peak MB beyond import",
    ]
    note = "CPU time; three epochs, predictions at two times; each: over the number in the rows."
    return Table(f"Growth with {name}", columns, rows, note)


def plot(results: dict[str, Any], figure: Any) -> None:
    """Show the processor time of every task."""
    ax = figure.subplots()
    results = results["tasks"]
    for offset, name in enumerate(("before", "now")):
        places = np.arange(len(results)) + 0.3 * offset
        seconds = [found[name]["cpu"] if name in found else np.nan for found in results.values()]
        ax.barh(places, seconds, height=0.3, label=name)
    ax.set(xscale="log", xlabel="seconds of processor time")
    ax.set_yticks(np.arange(len(results)), list(results))
    ax.legend()


if __name__ == "__main__":
    main_of("preparation", __doc__)
