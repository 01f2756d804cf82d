"""Prediction for 100,000 rows at 100 times: seconds and peak memory, against auton-survival's ``predict_survival``.

python -m benchmarks.predict [--quick]

Simulated rows with 30 covariates; K = 4, one hidden layer of 100, Weibull, one thread, both with times in the unit of
the data. The models were trained for one epoch, which does not matter for the time. auton-survival has no quantiles and
no cumulative incidences; for two event types it gives the net survival of each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lifemix import DeepSurvivalMachines, make_target

from .auton import AutonDSM
from .harness import alternate, clock, main_of, one_thread
from .memory import in_own_process
from .tables import Table

__all__ = ["plot", "run", "tables", "task"]

N_COLUMNS, N_TIMES = 30, 100
OURS = {
    "survival": "lifemix: survival",
    "quantile": "lifemix: 9 quantiles",
    "two survival": "lifemix, two risks: survival",
    "two incidence": "lifemix, two risks: incidence of both",
}
THEIRS = {
    "survival": "auton-survival: survival",
    "two survival": "auton-survival, two risks: both net survivals",
}
TITLES = {f"ours {what}": title for what, title in OURS.items()}
TITLES |= {f"theirs {what}": title for what, title in THEIRS.items()}
PAIRS = {
    "survival": "survival",
    "two incidence": "two survival",
}  # what is compared with what of theirs

Floats = NDArray[np.float64]


def draw(n: int, n_events: int, seed: int = 0) -> tuple[Floats, Any]:
    """Return covariates and Weibull times with about 40 % censored."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, N_COLUMNS))
    latent = [np.exp(0.5 * X[:, event]) * rng.weibull(1.3, n) for event in range(n_events)]
    times = np.stack([1.2 * rng.exponential(size=n) * n_events**-0.7, *latent])
    return X, make_target(np.maximum(times.min(0), 1e-6), times.argmin(0))


def make_task(who: str, what: str) -> Callable[[Floats], Any]:
    """Fit a model for one epoch and return what is to be timed."""
    n_events = 2 if what.startswith("two") else 1
    X, y = draw(2000, n_events)
    times = np.linspace(0.01, 3, N_TIMES)
    if who == "theirs":
        theirs = AutonDSM(max_epochs=1).fit(X, y)
        return lambda rows: [
            theirs.predict_survival_function(rows, times, event) for event in range(1, n_events + 1)
        ]
    model = DeepSurvivalMachines(hidden=(100,), n_members=1, max_epochs=1, preprocessor=None).fit(
        X, y
    )
    if what == "quantile":
        return lambda rows: model.predict_distribution(rows).quantile(np.arange(1, 10) / 10)
    if what == "two incidence":
        return lambda rows: model.predict_distribution(rows).cumulative_incidences(times)
    return lambda rows: model.predict_survival_function(rows, times)


def task(who: str, what: str, n: int) -> dict[str, Any]:
    """Predict once, in a process of its own: seconds and bytes of the inputs and outputs."""
    one_thread()
    predict = make_task(who, what)
    X = draw(n, 1, seed=1)[0]
    results: list[Any] = []
    timing = clock(lambda: predict(X), results.append)
    size = sum(np.asarray(part).nbytes for part in results)
    return {"wall": timing.wall, "cpu": timing.cpu, "data": X.nbytes + size}


def run(quick: bool) -> dict[str, Any]:
    """Return best seconds of each task, run in turn, and their peak memory."""
    one_thread()
    n = 10_000 if quick else 100_000
    X = draw(n, 1, seed=1)[0]
    wanted = [("ours", what) for what in OURS] + [("theirs", what) for what in THEIRS]
    calls = {f"{who} {what}": partial(make_task(who, what), X) for who, what in wanted}
    slow = {name: calls.pop(name) for name in ("ours two incidence", "theirs two survival")}
    seconds = alternate(calls, repeats=3 if quick else 7) | alternate(
        slow, repeats=1 if quick else 2
    )
    memory = {
        f"{who} {what}": in_own_process("predict", "task", who, what, n) for who, what in wanted
    }
    return {"rows": n, "times": N_TIMES, "seconds": seconds, "memory": memory}


def tables(results: dict[str, Any]) -> list[Table]:
    """Return one row per task."""
    compared = {f"ours {ours}": f"theirs {theirs}" for ours, theirs in PAIRS.items()}
    rows = []
    for name, title in TITLES.items():
        times, memory = results["seconds"][name], results["memory"][name]
        other = results["seconds"].get(compared.get(name, ""))
        ratios = [other[kind] / times[kind] if other else None for kind in ("wall", "cpu")]
        beyond = (memory["peak_memory"] - memory["memory_after_import"]) / 1e6
        rows.append([title, times["wall"], *ratios, beyond, memory["data"] / 1e6])
    columns = [
        "",
        "seconds",
        "times faster",
        "(CPU)",
        "peak MB beyond the import",
        "of it inputs and result, MB",
    ]
    title = f"Prediction of {results['rows']:,} rows x {results['times']} times"
    note = "Incidence of both events is compared with both net survivals, which are less work."
    return [Table(title, columns, rows, note)]


def plot(results: dict[str, Any], figure: Any) -> None:
    """Show seconds as bars."""
    axes = figure.subplots()
    axes.barh(list(TITLES.values()), [results["seconds"][name]["wall"] for name in TITLES])
    axes.set(
        xscale="log", xlabel=f"seconds for {results['rows']:,} rows x {results['times']} times"
    )
    axes.invert_yaxis()


if __name__ == "__main__":
    main_of("predict", __doc__)
