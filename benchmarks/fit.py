"""Time of a fit and quality on held-out rows, against other packages: SUPPORT and METABRIC, five folds.

Every model gets the same matrix: imputed, encoded and scaled with the training rows. There are two rounds: 20 epochs of
batch 100 without stopping, and at most 200 epochs in which each package stops by its own rule.
METABRIC has one row that is censored at time 0; it is dropped, because auton-survival takes its logarithm.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pandas as pd

from lifemix import DeepSurvivalMachines, datasets
from lifemix.baselines import RandomSurvivalForest
from lifemix.metrics import brier_score, concordance_td
from lifemix.preprocessing import TabularPreprocessor
from lifemix.splits import EventStratifiedKFold, horizons

from .auton import AutonDSM
from .harness import Call, Table, clock
from .peers import PycoxDeepHit, PycoxDeepSurv, SksurvCox

FIXED_EPOCHS = 20
NETWORK = {"k": 4, "hidden": (100,), "batch_size": 100, "learning_rate": 1e-3}
ONE_MEMBER = {"n_members": 1, "dropout": 0.0, "activation": "relu6", "preprocessor": None}
LOADERS = {"SUPPORT": datasets.load_support, "METABRIC": datasets.load_metabric}
YEAR = {"SUPPORT": 365.25, "METABRIC": 12.0}


def run(quick: bool) -> list[Table]:
    """Return one table per data set and round."""
    n_folds = 1 if quick else 5
    tables = []
    for name in LOADERS:
        tables.append(compare_models(name, True, n_folds))
        tables.append(compare_models(name, False, n_folds))
    return tables


def models(name: str, fixed_epochs: bool) -> dict[str, Call]:
    """Return the constructor of each model."""
    ours: dict[str, Any] = NETWORK | ONE_MEMBER | {"patience": 10}
    auton: dict[str, Any] = NETWORK | {"stopping": not fixed_epochs}
    if fixed_epochs:
        ours |= {"max_epochs": FIXED_EPOCHS, "patience": FIXED_EPOCHS}
        auton |= {"max_epochs": FIXED_EPOCHS}
    constructors: dict[str, Call] = {
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


def folds(data: datasets.Dataset, n_folds: int) -> Iterator[tuple[Any, ...]]:
    """Yield the matrix and target of the training rows, then of the test rows."""
    positive = data.y["time"] > 0
    X, y = data.X[positive], data.y[positive]
    for training, test in islice(EventStratifiedKFold(5).split(X, y), n_folds):
        preprocessor = TabularPreprocessor(missing_indicators=False)
        X_training = preprocessor.fit_transform(X.iloc[training])
        X_test = preprocessor.transform(X.iloc[test])
        yield X_training, y[training], X_test, y[test]


def compare_models(name: str, fixed_epochs: bool, n_folds: int) -> Table:
    """Fit every model on every fold; times are medians, quality means."""
    data = LOADERS[name]()
    times = horizons(data.y)
    constructors = models(name, fixed_epochs)
    runs = []
    for X, y, X_test, y_test in folds(data, n_folds):
        fold = {}
        for model_name, constructor in constructors.items():
            constructor().fit(X[:200], y[:200])  # imports are not measured
            model = constructor()
            seconds = clock(lambda: model.fit(X, y))  # noqa: B023 - called at once
            ratios = {
                "seconds": seconds["wall"],
                "times ours": seconds["wall"],
                "(CPU)": seconds["cpu"],
            }
            fold[model_name] = ratios | quality(model, X_test, y_test, y, times)
        table = pd.DataFrame.from_dict(fold, orient="index", dtype=float)
        for column in ("times ours", "(CPU)"):
            table[column] /= table.loc["lifemix", column]
        runs.append(table)
    all_runs = pd.concat(runs).groupby(level=0)
    summary = all_runs.mean().reindex(constructors)
    speed = ["seconds", "times ours", "(CPU)"]
    summary[speed] = all_runs[speed].median()
    cells = summary.astype(object).where(summary.notna(), None)
    rows = cells.reset_index().to_numpy().tolist()
    stopping = f"{FIXED_EPOCHS} epochs, no stopping" if fixed_epochs else "own stopping rules"
    return Table(f"{name}: {stopping}", ["", *summary.columns], rows, f"{n_folds} fold(s).")


def quality(model: Any, X: Any, y: Any, y_train: Any, times: Any) -> dict[str, Any]:
    """Return epochs, log-likelihood per row (of our models), C^td and Brier scores."""
    survival = model.predict_survival_function(X, times)
    brier = brier_score(y_train, y, survival, times)
    values = {"epochs": getattr(model, "epochs_", None), "log-likelihood": None}
    if isinstance(model, DeepSurvivalMachines):
        values["epochs"] = len(model.history_)
        values["log-likelihood"] = model.log_likelihood(X, y) / len(y)
    quartiles = ("25 %", "50 %", "75 %")
    for index, quartile in enumerate(quartiles):
        risk = 1 - survival[:, index]
        values[f"C^td {quartile}"] = concordance_td(y_train, y, risk, times[index])
    for index, quartile in enumerate(quartiles):
        values[f"Brier {quartile}"] = brier[index]
    return values
