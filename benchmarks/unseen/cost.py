"""CPU seconds of a fit of ``LifeMix`` and of ``DeepSurvivalMachines``: ``python -m benchmarks.unseen.cost``.

SUPPORT's columns (numbers, categories, missing values) with 5,000 rows, and 12 simulated columns with 5,000 and 50,000;
one thread.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from lifemix import DeepSurvivalMachines, LifeMix, datasets, make_target

from ..harness import one_thread

__all__ = ["simulated"]


def simulated(n: int) -> tuple[Any, Any]:
    """Return 12 columns, of which some act with a bend or together, and censored times."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 12))
    scale = np.exp(0.5 * X[:, 0] - 0.5 * np.abs(X[:, 1]) + 0.4 * X[:, 2] * (X[:, 3] > 0))
    event_time, censoring = scale * rng.weibull(1.3, n), rng.uniform(0, 3, n)
    return X, make_target(np.minimum(event_time, censoring), (event_time <= censoring).astype(int))


def main() -> None:
    """Fit and print."""
    one_thread()
    support = datasets.load_support()
    tables = {"SUPPORT, 5,000 rows": (support.X[:5000], support.y[:5000])}
    tables |= {f"12 columns, {n:,} rows": simulated(n) for n in (5_000, 50_000)}
    print("| table | `DeepSurvivalMachines()` | `LifeMix()` |\n|---|---|---|")
    for name, (X, y) in tables.items():
        seconds = []
        for model in (DeepSurvivalMachines(), LifeMix()):
            start = time.process_time()
            model.fit(X, y)
            seconds.append(time.process_time() - start)
        print(f"| {name} | {seconds[0]:.1f} | {seconds[1]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
