"""How cost grows: fit time in rows, columns, components and models; peak memory; number of parameters.

python -m benchmarks.growth [--quick]

Simulated data, two epochs of batch 128 (the default), one thread, K = 4 and one hidden layer of 100 unless they vary.
Rows are varied in a process of its own each, which also gives the peak memory beyond the import; the data are what the
user hands over, X in float64 and y. The number of parameters is the paper's comparison of model sizes: the network of
the benchmarks here, and the settings that the paper (or DeepSurv's authors) published for the other two.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lifemix import DeepSurvivalMachines, datasets, make_target
from lifemix.estimators.settings import ONE_NETWORK

from .harness import alternate, clock, main_of, median, one_thread
from .memory import in_own_process
from .tables import Table

__all__ = ["fit_rows", "plot", "run", "tables"]

EPOCHS, N_ROWS, N_COLUMNS = 2, 5_000, 20
SIZES = {
    "columns": (10, 30, 100, 300, 1000),
    "components": (1, 2, 4, 8, 16),
    "models": (1, 2, 4, 8, 16, 32, 64),
}

Floats = NDArray[np.float64]


def draw(n: int, d: int) -> tuple[Floats, Any]:
    """Return covariates and Weibull times, about 40 % censored; made in blocks, so as not to need memory besides."""
    rng = np.random.default_rng(0)
    X, time, event = np.empty((n, d)), np.empty(n), np.empty(n, dtype=np.int64)
    for start in range(0, n, 10_000):
        rows = slice(start, start + 10_000)
        size = len(time[rows])
        X[rows] = rng.standard_normal((size, d))
        happens, censored = (
            np.exp(0.5 * X[rows, 0]) * rng.weibull(1.3, size),
            1.2 * rng.exponential(size=size),
        )
        time[rows], event[rows] = (
            np.maximum(np.minimum(happens, censored), 1e-6),
            happens <= censored,
        )
    return X, make_target(time, event)


def make_model(**settings: Any) -> DeepSurvivalMachines:
    """Return a model that trains for a fixed number of epochs."""
    fixed = {"max_epochs": EPOCHS, "patience": EPOCHS, "preprocessor": None}
    return DeepSurvivalMachines(**{**ONE_NETWORK, **fixed, **settings})


def fit_rows(n: int) -> dict[str, Any]:
    """Fit once to so many rows: seconds and the size of the data."""
    one_thread()
    X, y = draw(n, N_COLUMNS)
    model = make_model()
    timing = clock(lambda: model.fit(X, y))
    return {"wall": timing.wall, "cpu": timing.cpu, "data": X.nbytes + y.nbytes}


def by_rows(quick: bool) -> dict[str, Any]:
    """Fit to 1,000 to 1,000,000 rows, several times in turn; keep the fastest and its memory."""
    sizes = (
        (1_000, 10_000, 100_000)
        if quick
        else (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    )
    runs: dict[int, list[dict[str, Any]]] = {n: [] for n in sizes}
    for _ in range(1 if quick else 3):
        for n in sizes:
            runs[n].append(in_own_process("growth", "fit_rows", n))
    return {str(n): min(several, key=lambda run: run["wall"]) for n, several in runs.items()}


def by_setting(quick: bool) -> dict[str, Any]:
    """Vary columns, components and models, each alone."""
    fixed = draw(N_ROWS, N_COLUMNS)
    calls: dict[str, dict[str, Any]] = {
        "columns": {str(d): partial(make_model().fit, *draw(N_ROWS, d)) for d in SIZES["columns"]},
        "components": {str(k): partial(make_model(k=k).fit, *fixed) for k in SIZES["components"]},
        "models": {str(m): partial(make_model(n_members=m).fit, *fixed) for m in SIZES["models"]},
    }
    return {name: alternate(group, repeats=1 if quick else 5) for name, group in calls.items()}


def parameters() -> dict[str, dict[str, int]]:
    """Count the parameters of each model on the two data sets, after one epoch of training."""
    from lifemix.baselines import (
        DeepHit,
        DeepSurv,
    )  # not above: the import of this module is what memory is beyond

    counts: dict[str, dict[str, int]] = {}
    for name, loader in {
        "support": datasets.load_support,
        "metabric": datasets.load_metabric,
    }.items():
        data = loader()
        few = data.y["time"] > 0
        X, y = data.X[few][:1000], data.y[few][:1000]
        short = {"max_epochs": 1}
        ours = {
            f"DSM, K = {k}": DeepSurvivalMachines.paper(k=k, **short).fit(X, y).n_parameters_
            for k in (4, 8)
        }
        peers = {"DeepSurv": DeepSurv.paper(name, **short), "DeepHit": DeepHit.paper(name, **short)}
        counts[name.upper()] = {
            "inputs": int(
                DeepSurvivalMachines(n_members=1, max_epochs=1)
                .fit(X, y)
                .preprocessor_.transform(X)
                .shape[1]
            ),
            **ours,
            **{label: _size(model.fit(X, y).network_) for label, model in peers.items()},
        }
    return counts


def _size(network: Any) -> int:
    return sum(values.numel() for values in network.parameters())


def run(quick: bool) -> dict[str, Any]:
    """Return all of it."""
    one_thread()
    return {"rows": by_rows(quick), **by_setting(quick), "parameters": parameters()}


def tables(results: dict[str, Any]) -> list[Table]:
    """Return a table for the rows, one for each setting, one of the sizes of models."""
    return [
        _rows_table(results["rows"]),
        *[_setting_table(name, results[name]) for name in SIZES],
        _parameter_table(results["parameters"]),
    ]


def _rows_table(results: dict[str, Any]) -> Table:
    rows, before = [], None
    for n, run in results.items():
        beyond, size = run["peak_memory"] - run["memory_after_import"], run["data"]
        growth = None
        extra = None
        if before is not None:
            ratio = int(n) / before[0]
            growth = np.log(run["wall"] / before[1]) / np.log(ratio)
            extra = (beyond - before[2]) / (size - before[3])
        rows.append(
            [
                int(n),
                run["wall"],
                1e6 * run["wall"] / int(n),
                growth,
                size / 1e6,
                beyond / 1e6,
                beyond / size,
            ]
        )
        rows[-1].append(extra)
        before = int(n), run["wall"], beyond, size
    columns = [
        "rows",
        "seconds",
        "µs per row",
        "exponent",
        "data, MB",
        "peak beyond import, MB",
        "times the data",
    ]
    note = "exponent: of time in rows against the line above (1 is linear); added: memory over data, line to line."
    return Table(
        f"Fit time and memory by rows ({EPOCHS} epochs, {N_COLUMNS} columns)",
        [*columns, "added"],
        rows,
        note,
    )


def _setting_table(name: str, results: dict[str, Any]) -> Table:
    first = next(iter(results.values()))
    rows = [
        [int(size), times["wall"], times["wall"] / first["wall"], times["wall"] / int(size)]
        for size, times in results.items()
    ]
    title = f"Fit time by {name} ({EPOCHS} epochs, {N_ROWS:,} rows)"
    return Table(title, [name, "seconds", "times the first", "seconds each"], rows)


def _parameter_table(results: dict[str, dict[str, int]]) -> Table:
    labels = list(next(iter(results.values())))
    rows = [[label, *[counts[label] for counts in results.values()]] for label in labels]
    return Table("Number of parameters (hidden layer of 100 for DSM)", ["", *results], rows)


def plot(results: dict[str, Any], figure: Any) -> None:
    """Show time by rows, memory by data and time by the other sizes."""
    left, middle, right = figure.subplots(1, 3)
    runs = results["rows"]
    n = [int(size) for size in runs]
    seconds = [run["wall"] for run in runs.values()]
    left.loglog(n, seconds, "o-")
    left.loglog(
        n, median(s / m for s, m in zip(seconds, n, strict=True)) * np.array(n), ":", label="linear"
    )
    left.set(xlabel="rows", ylabel="seconds")
    left.legend()
    size = np.array([run["data"] for run in runs.values()]) / 1e6
    beyond = [(run["peak_memory"] - run["memory_after_import"]) / 1e6 for run in runs.values()]
    middle.loglog(size, beyond, "o-", label="peak beyond the import")
    middle.loglog(size, 3 * size, ":", label="3 times the data")
    middle.set(xlabel="data, MB", ylabel="MB")
    middle.legend()
    for name in SIZES:
        right.loglog(
            [int(size) for size in results[name]],
            [t["wall"] for t in results[name].values()],
            "o-",
            label=name,
        )
    right.set(xlabel="columns, components or models", ylabel="seconds")
    right.legend()


if __name__ == "__main__":
    main_of("growth", __doc__)
