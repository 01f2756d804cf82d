"""The paper's whole grid with ``FleetSearchCV``: fits per second, against a sample of auton-survival's fits.

python -m benchmarks.grid [--quick]

SUPPORT, 144 settings (learning rate 2 x K 3 x discount 3 x layers 2 x nodes 2 x primitive 2) x 5 folds = 720 fits, the
paper's objective (ELBO), batch 100, at most 200 epochs, each model with its own stopping, one thread. Both stop after
three epochs: ours without a better held-out objective, auton-survival's with a rise in a row. On the same histories (48
settings, one fold) ours ends after 26 epochs at 4.489 per row, theirs after 36 at 4.488 (our default of 10: 45, 4.487).
Both get the same matrix, prepared once from all rows. auton-survival fits a sample of the 720 in which every value of
every setting has its share, half of it before the search and half after; each twice, with times in days as they are in
the data and in years, with which its warm start is quicker. Scores are the mean C^td at the 25, 50 and 75 % quantiles
of the training event times, of the same settings and folds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lifemix import DeepSurvivalMachines, datasets
from lifemix.estimators.search import FleetSearchCV
from lifemix.metrics import concordance_td
from lifemix.preprocessing import TabularPreprocessor
from lifemix.splits import EventStratifiedKFold, horizons

from .auton import AutonDSM
from .harness import clock, main_of, median, one_thread
from .tables import Table

__all__ = ["plot", "run", "tables"]

GRID: dict[str, list[Any]] = {
    "learning_rate": [1e-3, 1e-4],
    "k": [4, 6, 8],
    "discount": [0.5, 0.75, 1.0],
    "hidden": [(50,), (100,), (50, 50), (100, 100)],
    "primitive": ["weibull", "lognormal"],
}
FEW: dict[str, list[Any]] = {
    "learning_rate": [1e-3],
    "k": [4],
    "discount": [0.5, 1.0],
    "hidden": [(50,), (100,)],
}
PATIENCE = 3  # epochs
UNITS = {"days": 1.0, "years": 365.25}


def sample(grid: dict[str, list[Any]], n_folds: int, size: int) -> list[tuple[dict[str, Any], int]]:
    """Draw settings and folds such that all values of each come up equally often, or nearly so."""
    rng = np.random.default_rng(0)
    drawn = {name: rng.permutation(np.arange(size) % len(values)) for name, values in grid.items()}
    folds = rng.permutation(np.arange(size) % n_folds)
    return [
        ({name: values[drawn[name][i]] for name, values in grid.items()}, int(folds[i]))
        for i in range(size)
    ]


def their_fit(model: AutonDSM, rows: tuple[Any, Any], X: Any, y: Any) -> dict[str, Any]:
    """Fit and score one of auton-survival's models on a fold."""
    training, test = rows
    timing = clock(lambda: model.fit(X[training], y[training]))
    at = horizons(y[training])
    survival = model.predict_survival_function(X[test], at)
    scores = [
        concordance_td(y[training], y[test], 1 - survival[:, i], float(t)) for i, t in enumerate(at)
    ]
    return {
        "wall": timing.wall,
        "cpu": timing.cpu,
        "epochs": model.epochs_,
        "score": float(np.mean(scores)),
    }


def run(quick: bool) -> dict[str, Any]:
    """Search the grid; fit auton-survival's sample."""
    one_thread()
    grid, n_folds, size, max_epochs = (FEW, 2, 2, 30) if quick else (GRID, 5, 12, 200)
    data = datasets.load_support()
    y = data.y
    X = np.ascontiguousarray(TabularPreprocessor(missing_indicators=False).fit_transform(data.X))
    splitter = EventStratifiedKFold(n_folds)
    parts = list(splitter.split(X, y))
    chosen = sample(grid, n_folds, size)
    AutonDSM(max_epochs=1).fit(X[:200], y[:200])  # what is done once is not what is measured

    theirs: dict[str, list[dict[str, Any]]] = {unit: [] for unit in UNITS}

    def fit_some(some: list[Any]) -> None:
        for setting, fold in some:
            for unit, days in UNITS.items():
                model = AutonDSM(**setting, max_epochs=max_epochs, time_unit=days)
                theirs[unit].append(their_fit(model, parts[fold], X, y))

    fit_some(chosen[: size // 2])
    estimator = DeepSurvivalMachines.paper(
        batch_size=100, max_epochs=max_epochs, patience=PATIENCE, preprocessor=None
    )
    search = FleetSearchCV(estimator, grid, cv=splitter, scoring="concordance", refit=False)
    timing = clock(lambda: search.fit(X, y))
    fit_some(chosen[size // 2 :])
    settings = list(search.cv_results_["params"])
    same = [
        float(search.cv_results_[f"split{fold}_test_score"][settings.index(s)])
        for s, fold in chosen
    ]
    fits = len(settings) * n_folds
    return {
        "fits": fits,
        "settings": len(settings),
        "folds": n_folds,
        "ours": {
            "wall": timing.wall,
            "cpu": timing.cpu,
            "best_score": float(search.best_score_),
            "same_scores": same,
        },
        "best": {name: str(value) for name, value in search.best_params_.items()},
        "theirs": theirs,
    }


def tables(results: dict[str, Any]) -> list[Table]:
    """Return one row per package."""
    ours, fits = results["ours"], results["fits"]
    columns = [
        "",
        "fits",
        "seconds",
        "seconds per fit",
        "fits per second",
        "times ours",
        "(CPU)",
        "mean C^td, sample",
    ]
    each, cpu = ours["wall"] / fits, ours["cpu"] / fits
    score = float(np.mean(ours["same_scores"]))
    rows: list[list[Any]] = [
        ["lifemix, FleetSearchCV", fits, ours["wall"], each, 1 / each, 1.0, 1.0, score]
    ]
    for unit, runs in results["theirs"].items():
        other, other_cpu, score = (
            float(np.mean([run[kind] for run in runs])) for kind in ("wall", "cpu", "score")
        )
        name = f"auton-survival, a sample, times in {unit}"
        rows.append(
            [
                name,
                len(runs),
                other * len(runs),
                other,
                1 / other,
                other / each,
                other_cpu / cpu,
                score,
            ]
        )
    epochs = median(run["epochs"] for runs in results["theirs"].values() for run in runs)
    note = f"auton-survival stopped after {epochs:.0f} epochs (median). Best mean score {ours['best_score']:.4f}."
    return [
        Table(
            f"SUPPORT: {results['settings']} settings x {results['folds']} folds",
            columns,
            rows,
            note,
        )
    ]


def plot(results: dict[str, Any], figure: Any) -> None:
    """Show the seconds of auton-survival's fits and the mean of ours; and the scores of the same fits."""
    left, right = figure.subplots(1, 2)
    for unit, runs in results["theirs"].items():
        left.plot([run["wall"] for run in runs], "s", label=f"auton-survival, times in {unit}")
        right.plot([run["score"] for run in runs], results["ours"]["same_scores"], "o", label=unit)
    left.axhline(results["ours"]["wall"] / results["fits"], label="lifemix, mean of all")
    left.set(yscale="log", xlabel="fit of the sample", ylabel="seconds")
    left.legend()
    middle = float(np.mean(results["ours"]["same_scores"]))
    right.axline((middle, middle), slope=1, linestyle=":")
    right.set(xlabel="auton-survival: mean C$^{td}$", ylabel="lifemix, same settings and fold")


if __name__ == "__main__":
    main_of("grid", __doc__)
