"""How much scores depend on the random seed at 500 rows: ``python -m benchmarks.unseen.seeds``.

The default of now, one network as in version 0.2, and LifeMix are fitted to the same 500 rows with ten seeds each;
shown are the mean and the standard deviation of the integrated Brier score and of C on other rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lifemix import DeepSurvivalMachines, LifeMix
from lifemix.estimators.settings import ONE_NETWORK

from ..harness import one_thread
from .scores import fold_scores
from .tables import load_table

MODELS: dict[str, Callable[[int], Any]] = {
    "one network (0.2)": lambda seed: DeepSurvivalMachines(**ONE_NETWORK, random_state=seed),
    "DeepSurvivalMachines()": lambda seed: DeepSurvivalMachines(random_state=seed),
    "LifeMix()": lambda seed: LifeMix(random_state=seed),
}
TABLES = ("metabric", "Framingham", "UnempDur")
SEEDS = 10
ROWS = 500


def main() -> None:
    """Fit and print."""
    one_thread()
    for name in TABLES:
        table = load_table(name)
        order = np.random.default_rng(0).permutation(len(table.y))
        train, test = order[:ROWS], order[ROWS:]
        for model, make in MODELS.items():
            found = [
                fold_scores(make(seed), table.X, table.y, train, test) for seed in range(SEEDS)
            ]
            ibs, c = (np.array([one[score] for one in found]) for score in ("ibs", "c"))
            print(
                f"{name:12s} {model:24s} IBS {ibs.mean():.4f}, deviation {ibs.std(ddof=1):.5f}   "
                f"C {c.mean():.4f}, deviation {c.std(ddof=1):.5f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
