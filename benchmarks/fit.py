"""Time of a fit and quality on held-out rows, against other packages: SUPPORT and METABRIC, five folds.

Every model gets the same matrix: imputed, encoded and scaled with the training rows. There are two rounds: 20 epochs of
batch 100 without stopping, and at most 200 epochs in which each package stops by its own rule.
METABRIC has one row that is censored at time 0; it is dropped, because auton-survival takes its logarithm.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lifemix import DeepSurvivalMachines, datasets
from lifemix.baselines import RandomSurvivalForest
from lifemix.metrics import brier_score, concordance_td
from lifemix.preprocessing import TabularPreprocessor
from lifemix.splits import EventStratifiedKFold, horizons

from .auton import AutonDSM
from .harness import Table, clock
from .peers import PycoxDeepHit, PycoxDeepSurv, SksurvCox

FIXED_EPOCHS = 20
NETWORK = {"k": 4, "hidden": (100,), "batch_size": 100, "learning_rate": 1e-3}
ONE_MEMBER = {"n_members": 1, "dropout": 0.0, "activation": "relu6", "preprocessor": None}
LOADERS = {"SUPPORT": datasets.load_support, "METABRIC": datasets.load_metabric}
YEAR = {"SUPPORT": 365.25, "METABRIC": 12.0}


def run(quick: bool) -> list[Table]:
    """Return one table per data set and round."""
    return [
        compare_models(name, fixed_epochs, n_folds=1 if quick else 5)
        for name in LOADERS
        for fixed_epochs in (True, False)
    ]


def models(name: str, fixed_epochs: bool) -> dict[str, Callable[[], Any]]:
    """Return the constructor of each model."""
    ours: dict[str, Any] = {**NETWORK, **ONE_MEMBER, "primitive": "weibull", "patience": 10}
    auton: dict[str, Any] = {**NETWORK, "stopping": not fixed_epochs}
    if fixed_epochs:
        ours |= {"max_epochs": FIXED_EPOCHS, "patience": FIXED_EPOCHS}
        auton |= {"max_epochs": FIXED_EPOCHS}
    constructors: dict[str, Callable[[], Any]] = {
        "lifemix": lambda: DeepSurvivalMachines(**ours),
        "lifemix, paper's settings": lambda: DeepSurvivalMachines.paper(**ours),
        "auton-survival": lambda: AutonDSM(**auton),
        "auton-survival, times in years": lambda: AutonDSM(**auton, time_unit=YEAR[name]),
    }
    if not fixed_epochs:
        constructors |= {
            "DeepSurv (pycox)": PycoxDeepSurv,
            "DeepHit (pycox)": PycoxDeepHit,
            "forest (scikit-survival)": lambda: RandomSurvivalForest(preprocessor=None),
            "Cox (scikit-survival)": SksurvCox,
        }
    return constructors


def folds(data: datasets.Dataset, n_folds: int) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield the matrix and target of the training rows, then of the test rows."""
    positive = data.y["time"] > 0
    X, y = data.X[positive], data.y[positive]
    for _, (training, test) in zip(
        range(n_folds), EventStratifiedKFold(5).split(X, y), strict=False
    ):
        preprocessor = TabularPreprocessor(missing_indicators=False).fit(X.iloc[training])
        matrices = [preprocessor.transform(X.iloc[rows]) for rows in (training, test)]
        yield matrices[0], y[training], matrices[1], y[test]


def compare_models(name: str, fixed_epochs: bool, n_folds: int) -> Table:
    """Fit every model on every fold; times are medians, quality means."""
    data = LOADERS[name]()
    times = horizons(data.y)
    constructors = models(name, fixed_epochs)
    runs: dict[str, list[dict[str, Any]]] = {model: [] for model in constructors}
    for X, y, X_test, y_test in folds(data, n_folds):
        for model_name, constructor in constructors.items():
            constructor().fit(X[:200], y[:200])  # imports are not measured
            model = constructor()
            timing = clock(lambda: model.fit(X, y))  # noqa: B023 - called at once
            runs[model_name].append(timing | quality(model, X_test, y_test, y, times))
    columns = ["", "seconds", "times ours", "(CPU)", "epochs", "log-likelihood"]
    columns += [f"{score} {percent} %" for score in ("C^td", "Brier") for percent in (25, 50, 75)]
    rows = [[model, *summary(model_runs, runs["lifemix"])] for model, model_runs in runs.items()]
    stopping = f"{FIXED_EPOCHS} epochs, no stopping" if fixed_epochs else "own stopping rules"
    return Table(f"{name}: {stopping}", columns, rows, f"{n_folds} fold(s).")


def quality(model: Any, X: Any, y: Any, y_train: Any, times: np.ndarray) -> dict[str, Any]:
    """Return epochs, log-likelihood per row (of our models), C^td and Brier scores."""
    survival = model.predict_survival_function(X, times)
    concordance = [
        concordance_td(y_train, y, 1 - survival[:, index], time)
        for index, time in enumerate(times.tolist())
    ]
    is_ours = isinstance(model, DeepSurvivalMachines)
    log_likelihood = model.log_likelihood(X, y) / len(y) if is_ours else None
    return {
        "epochs": len(model.history_) if is_ours else getattr(model, "epochs_", None),
        "log_likelihood": log_likelihood,
        "scores": [*concordance, *brier_score(y_train, y, survival, times).tolist()],
    }


def summary(runs: list[dict[str, Any]], our_runs: list[dict[str, Any]]) -> list[Any]:
    """Return the row of a model."""
    seconds = [
        statistics.median(run[kind] / ours[kind] for run, ours in zip(runs, our_runs, strict=True))
        for kind in ("wall", "cpu")
    ]
    means = [
        None if runs[0][key] is None else float(np.mean([run[key] for run in runs]))
        for key in ("epochs", "log_likelihood")
    ]
    scores = np.mean([run["scores"] for run in runs], axis=0).tolist()
    return [statistics.median(run["wall"] for run in runs), *seconds, *means, *scores]
