"""One small fitted model of each kind: fitted once per process, do not change them."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.base import clone

from lifemix import DeepSurvivalMachines, LifeMix, baselines, make_target
from lifemix.preprocessing import TabularPreprocessor

TIMES = np.array([0.0, 0.3, 1.0, 2.0, 4.0, 50.0])
DSM = DeepSurvivalMachines(k=2, hidden=(6,), max_epochs=2, learning_rate=0.01)
BOOSTING = baselines.GradientBoosting(n_intervals=5, max_iter=10, min_samples_leaf=10)
DEEPHIT = {"shared_nodes": 8, "cause_nodes": 6, "n_times": 6, "max_epochs": 2, "batch_size": 64}
AVERAGED = [DSM, BOOSTING, baselines.AalenJohansen()]
MODELS = {  # model and number of event types
    "CoxPH": (baselines.CoxPH(ties="breslow", penalty=1.5), 1),
    "CoxPH settings": (
        baselines.CoxPH(preprocessor=TabularPreprocessor(fill_values={"a": 1.0}, scale=False)),
        1,
    ),
    "RandomSurvivalForest": (baselines.RandomSurvivalForest(n_trees=4, max_depth=4), 1),
    "DeepSurv": (baselines.DeepSurv(hidden=(8, 4), max_epochs=2, batch_size=64), 1),
    "KaplanMeier": (baselines.KaplanMeier(), 1),
    "FineGray": (baselines.FineGray(), 2),
    "DeepHit": (baselines.DeepHit(**DEEPHIT), 2),
    "GradientBoosting": (BOOSTING, 2),
    "MartingaleForest": (baselines.MartingaleForest(n_trees=4, n_intervals=10), 2),
    "AalenJohansen": (baselines.AalenJohansen(), 2),
    "CauseSpecific": (baselines.CauseSpecific(baselines.CoxPH(), rule="product_limit"), 2),
    "DeepSurvivalMachines": (DSM, 2),
    "DeepSurvivalMachines members": (
        clone(DSM).set_params(n_members=3, primitive={"weibull": 1, "spline": 1}),
        1,
    ),
    "ModelAverage": (baselines.ModelAverage(AVERAGED, weights=np.array([2.0, 2.0, 1.0])), 2),
    "LifeMix": (LifeMix({"networks": DSM, "trees": BOOSTING}, n_folds=2), 2),
}


@cache
def table(n_events):
    """Return a table with categories and missing values, and a target that depends on it."""
    rng = np.random.default_rng(5)
    n = 180
    a, b = rng.normal(size=(2, n))
    group = rng.choice(["low", "middle", "high"], n)
    times = rng.exponential(np.exp(-np.column_stack([a + (group == "high"), b])[:, :n_events]) * 2)
    censoring = rng.uniform(0, 6, n)
    time = np.minimum(times.min(axis=1), censoring)
    event = np.where(time == censoring, 0, times.argmin(axis=1) + 1)
    X = pd.DataFrame({"a": a, "b": b, "group": pd.Categorical(group), "yes": rng.random(n) < 0.5})
    X.loc[rng.random(n) < 0.1, "a"] = np.nan
    return X, make_target(np.ceil(time * 20) / 20, event)


def numbers(n=120, n_events=1):
    """Return an array and a target."""
    rng = np.random.default_rng(0)
    y = make_target(rng.weibull(1.5, n) * 3, rng.integers(0, n_events + 1, n))
    return rng.standard_normal((n, 3)), y


@cache
def fitted(name):
    """Return the fitted model of this name."""
    model, n_events = MODELS[name]
    return clone(model).fit(*table(n_events))
