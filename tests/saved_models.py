"""One small fitted model for each class that can be saved, and what a file of it holds."""

import json
from functools import cache

import numpy as np
import pandas as pd
from safetensors import safe_open
from safetensors.numpy import save_file

from lifemix import DeepSurvivalMachines, LifeMix, baselines, make_target
from lifemix.preprocessing import TabularPreprocessor
from lifemix.tensor_files import checksum

TIMES = np.array([0.0, 0.3, 1.0, 2.0, 4.0, 50.0])

DSM = DeepSurvivalMachines(k=2, hidden=(6,), max_epochs=2, learning_rate=0.01)
DEEPSURV = baselines.DeepSurv(hidden=(8, 4), max_epochs=2, batch_size=64)
DEEPHIT = baselines.DeepHit(shared_nodes=8, cause_nodes=6, n_times=6, max_epochs=2, batch_size=64)
BOOSTING = baselines.GradientBoosting(n_intervals=5, max_iter=10, min_samples_leaf=10)
FOREST = baselines.RandomSurvivalForest(n_trees=4, max_depth=4)
MARTINGALE_FOREST = baselines.MartingaleForest(n_trees=4, n_intervals=10)

MODELS = {  # by name: a model, and for how many event types
    "CoxPH": (baselines.CoxPH(), 1),
    "CoxPH breslow penalty": (baselines.CoxPH(ties="breslow", penalty=1.5), 1),
    "CoxPH own settings": (baselines.CoxPH(preprocessor=TabularPreprocessor(fill_values={"a": 1.0}, scale=False)), 1),
    "RandomSurvivalForest": (FOREST, 1),
    "DeepSurv": (DEEPSURV, 1),
    "DeepSurv plain": (baselines.DeepSurv(hidden=[5], batch_norm=False, dropout=0.0, max_epochs=2), 1),
    "KaplanMeier": (baselines.KaplanMeier(), 1),
    "FineGray": (baselines.FineGray(), 2),
    "FineGray one event": (baselines.FineGray(), 1),
    "DeepHit": (DEEPHIT, 2),
    "DeepHit one event": (DEEPHIT, 1),
    "GradientBoosting": (BOOSTING, 2),
    "GradientBoosting one event": (BOOSTING, 1),
    "MartingaleForest": (MARTINGALE_FOREST, 2),
    "AalenJohansen": (baselines.AalenJohansen(), 2),
    "CauseSpecific CoxPH": (baselines.CauseSpecific(baselines.CoxPH(), rule="product_limit"), 2),
    "CauseSpecific forest": (baselines.CauseSpecific(FOREST, max_steps=None), 2),
    "DeepSurvivalMachines": (DSM, 2),
    "DeepSurvivalMachines one event": (DSM, 1),
    "ModelAverage": (
        baselines.ModelAverage([DSM, BOOSTING, baselines.AalenJohansen()], weights=np.array([2.0, 2.0, 1.0])),
        2,
    ),
    "LifeMix": (LifeMix({"networks": DSM, "trees": BOOSTING}, n_folds=2), 2),
    "ModelAverage of averages": (
        baselines.ModelAverage((baselines.ModelAverage([baselines.KaplanMeier()]), baselines.CoxPH()), discount=0.5),
        1,
    ),
}


@cache
def data(n_events):
    """Return a table with categories and missing values, and times that depend on it."""
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


@cache
def fitted(name):
    """Return the model of that name, fitted; do not change it."""
    from sklearn.base import clone

    model, n_events = MODELS[name]
    return clone(model).fit(*data(n_events))


def predictions(model, X):
    """Return all that a model predicts, by name."""
    events = range(1, model.n_events_ + 1)
    found = {
        "survival": model.predict_survival_function(X, TIMES),
        "incidences": np.stack([model.predict_cumulative_incidence(X, TIMES, event) for event in events]),
        "functions": np.stack([curve(TIMES) for curve in model.predict_survival_function(X)]),
        "risk": model.predict(X),
    }
    if hasattr(model, "predict_net_survival"):
        found["net"] = np.stack([model.predict_net_survival(X, TIMES, event) for event in events])
    if hasattr(model, "transform"):
        found["representation"] = model.transform(X)
    return found


def parts(path):
    """Return the header of a model file and its arrays."""
    with safe_open(path, framework="np") as file:
        return file.metadata(), {name: file.get_tensor(name) for name in file.keys()}


def content_of(path):
    """Return the content of a model file and its arrays."""
    header, arrays = parts(path)
    return json.loads(header["content"]), arrays


def forge(path, content, arrays, version="2"):
    """Write a model file with a right checksum, whatever it holds."""
    text = content if isinstance(content, str) else json.dumps(content)
    arrays = {name: np.array(array, order="C") for name, array in arrays.items()}
    header = {"lifemix": version, "content": text, "checksum": checksum(version, text, arrays=arrays)}
    save_file(arrays, path, header)
