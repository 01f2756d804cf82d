"""What rows that are neither exact nor right-censored cost: whole fits against that of the plain table.

python -m benchmarks.odd [--quick]

A simulated table of 20 columns, a fixed number of epochs, one thread; one model and eight members. All fits of a number
of rows take turns, so that slow minutes of the machine are those of all, and the ratio is of their best CPU seconds: of
40 turns at 600 rows (20 epochs; short fits, which other work disturbs most), of 12 turns at 8,000 rows (4 epochs).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lifemix import DeepSurvivalMachines, make_target

from .harness import alternate, main_of, one_thread
from .tables import Table

__all__ = ["plot", "run", "tables"]

KINDS = (
    "plain",
    "one event at 0",
    "one late",
    "one interval",
    "all late",
    "all intervals",
    "t_max",
)
EPOCHS = {600: 20, 8_000: 4}
TURNS = {600: 40, 8_000: 12}


def table_of(kind: str, n: int, events: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    time = rng.weibull(1.3, n) * 10 * np.exp(0.5 * X[:, 0]) + 0.01
    event, entry, upper = rng.integers(0, events + 1, n), np.zeros(n), np.full(n, np.nan)
    if kind == "one event at 0":
        time[0], event[0] = 0, 1
    elif kind == "one late":
        entry[0] = time[0] / 2
    elif kind == "one interval":
        event[0], upper[0] = 1, 1.5 * time[0]
    elif kind == "all late":
        entry = time * rng.uniform(0.1, 0.9, n)
    elif kind == "all intervals":
        event, upper = rng.integers(1, events + 1, n), 1.5 * time
    return X, make_target(time, event, entry=entry, upper=upper)


def fit(primitive: str, members: int, kind: str, X: np.ndarray, y: np.ndarray) -> None:
    """Fit a model for a fixed number of epochs."""
    limit = 1e4 if kind == "t_max" else None
    settings = {
        "n_members": members,
        "dropout": 0.0,
        "learning_rate": 1e-3,
        "max_epochs": EPOCHS[len(X)],
        "patience": 99,
        "batch_size": 100,
    }
    DeepSurvivalMachines(primitive, k=4, hidden=(100,), t_max=limit, **settings).fit(X, y)


def run(quick: bool) -> dict[str, Any]:
    """Return the seconds of every kind, by case."""
    one_thread()
    results: dict[str, Any] = {}
    for n in EPOCHS:
        times = alternate(_calls(n, quick), repeats=2 if quick else TURNS[n])
        for (case, kind), seconds in times.items():
            results.setdefault(case, {})[kind] = seconds
    return results


def _calls(n: int, quick: bool) -> dict[tuple[str, str], Callable[[], None]]:
    """Return the fits of a number of rows by case and kind."""
    calls: dict[tuple[str, str], Callable[[], None]] = {}
    for primitive in ("weibull",) if quick else ("weibull", "lognormal"):
        for members, events in ((1, 1), (8, 1), (1, 2)):
            case = f"{n:,} rows, {primitive}, {members} member(s), {events} event(s)"
            for kind in KINDS:
                if events == 1 or kind != "all intervals":
                    calls[case, kind] = partial(
                        fit, primitive, members, kind, *table_of(kind, n, events)
                    )
    return calls


def tables(results: dict[str, Any]) -> list[Table]:
    """Return the ratios, one row per case."""
    rows = [
        [
            case,
            times["plain"]["cpu"],
            *[times[k]["cpu"] / times["plain"]["cpu"] if k in times else None for k in KINDS[1:]],
        ]
        for case, times in results.items()
    ]
    note = "All intervals of two risks are left out: the likelihood of such a row is an integral."
    return [Table("Odd rows: times the plain table", ["", "plain, s", *KINDS[1:]], rows, note)]


def plot(results: dict[str, Any], figure: Any) -> None:
    """Show the ratios as points, one line per case."""
    axes = figure.subplots()
    (table,) = tables(results)
    places = np.arange(len(table.rows))
    for column, (kind, marker) in enumerate(zip(KINDS[1:], "ov^sDP", strict=True), 2):
        ratios = [np.nan if row[column] is None else row[column] for row in table.rows]
        axes.plot(ratios, places, marker, markersize=5, label=kind)
    axes.set(yticks=places, xlabel="CPU seconds, times the plain table")
    axes.set_yticklabels([row[0] for row in table.rows], fontsize=8)
    axes.invert_yaxis()
    axes.axvline(1, color="0.4", linewidth=0.8)
    axes.grid(axis="y", color="0.9")
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)


if __name__ == "__main__":
    main_of("odd", __doc__)
