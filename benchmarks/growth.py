"""How cost grows: fit time with rows, columns, components and models; peak memory; number of parameters.

Simulated data, two epochs of batch 128, K = 4 and one hidden layer of 100 unless they vary. Each number of rows runs in
a process of its own, which also gives the peak memory beyond the import; "data" is what the user hands over, X in
float64 and y. The number of parameters compares the network of these benchmarks with published settings of DeepSurv
and DeepHit.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from lifemix import DeepSurvivalMachines, datasets, make_target
from lifemix._types import FloatArray
from lifemix.estimators.settings import ONE_NETWORK

from .harness import Table, alternate, clock, in_new_process, one_thread

EPOCHS, N_ROWS, N_COLUMNS = 2, 5_000, 20
SIZES = {
    "columns": (10, 30, 100, 300, 1000),
    "components": (1, 2, 4, 8, 16),
    "models": (1, 2, 4, 8, 16, 32, 64),
}


def run(quick: bool) -> list[Table]:
    """Return a table by rows, one by each setting, one of numbers of parameters."""
    return [rows_table(quick), *[setting_table(name, quick) for name in SIZES], parameter_table()]


def draw(n_rows: int, n_columns: int) -> tuple[FloatArray, Any]:
    """Return covariates and Weibull times, about 40 % censored."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    event_time = np.exp(0.5 * X[:, 0]) * rng.weibull(1.3, n_rows)
    censoring = 1.2 * rng.exponential(size=n_rows)
    time = np.maximum(np.minimum(event_time, censoring), 1e-6)
    return X, make_target(time, event_time <= censoring)


def make_model(**settings: Any) -> DeepSurvivalMachines:
    """Return a model that trains for a fixed number of epochs."""
    fixed = {"max_epochs": EPOCHS, "patience": EPOCHS, "preprocessor": None}
    return DeepSurvivalMachines(**{**ONE_NETWORK, **fixed, **settings})


def fit_rows(n_rows: int) -> dict[str, Any]:
    """Fit once to so many rows: seconds and bytes of the data."""
    one_thread()
    X, y = draw(n_rows, N_COLUMNS)
    model = make_model()
    return {**clock(lambda: model.fit(X, y)), "data": X.nbytes + y.nbytes}


def rows_table(quick: bool) -> Table:
    """Fit 1,000 to 1,000,000 rows."""
    sizes = [1_000, 10_000, 100_000] if quick else [1_000, 10_000, 100_000, 300_000, 1_000_000]
    rows: list[list[Any]] = []
    for n_rows in sizes:
        runs = [in_new_process("growth", "fit_rows", n_rows) for _ in range(1 if quick else 3)]
        fastest = min(runs, key=lambda timing: timing["wall"])
        seconds, data, memory = fastest["wall"], fastest["data"], fastest["peak_memory"]
        exponent = None
        if rows:
            exponent = float(np.log(seconds / rows[-1][1]) / np.log(n_rows / rows[-1][0]))
        per_row = 1e6 * seconds / n_rows
        rows.append([n_rows, seconds, per_row, exponent, data / 1e6, memory / 1e6, memory / data])
    columns = ["rows", "seconds", "µs per row", "exponent", "data, MB", "peak beyond import, MB"]
    title = f"Fit time and memory by rows ({EPOCHS} epochs, {N_COLUMNS} columns)"
    note = "exponent: of time in rows against the line above (1 is linear)."
    return Table(title, [*columns, "times the data"], rows, note)


def setting_table(name: str, quick: bool) -> Table:
    """Vary the columns, the components or the models."""
    settings = {"columns": "columns", "components": "k", "models": "n_members"}
    calls = {}
    for size in SIZES[name]:
        X, y = draw(N_ROWS, size if name == "columns" else N_COLUMNS)
        model = make_model() if name == "columns" else make_model(**{settings[name]: size})
        calls[str(size)] = partial(model.fit, X, y)
    timings = alternate(calls, repeats=1 if quick else 5)
    first = timings[str(SIZES[name][0])]["wall"]
    rows = []
    for size in SIZES[name]:
        seconds = timings[str(size)]["wall"]
        rows.append([size, seconds, seconds / first, seconds / size])
    title = f"Fit time by {name} ({EPOCHS} epochs, {N_ROWS:,} rows)"
    return Table(title, [name, "seconds", "times the first", "seconds each"], rows)


def parameter_table() -> Table:
    """Count the parameters of each model on the paper's two data sets, after one epoch of training."""
    from lifemix.baselines import (
        DeepHit,
        DeepSurv,
    )  # imported late: memory is measured beyond imports

    rows = [["inputs"], ["DSM, K = 4"], ["DSM, K = 8"], ["DeepSurv"], ["DeepHit"]]
    for data in (datasets.load_support(), datasets.load_metabric()):
        positive = data.y["time"] > 0
        X, y = data.X[positive][:1000], data.y[positive][:1000]
        mixtures = [DeepSurvivalMachines.paper(k=k, max_epochs=1).fit(X, y) for k in (4, 8)]
        peers = [
            peer.paper(data.name.lower(), max_epochs=1).fit(X, y) for peer in (DeepSurv, DeepHit)
        ]
        counts = [mixtures[0].preprocessor_.transform(X).shape[1]]
        counts += [mixture.n_parameters_ for mixture in mixtures]
        counts += [sum(values.numel() for values in peer.network_.parameters()) for peer in peers]
        for row, size in zip(rows, counts, strict=True):
            row.append(size)
    title = "Number of parameters (hidden layer of 100 for DSM)"
    return Table(title, ["", "SUPPORT", "METABRIC"], rows)
