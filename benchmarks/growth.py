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

from lifemix import DeepSurvivalMachines, datasets
from lifemix.estimators.settings import ONE_NETWORK

from .harness import Call, Table, alternate, clock, in_new_process, one_thread, simulate

EPOCHS, N_ROWS, N_COLUMNS = 2, 5_000, 20
FIXED_EPOCHS = {"max_epochs": EPOCHS, "patience": EPOCHS, "preprocessor": None}
COLUMNS = (10, 30, 100, 300, 1000)
COMPONENTS = (1, 2, 4, 8, 16)
MODELS = (1, 2, 4, 8, 16, 32, 64)


def run(quick: bool) -> list[Table]:
    """Return a table by rows, one by each setting, one of numbers of parameters."""
    columns, components, models = {}, {}, {}
    for n_columns in COLUMNS:
        X, y = simulate(N_ROWS, n_columns)
        columns[n_columns] = partial(make_model().fit, X, y)
    X, y = simulate(N_ROWS, N_COLUMNS)
    for k in COMPONENTS:
        components[k] = partial(make_model(k=k).fit, X, y)
    for n_members in MODELS:
        models[n_members] = partial(make_model(n_members=n_members).fit, X, y)
    return [
        rows_table(quick),
        size_table("columns", columns, quick),
        size_table("components", components, quick),
        size_table("models", models, quick),
        parameter_table(),
    ]


def make_model(**settings: Any) -> DeepSurvivalMachines:
    """Return a model that trains for a fixed number of epochs."""
    return DeepSurvivalMachines(**{**ONE_NETWORK, **FIXED_EPOCHS, **settings})


def fit_rows(n_rows: int) -> dict[str, Any]:
    """Fit once to so many rows: seconds and bytes of the data."""
    one_thread()
    X, y = simulate(n_rows, N_COLUMNS)
    model = make_model()
    seconds = clock(lambda: model.fit(X, y))
    return {**seconds, "data": X.nbytes + y.nbytes}


def rows_table(quick: bool) -> Table:
    """Fit 1,000 to 1,000,000 rows."""
    sizes, repeats = [1_000, 10_000, 100_000], 1
    if not quick:
        sizes, repeats = [*sizes, 300_000, 1_000_000], 3
    rows = []
    previous_n_rows, previous_seconds = 0, 0.0
    for n_rows in sizes:
        runs = [in_new_process("growth", "fit_rows", n_rows) for _ in range(repeats)]
        fastest = min(runs, key=lambda timing: timing["wall"])
        seconds = fastest["wall"]
        exponent = None
        if previous_n_rows:
            log_ratio = np.log(seconds / previous_seconds)
            exponent = float(log_ratio / np.log(n_rows / previous_n_rows))
        previous_n_rows, previous_seconds = n_rows, seconds
        data = fastest["data"] / 1e6
        memory = fastest["peak_memory"] / 1e6
        per_row = 1e6 * seconds / n_rows
        row = [n_rows, seconds, per_row, exponent, data, memory, memory / data]
        rows.append(row)
    columns = ["rows", "seconds", "µs per row", "exponent", "data, MB", "peak beyond import, MB"]
    title = f"Fit time and memory by rows ({EPOCHS} epochs, {N_COLUMNS} columns)"
    note = "exponent: of time in rows against the line above (1 is linear)."
    return Table(title, [*columns, "times the data"], rows, note)


def size_table(name: str, fits: dict[int, Call], quick: bool) -> Table:
    """Run fits of growing size."""
    timings = alternate(fits, repeats=1 if quick else 5)
    smallest = timings[min(fits)]["wall"]
    rows = []
    for size, timing in timings.items():
        seconds = timing["wall"]
        rows.append([size, seconds, seconds / smallest, seconds / size])
    title = f"Fit time by {name} ({EPOCHS} epochs, {N_ROWS:,} rows)"
    return Table(title, [name, "seconds", "times the smallest", "seconds each"], rows)


def parameter_table() -> Table:
    """Count the parameters of each model on the paper's two data sets, after one epoch of training."""
    # Not imported at the top: the memory of fit_rows is measured beyond the imports.
    from lifemix.baselines import DeepHit, DeepSurv

    counts: dict[str, list[int]] = {"inputs": []}
    for data in (datasets.load_support(), datasets.load_metabric()):
        X, y = data.X[:1000], data.y[:1000]
        for k in (4, 8):
            mixture = DeepSurvivalMachines.paper(k=k, max_epochs=1).fit(X, y)
            counts.setdefault(f"DSM, K = {k}", []).append(mixture.n_parameters_)
        n_inputs = mixture.preprocessor_.transform(X).shape[1]
        counts["inputs"].append(n_inputs)
        for peer in (DeepSurv, DeepHit):
            model = peer.paper(data.name.lower(), max_epochs=1)
            model.fit(X, y)
            n_parameters = sum(values.numel() for values in model.network_.parameters())
            counts.setdefault(peer.__name__, []).append(n_parameters)
    rows = [[name, *sizes] for name, sizes in counts.items()]
    title = "Number of parameters (hidden layer of 100 for DSM)"
    return Table(title, ["", "SUPPORT", "METABRIC"], rows)
