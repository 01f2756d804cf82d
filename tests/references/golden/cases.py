"""The golden cases: name -> function that returns arrays, with the public API only.

A case runs under any checkout whose ``src`` is first in ``PYTHONPATH``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.preprocessing import StandardScaler
from torch import nn

from lifemix import DeepSurvivalMachines, FleetSearchCV, LifeMix, baselines, encoders, load, save
from lifemix.preprocessing import TabularPreprocessor
from lifemix.training import Callback
from references.predictions import make as stored_predictions

from . import data, functions
from .arrays import Arrays, as_arrays, differences
from .compare import ROUND_TRIP
from .data import SAMPLES, TIMES, Sample

__all__ = ["CASES"]

PRIMITIVES = (
    "weibull",
    "lognormal",
    "loglogistic",
    "exponential",
    "gompertz",
    "gamma",
    "generalised-gamma",
    "burr",
    "power-generalised-weibull",
    "spline",
)
SMALL = {
    "k": 2,
    "hidden": (6,),
    "n_members": 2,
    "dropout": 0.1,
    "learning_rate": 0.01,
    "batch_size": 64,
}
SETTINGS = SMALL | {"activation": "tanh", "max_epochs": 3, "patience": 10, "rounding": 0.0}
N_PREDICTED = 6


def dsm(**settings: Any) -> DeepSurvivalMachines:
    """Return a small model that trains in a few steps."""
    return DeepSurvivalMachines(**(SETTINGS | settings))


def take(X: Any, n_rows: int) -> Any:
    """Return the first rows of a table, an array, histories or a dict of them."""
    if isinstance(X, dict):
        return {name: take(source, n_rows) for name, source in X.items()}
    return X.iloc[:n_rows] if hasattr(X, "iloc") else X[:n_rows]


# What a fitted model predicts.


def predictions(model: Any, X: Any) -> Arrays:
    """Return what every model of the package predicts for some rows."""
    events = range(1, model.n_events_ + 1)
    arrays = {
        "survival": model.predict_survival_function(X, TIMES),
        "incidences": np.stack(
            [model.predict_cumulative_incidence(X, TIMES, event) for event in events]
        ),
        "all incidences": np.asarray(model.predict_cumulative_incidences(X, TIMES)),
        "risk": model.predict(X),
    }
    if hasattr(model, "predict_net_survival"):
        arrays["net survival"] = np.stack(
            [model.predict_net_survival(X, TIMES, event) for event in events]
        )
    if hasattr(model, "preprocess"):
        arrays |= as_arrays(model.preprocess(X), "matrix")
    if hasattr(model, "transform"):
        arrays["representation"] = model.transform(X)
    if hasattr(model, "predict_distribution"):
        arrays |= distribution_arrays(model.predict_distribution(X))
    return arrays


def distribution_arrays(distribution: Any) -> Arrays:
    """Return what predicted distributions answer."""
    arrays = {
        name: getattr(distribution, name)(TIMES[1:])
        for name in ("pdf", "hazard", "cumulative_hazard")
    }
    arrays["quantile"] = distribution.quantile([0.1, 0.25, 0.5])
    arrays["rmst"] = distribution.rmst(TIMES[-1])
    arrays["given"] = distribution.given(TIMES[2]).survival(TIMES[2:])
    arrays |= as_arrays(distribution.sample(2, random_state=1), "sample")
    if hasattr(distribution, "cure_fraction"):
        arrays["cure fraction"] = np.asarray(distribution.cure_fraction())
    if hasattr(distribution, "weights"):
        arrays["weights"] = np.asarray(distribution.weights)
    return arrays


def training_arrays(model: Any, sample: Sample) -> Arrays:
    """Return how training went, and the log-likelihood of the training rows."""
    losses = [[record["train_loss"], record["validation_loss"]] for record in model.history_]
    return {
        "history": np.array(losses, dtype=float),
        "best epoch": np.array(model.best_epoch_),
        "log-likelihood": np.array(model.log_likelihood(sample.X, sample.y)),
        "time unit": np.array(model.time_unit_),
        "settings": np.array(
            [f"{name}={value}" for name, value in sorted(model.settings_.items())]
        ),
    }


def round_trip(model: Any, X: Any, expected: Arrays, **options: Any) -> Arrays:
    """Return the largest change of a prediction after saving and loading, which should be 0."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        save(model, path)
        after = predictions(load(path, **options), X)
    return {ROUND_TRIP: np.array(max(differences(expected, after).values(), default=0.0))}


def fitted(model: Any, sample: Sample, score: bool = True, **load_options: Any) -> Arrays:
    """Fit a model and return its training, its predictions, and whether a file keeps them."""
    weights = {} if sample.sample_weight is None else {"sample_weight": sample.sample_weight}
    model.fit(sample.X, sample.y, **weights)
    X = take(sample.X, N_PREDICTED)
    arrays = predictions(model, X)
    arrays |= round_trip(model, X, arrays, **load_options)
    if score:
        arrays["score"] = np.array(model.score(sample.X, sample.y))
    if isinstance(model, DeepSurvivalMachines):
        arrays |= training_arrays(model, sample)
    return arrays


# Families and kinds of rows.

EXTRA_SETTINGS: dict[str, dict[str, Any]] = {
    "cure": {"cure": True},
    "histories": {
        "encoder": encoders.Recurrent(hidden=4),
        "hidden": None,
        "max_epochs": 2,
        "dropout": None,
    },
}


def family(primitive: Any, kind: str) -> Arrays:
    """Fit one primitive to one kind of rows."""
    sample = SAMPLES[kind]()
    model = dsm(primitive=primitive, **EXTRA_SETTINGS.get(kind, {}))
    arrays = fitted(
        model, sample, score=kind in ("plain", "competing risks", "cure", "case weights")
    )
    if kind == "start-stop rows":
        rows = data.interval_rows()[:12]
        curves = (rows["start"], rows["stop"], rows["id"])
        arrays["along the rows"] = model.predict_path(
            sample.X[:12], *curves, times=TIMES[:3], extend=True
        )
    return arrays


def with_settings(sample: Callable[[], Sample], settings: dict[str, Any]) -> Arrays:
    """Fit a model whose settings differ from those of the other cases; ``score`` needs plain rows."""
    rows = sample()
    return fitted(dsm(**settings), rows, score=not {"entry", "upper"} & set(rows.y.dtype.names))


def user_encoder() -> Arrays:
    """Fit a module of the user's."""
    torch.manual_seed(0)

    def module() -> nn.Module:
        return nn.Sequential(nn.Linear(9, 5), nn.Tanh())

    X = np.random.default_rng(15).normal(size=(data.N_ROWS, 9))
    return fitted(dsm(encoder=module(), hidden=None), Sample(X, data.plain().y), encoder=module())


def named_settings(model: DeepSurvivalMachines, sample: Callable[[], Sample]) -> Arrays:
    """Fit a model of ``paper`` or ``tuned``."""
    return fitted(model, sample())


def validation_rows() -> Arrays:
    """Fit with validation rows of the user's."""
    X, y, _ = data.plain()
    model = dsm().fit(X[:150], y[:150], validation_data=(X[150:], y[150:]))
    return training_arrays(model, Sample(X, y)) | predictions(model, X[:N_PREDICTED])


class InterruptionError(Exception):
    """Stands for a process that was killed."""


class Interruption(Callback):
    """Interrupt a fit at the start of its third epoch."""

    def on_epoch_start(self, state: Any) -> None:
        """Raise in the third epoch."""
        if state.epoch == 2:
            raise InterruptionError


def resumed_fit() -> Arrays:
    """Interrupt a fit and resume it from its checkpoint."""
    X, y, _ = data.plain()
    with tempfile.TemporaryDirectory() as folder:
        with suppress(InterruptionError):
            dsm(checkpoint=folder, callbacks=[Interruption()]).fit(X, y)
        model = dsm(checkpoint=folder).fit(X, y)
    return training_arrays(model, Sample(X, y)) | predictions(model, X[:N_PREDICTED])


def array_histories() -> Arrays:
    """Fit histories given as an array of steps."""
    values = np.random.default_rng(16).normal(size=(data.N_ROWS, 4, 2))
    values[::3, 3] = np.nan
    encoder = encoders.Recurrent(hidden=4, cell="lstm", max_visits=3)
    return fitted(dsm(encoder=encoder, hidden=None, dropout=None), Sample(values, data.plain().y))


def stored(name: str) -> Arrays:
    """Return the arrays of a case of ``references/predictions``."""
    return {
        array: np.asarray(values) for array, values in stored_predictions.predictions(name).items()
    }


OPTIONS: dict[str, tuple[Callable[[], Sample], dict[str, Any]]] = {
    "competing intervals, weibull": (partial(data.intervals, 2), {}),
    "competing intervals, lognormal": (partial(data.intervals, 2), {"primitive": "lognormal"}),
    "competing intervals, spline": (partial(data.intervals, 2), {"primitive": "spline"}),
    "competing risks with cure": (data.competing, {"cure": True}),
    "several families": (data.plain, {"primitive": ["weibull", "spline"]}),
    "counted families with cure": (
        data.plain,
        {"primitive": {"weibull": 2, "lognormal": 1}, "cure": True},
    ),
    "a family per event": (
        data.competing,
        {"primitive": {1: {"weibull": 2}, 2: {"lognormal": 1, "burr": 1}}},
    ),
    "rounded times": (data.rounded, {"rounding": None}),
    "elbo, late entry": (data.late_entry, {"objective": "elbo"}),
    "discount, weights": (data.weighted, {"discount": 0.5}),
    "no epochs": (data.plain, {"max_epochs": 0}),
    "settings from the table": (
        data.plain,
        {name: None for name in (*SMALL, "activation", "patience") if name != "k"}
        | {"max_epochs": 2},
    ),
    "piecewise numbers": (
        data.plain,
        {"preprocessor": TabularPreprocessor(numbers="piecewise", bins=4)},
    ),
    "attention": (
        data.landmark_rows,
        {
            "encoder": encoders.Attention(hidden=4, heads=2),
            "hidden": None,
            "dropout": None,
            "max_epochs": 2,
        },
    ),
    "competing risks, priors, weight decay": (
        data.competing,
        {"prior_strength": 0.1, "head_prior": 0.01, "weight_decay": 0.1, "objective": "elbo"},
    ),
}

# Other models.


def plain_matrix() -> Sample:
    """Return a matrix of numbers in place of a table."""
    X = TabularPreprocessor().fit(data.table()).transform(data.table())
    return Sample(X, data.plain().y)


def scaled() -> Arrays:
    """Fit with a transformer of scikit-learn; such a model is not saved."""
    X, y, _ = plain_matrix()
    model = dsm(preprocessor=StandardScaler()).fit(X, y)
    return predictions(model, X[:N_PREDICTED])


def life_mix(sample: Callable[[], Sample]) -> Arrays:
    """Fit LifeMix of three parts."""
    trees = baselines.GradientBoosting(n_intervals=6, max_iter=10, min_samples_leaf=20)
    cox = baselines.CoxPH(penalty=1.0)
    rows = sample()
    is_competing = rows.y["event"].max() > 1
    parts = {
        "networks": dsm(),
        "trees": trees,
        "cox": baselines.CauseSpecific(cox) if is_competing else cox,
    }
    model = LifeMix(parts, n_folds=2)
    arrays = fitted(model, rows)
    return arrays | {"shares": model.shares_, "parts": np.array(model.part_names_, dtype=str)}


def search(scoring: str | None, sample: Callable[[], Sample]) -> Arrays:
    """Search a small grid by cross-validation."""
    grid = {"k": [1, 2], "learning_rate": [0.005, 0.02], "discount": [0.7, 1.0]}
    rows = sample()
    fitted_search = FleetSearchCV(dsm(n_members=1), grid, cv=2, scoring=scoring).fit(rows.X, rows.y)
    best = fitted_search.best_estimator_
    scores = {
        name: fitted_search.cv_results_[name] for name in ("mean_test_score", "rank_test_score")
    }
    return (
        scores
        | predictions(best, rows.X[:N_PREDICTED])
        | {"best": np.array(str(fitted_search.best_params_))}
    )


FOREST = partial(baselines.RandomSurvivalForest, n_trees=3, max_depth=3)
FEW_EPOCHS = {"max_epochs": 3, "batch_size": 64}
BOOSTING = partial(baselines.GradientBoosting, n_intervals=6, max_iter=10, min_samples_leaf=20)
DEEPHIT = partial(baselines.DeepHit, shared_nodes=8, cause_nodes=6, n_times=8, **FEW_EPOCHS)
MARTINGALE = partial(baselines.MartingaleForest, n_trees=4, n_intervals=10)
BASELINES: dict[str, tuple[Callable[[], Any], Callable[[], Sample]]] = {
    "KaplanMeier": (baselines.KaplanMeier, data.plain),
    "KaplanMeier, late entry": (baselines.KaplanMeier, data.late_entry),
    "AalenJohansen": (baselines.AalenJohansen, data.competing),
    "CoxPH": (baselines.CoxPH, data.plain),
    "CoxPH, breslow and ridge": (
        partial(baselines.CoxPH, ties="breslow", penalty=2.0),
        data.weighted,
    ),
    "CoxPH, late entry": (baselines.CoxPH, data.late_entry),
    "CoxPH, start-stop rows": (baselines.CoxPH, data.start_stop_rows),
    "FineGray": (baselines.FineGray, data.competing),
    "CauseSpecific": (lambda: baselines.CauseSpecific(baselines.CoxPH()), data.competing),
    "CauseSpecific, forest": (
        lambda: baselines.CauseSpecific(FOREST(), rule="product_limit"),
        data.competing,
    ),
    "ModelAverage": (
        lambda: baselines.ModelAverage(
            [dsm(), BOOSTING(), baselines.KaplanMeier()], weights=[2, 2, 1]
        ),
        data.plain,
    ),
    "RandomSurvivalForest": (FOREST, data.plain),
    "GradientBoosting": (BOOSTING, data.plain),
    "GradientBoosting, competing risks": (BOOSTING, data.competing),
    "MartingaleForest": (MARTINGALE, data.plain),
    "MartingaleForest, competing risks": (MARTINGALE, data.competing),
    "DeepSurv": (partial(baselines.DeepSurv, hidden=(8,), **FEW_EPOCHS), data.plain),
    "DeepHit": (DEEPHIT, data.plain),
    "DeepHit, competing risks": (DEEPHIT, data.competing),
}


def baseline(model: Callable[[], Any], sample: Callable[[], Sample]) -> Arrays:
    """Fit one of the baselines; ``score`` needs rows without late entry."""
    rows = sample()
    return fitted(model(), rows, score="entry" not in rows.y.dtype.names)


CASES: dict[str, Callable[[], Arrays]] = {
    **{
        f"{primitive}, {kind}": partial(family, primitive, kind)
        for primitive in PRIMITIVES
        for kind in SAMPLES
    },
    **{f"option: {name}": partial(with_settings, *option) for name, option in OPTIONS.items()},
    "option: encoder of the user": user_encoder,
    "option: paper": partial(named_settings, DeepSurvivalMachines.paper(max_epochs=2), data.plain),
    "option: tuned": partial(
        named_settings, DeepSurvivalMachines.tuned(max_epochs=2, n_members=2), data.plain
    ),
    "option: validation rows": validation_rows,
    "option: checkpoint": resumed_fit,
    "option: histories as an array": array_histories,
    "option: no preprocessor": lambda: fitted(dsm(preprocessor=None), plain_matrix()),
    "option: transformer of scikit-learn": scaled,
    **{f"0.1.0: {name}": partial(stored, name) for name in stored_predictions.CASES},
    "LifeMix": partial(life_mix, data.plain),
    "LifeMix, competing risks": partial(life_mix, data.competing),
    "search by concordance": partial(search, None, data.plain),
    "search by log-likelihood": partial(search, "log_likelihood", data.competing),
    **{f"baseline: {name}": partial(baseline, *parts) for name, parts in BASELINES.items()},
    **functions.CASES,
}
