"""What dropout gains on real tables, and what it costs where the network is narrow and the truth is known.

First: the data sets of the experiments, training part of each fold, fitted without its inner validation part, scored
on it; the differences to no dropout with their standard errors over the folds. Second: simulated times whose survival
curves are known, mean absolute error of the curves, over three samples of 2,000 rows and over one of 50,000. Markdown
tables.

Run: ``python -m experiments.dropout`` (some ten minutes on one core).
"""

from __future__ import annotations

import time

import numpy as np

from lifemix import DeepSurvivalMachines, make_target
from lifemix.estimators.settings import ONE_NETWORK

from .protocol import COMPETING, SINGLE, DataSource, Protocol, times_of
from .scores import inner_scores

SHARES = (0.0, 0.25, 0.5)
SAMPLES: tuple[tuple[int, int, tuple[int, ...]], ...] = (  # how many, of how many rows, the layers
    (3, 2_000, (10,)),
    (3, 2_000, (30,)),
    (3, 2_000, (100,)),
    (3, 2_000, (50, 50)),
    (1, 50_000, (100,)),
)
LARGE = {"batch_size": 1024, "learning_rate": 3e-3, "patience": 5}
TABLES = {
    "support": 5,
    "metabric": 10,
    "flchain": 5,
    "ebmt": 5,
    "metabric_causes": 5,
    "synthetic": 2,
}


def on_table(name: str, folds: int, share: float) -> np.ndarray:
    """Return mean C^td, mean Brier score and seconds per fit, of shape (folds, 3)."""
    single = name in ("support", "metabric")
    protocol = Protocol(DataSource(name), max(folds, 5), quantiles=SINGLE if single else COMPETING)
    found = []
    for number in range(folds):
        fold = protocol.fold(number, 0.0)
        start = time.process_time()
        model = DeepSurvivalMachines(**{**ONE_NETWORK, "dropout": share}, random_state=number).fit(
            *fold.inner_train
        )
        seconds = time.process_time() - start
        scores = inner_scores(model, fold, times_of(protocol), brier=True)
        found.append([np.nanmean(scores["ctd"]), np.nanmean(scores["brier"]), seconds])
    return np.array(found)


def simulated(
    kind: str, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return covariates, and the scale and shape of each row's Weibull distribution."""
    X = rng.normal(size=(n, 5))
    scale, shape = np.ones(n), np.full(n, 1.5)
    if kind == "linear":
        scale = np.exp(0.8 * X[:, 0] - 0.5 * X[:, 1])
    elif kind == "quadratic":
        scale = np.exp(0.7 * X[:, 0] ** 2 - 0.5 * X[:, 1] * X[:, 2])
    elif kind == "crossing":
        scale, shape = np.exp(0.5 * X[:, 0]), np.exp(0.5 * X[:, 1])
    return X, scale, shape


def error(kind: str, samples: int, n: int, hidden: tuple[int, ...], share: float) -> float:
    """Return the mean absolute error of the survival curves on new rows."""
    errors = []
    options = LARGE if n > 10_000 else {}
    for seed in range(samples):
        rng = np.random.default_rng(seed)
        X, scale, shape = simulated(kind, n, rng)
        happens = scale * rng.weibull(shape)
        censored = rng.exponential(2 * np.median(happens), len(X))
        y = make_target(np.minimum(happens, censored), happens <= censored)
        fresh, scale, shape = simulated(kind, 1000, rng)
        at = np.quantile(happens, [0.1, 0.25, 0.5, 0.75, 0.9])
        truth = np.exp(-((at / scale[:, None]) ** shape[:, None]))
        model = DeepSurvivalMachines(
            **{**ONE_NETWORK, **options, "hidden": hidden, "dropout": share}
        ).fit(X, y)
        errors.append(np.abs(model.predict_survival_function(fresh, at) - truth).mean())
    return float(np.mean(errors))


def main() -> None:
    """Print the tables."""
    print(
        "| table | dropout | C^td | difference | Brier score | difference | seconds per fit |\n"
        + "|---" * 7
        + "|"
    )
    for name, folds in TABLES.items():
        without = on_table(name, folds, 0.0)
        for share in SHARES:
            found = on_table(name, folds, share) if share else without
            gap, spread = (found - without).mean(0), (found - without).std(0, ddof=1) / folds**0.5
            cells = [
                f"{found[:, i].mean():.4f} | {gap[i]:+.4f} ± {spread[i]:.4f}" for i in range(2)
            ]
            print(
                f"| {name} | {share:g} | {' | '.join(cells)} | {found[:, 2].mean():.1f} |",
                flush=True,
            )
    heads = " | ".join(f"dropout {share:g}" for share in SHARES)
    print(f"\n| truth | rows | layers | {heads} |\n" + "|---" * 6 + "|")
    for kind in ("linear", "quadratic", "crossing"):
        for samples, n, hidden in SAMPLES:
            errors = " | ".join(f"{error(kind, samples, n, hidden, share):.4f}" for share in SHARES)
            print(f"| {kind} | {n:,} | {hidden} | {errors} |", flush=True)


if __name__ == "__main__":
    main()
