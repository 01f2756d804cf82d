"""What single settings change on SUPPORT: three splits, held-out quality, one row per setting, as a Markdown table.

Run: ``python examples/settings.py`` (some minutes on one core).
"""

from __future__ import annotations

import time

import numpy as np

from lifemix import DeepSurvivalMachines, datasets, metrics
from lifemix.estimators.settings import ONE_NETWORK
from lifemix.splits import EventStratifiedKFold, horizons

VARIANTS = {
    "defaults": {},
    "`k=1`": {"k": 1},
    "`k=8`": {"k": 8},
    '`primitive="lognormal"`': {"primitive": "lognormal"},
    '`objective="elbo"`': {"objective": "elbo"},
    "`hidden=()`": {"hidden": ()},
    "`dropout=0.25`": {"dropout": 0.25},
    "`dropout=0.25, n_members=4`": {"dropout": 0.25, "n_members": 4},
    "`dropout=0.5, n_members=8`": {"dropout": 0.5, "n_members": 8},
}


def quality(settings: dict, data, folds, at) -> np.ndarray:
    """Return mean log-likelihood per row, C^td, Brier score and seconds over the folds."""
    rows = []
    for train, test in folds:
        start = time.process_time()
        model = DeepSurvivalMachines(**{**ONE_NETWORK, **settings}).fit(
            data.X.iloc[train], data.y[train]
        )
        seconds = time.process_time() - start
        X, y = data.X.iloc[test], data.y[test]
        survival = model.predict_survival_function(X, at)
        pairs = [
            metrics.concordance_td(data.y[train], y, 1 - survival[:, i], t)
            for i, t in enumerate(at)
        ]
        brier = metrics.brier_score(data.y[train], y, survival, at)
        rows.append(
            [model.log_likelihood(X, y) / len(test), np.mean(pairs), np.mean(brier), seconds]
        )
    return np.mean(rows, axis=0)


def main() -> None:
    data = datasets.load_support()
    folds = list(EventStratifiedKFold(5).split(data.X, data.y))[:3]
    at = horizons(data.y)
    print(
        "| settings | log-likelihood per row | C^td | Brier score | seconds per fit |\n|---|---|---|---|---|"
    )
    for name, settings in VARIANTS.items():
        likelihood, pairs, brier, seconds = quality(settings, data, folds, at)
        print(
            f"| {name} | {likelihood:.3f} | {pairs:.3f} | {brier:.3f} | {seconds:.1f} |", flush=True
        )


if __name__ == "__main__":
    main()
