"""Prediction for 100,000 rows at 100 times: seconds and peak memory, against auton-survival's ``predict_survival``.

Simulated rows with 30 covariates; K = 4, one hidden layer of 100, Weibull. The models were trained for one epoch, which
does not matter for the time. auton-survival has no quantiles and no cumulative incidences; for two event types it
gives the net survival of each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lifemix import DeepSurvivalMachines

from .auton import AutonDSM
from .harness import Table, alternate, clock, in_new_process, one_thread, simulate

TIMES = np.linspace(0.01, 3, 100)
N_COLUMNS = 30
# Each case with the case of auton-survival that it is compared with.
CASES = {
    "survival": "auton-survival, survival",
    "9 quantiles": None,
    "two events, survival": None,
    "two events, both incidences": "auton-survival, two events, both net survivals",
    "auton-survival, survival": None,
    "auton-survival, two events, both net survivals": None,
}


def run(quick: bool) -> list[Table]:
    """Return one row per case."""
    n_rows = 10_000 if quick else 100_000
    X, _ = simulate(n_rows, N_COLUMNS, seed=1)
    calls = {case: partial(make_prediction(case), X) for case in CASES}
    seconds = alternate(calls, repeats=2 if quick else 3)
    rows = []
    for case, rival in CASES.items():
        ratio = cpu_ratio = None
        if rival is not None:
            ratio = seconds[rival]["wall"] / seconds[case]["wall"]
            cpu_ratio = seconds[rival]["cpu"] / seconds[case]["cpu"]
        memory = in_new_process("predict", "predict_once", case, n_rows)
        row = [case, seconds[case]["wall"], ratio, cpu_ratio]
        row += [memory["peak_memory"] / 1e6, memory["data"] / 1e6]
        rows.append(row)
    columns = ["", "seconds", "times faster", "(CPU)", "peak MB beyond the import"]
    columns.append("of it inputs and predictions, MB")
    title = f"Prediction of {n_rows:,} rows x {len(TIMES)} times"
    note = "Both incidences are compared with both net survivals, which are less work."
    return [Table(title, columns, rows, note)]


def make_prediction(case: str) -> Callable[[np.ndarray], Any]:
    """Fit a model for one epoch and return the function to measure."""
    n_events = 2 if "two events" in case else 1
    X, y = simulate(2000, N_COLUMNS, n_events)
    if case.startswith("auton-survival"):
        predict = AutonDSM(max_epochs=1).fit(X, y).predict_survival_function
        events = range(1, n_events + 1)
        return lambda X: [predict(X, TIMES, event) for event in events]
    model = DeepSurvivalMachines(hidden=(100,), n_members=1, max_epochs=1, preprocessor=None)
    model.fit(X, y)
    if case == "9 quantiles":
        probabilities = np.arange(1, 10) / 10
        return lambda X: model.predict_distribution(X).quantile(probabilities)
    if case == "two events, both incidences":
        return lambda X: model.predict_distribution(X).cumulative_incidences(TIMES)
    return lambda X: model.predict_survival_function(X, TIMES)


def predict_once(case: str, n_rows: int) -> dict[str, Any]:
    """Predict once: seconds, and bytes of inputs and predictions."""
    one_thread()
    predict = make_prediction(case)
    X, _ = simulate(n_rows, N_COLUMNS, seed=1)
    predictions: list[Any] = []
    seconds = clock(lambda: predictions.append(predict(X)))
    return {**seconds, "data": X.nbytes + np.asarray(predictions).nbytes}
