"""Forged model files, whose checksum is right, are refused."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from benchmarks.fuzz.guard import watched
from safetensors.numpy import save_file
from sklearn.base import clone

from helpers.small_models import DSM, fitted, numbers
from lifemix import encoders, load, save
from lifemix.errors import CovariateError, ModelFileError
from lifemix.files import read_arrays, write_arrays
from lifemix.persistence import FORMAT


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def at(content, names):
    for name in names.split():
        content = content[int(name) if isinstance(content, list) else name]
    return content


def forge(path, change):
    """Change the content of a model file and return its path; the checksum is right."""
    content, arrays = read_arrays(path)
    change(content["model"], arrays)
    arrays = {name: np.array(array, order="C") for name, array in arrays.items()}
    write_arrays(path, content, arrays)
    return path


@cache
def recurrent():
    X = np.random.default_rng(0).normal(size=(60, 4, 2))
    options = {"encoder": encoders.Recurrent(hidden=4), "preprocessor": "auto", "max_epochs": 1}
    return clone(DSM).set_params(**options).fit(X, numbers(60)[1]), X


COLUMN = "attributes preprocessor_ attributes columns_ $tuple 0 arguments"
VISITS = "attributes preprocessor_ attributes parts_ visits arguments"
ENCODER = "arguments encoder arguments"
NETWORK = "DeepSurvivalMachines"
FORGED = [
    ("CoxPH", "", {"$class": "dict"}, "no class called 'dict' is registered"),
    ("CoxPH", "", {"$class": "paper_grid"}, "no class called 'paper_grid' is registered"),
    ("CoxPH", "", {"$class": "TabularPreprocessor"}, "valid model"),
    ("CoxPH", "", {"$class": "DeepSurv"}, "valid model"),
    ("CoxPH", "arguments", {"penalty": {"$pickle": "gASV"}}, r"got {'\$pickle': 'gASV'}"),
    ("CoxPH", "arguments", {"clusters": 3}, "clusters"),
    ("CoxPH", "arguments", {"penalty": "much"}, "penalty must be a number"),
    ("CoxPH", "attributes", {"predict": 3}, "no fitted attribute 'predict'"),
    ("CoxPH", "attributes", {"__class__": 3}, "no fitted attribute '__class__'"),
    ("CoxPH", "attributes", {"preprocessor_": 3}, "preprocessor_ must be a fitted preprocessor"),
    ("CoxPH", "attributes", {"coef_": {"$array": "weights"}}, "KeyError"),
    (
        "CoxPH",
        "attributes",
        {"coef_": {"$array": "training_summary_.times.start"}},
        r"coef_ must be an array of numbers of shape \(7,\)",
    ),
    ("CoxPH", "attributes", {"feature_names_in_": ["a"]}, "feature_names_in_ must name 4 columns"),
    ("CoxPH", COLUMN, {"scale": 0}, "scale"),
    ("CoxPH", COLUMN, {"scale": 10**400}, "too large"),
    ("CoxPH", COLUMN, {"name": {"$array": "coef_"}}, "must have a name"),
    ("DeepSurv", "arguments", {"hidden": [8, 5]}, "must be finite numbers of shape"),
    ("DeepSurv", "arguments", {"hidden": [10**7, 10**7]}, "must be finite numbers of shape"),
    ("DeepHit", "arguments", {"shared_layers": 10**9}, "shared_layers must be .* from 1 to 100"),
    (NETWORK, "arguments", {"n_members": 10**9}, "best epochs for"),
    (NETWORK, "arguments", {"hidden": [10**9]}, "shape"),
    (NETWORK, "arguments", {"k": 10**9}, "k must be a whole number from 1 to 1000; got 1"),
    (NETWORK, "attributes network_", {"layout": {}}, "shape"),
    (NETWORK, "attributes network_ scale arguments", {"unit": 0}, "must be above 0"),
    (NETWORK, "arguments", {"primitive": "mine"}, "unknown primitive.*'mine'"),
    (NETWORK, "arguments", {"encoder": {"$user_code": "encoder"}}, "your own encoder"),
    ("CauseSpecific", "attributes", {"estimators_": {"$items": []}}, "one model for each event"),
    ("recurrent", ENCODER, {"hidden": -1}, "hidden"),
    ("recurrent", ENCODER, {"hidden": 10**5}, "memory|shape"),
    ("recurrent", ENCODER, {"layers": 10**9}, "layers must be .* from 1 to 100; got 10+"),
    ("recurrent", VISITS, {"time_scale": 0}, "time_scale must be a number above 0"),
    ("recurrent", VISITS, {"masked": [7]}, "masked must be numbers of columns"),
    (
        "recurrent",
        "attributes preprocessor_ attributes",
        {"parts_": {"visits": 3}},
        "parts of a row",
    ),
]


@pytest.mark.parametrize(("name", "where", "update", "message"), FORGED)
def test_forged_content_is_refused(name, where, update, message, path):
    if name == "recurrent":
        model, X = recurrent()
        save(model, path)
        np.testing.assert_array_equal(load(path).predict(X), model.predict(X))
    else:
        model = fitted(name)
        save(model, path)
    forge(path, lambda content, arrays: at(content, where).update(update))
    with pytest.raises(ModelFileError, match=message):
        load(path)
    size = path.stat().st_size
    assert watched(lambda: pytest.raises(ModelFileError, load, path), size) is None


COUNTS = "training_summary_.times.counts"
FORGED_ARRAYS = [
    (NETWORK, "network_.parameters", (0, 3), np.nan, "finite parameters"),
    ("CoxPH", "coef_", 0, np.inf, "coef_ must hold finite numbers"),
    ("CoxPH", "center_", 0, np.inf, "center_ must hold finite numbers"),
    ("FineGray", "center_", 0, np.inf, "center_ must hold finite numbers"),
    ("CoxPH", "baseline_cumulative_hazard_", -1, 0.0, "hazard_ must ascend"),
    ("CoxPH", COUNTS, 0, 2**40, "numbers of rows"),
    ("CoxPH", COUNTS, (slice(None), 1), 0, "every event type 1..M must occur"),
    ("CoxPH", "training_summary_.times.start", 0, -1.0, "cells must be consecutive intervals"),
    ("CoxPH", "training_summary_.event_times", 0, 1e9, "event times must ascend"),
    ("DeepSurv", "network_.output.weight", (0, 0), np.nan, "output.weight must be finite"),
    ("DeepSurv", "network_.hidden.2.running_var", 0, -1e-6, "running_var must be variances"),
    ("AalenJohansen", "survival_", 0, 1.5, "1 - survival_ must ascend, from 0 to at most 1"),
    ("RandomSurvivalForest", "_trees.children", (1, 0), 0, "the trees are malformed"),
    ("RandomSurvivalForest", "_trees.feature", 0, 99, "read more columns than there are"),
    ("RandomSurvivalForest", "_trees.feature", ..., 0.5, "the trees are malformed"),
    ("RandomSurvivalForest", "_steps", 0, -1, "every leaf must have a curve"),
    ("RandomSurvivalForest", "_step_survival", -1, 1.0, "must descend"),
    ("LifeMix", "steps_", 0, 1e9, "steps_ must be ascending times above 0"),
    ("LifeMix", "part_of_", 0, 7, "every model must belong to a part"),
    ("MartingaleForest", "_curves", (0, 0, 0), 1.0, "_curves must ascend"),
    ("GradientBoosting", "_hazard.classes", 2, 7, "out of bounds"),
    ("ModelAverage", "shares_", 0, 0.0, "weights that add up to 1"),
    ("DeepHit", "grid_", 0, 1e9, "grid_ must ascend"),
]


@pytest.mark.parametrize(("name", "array", "index", "value", "message"), FORGED_ARRAYS)
def test_forged_numbers_are_refused(name, array, index, value, message, path):
    save(fitted(name), path)

    def change(content, arrays):
        if index is ...:
            arrays[array] = arrays[array] + value
        else:
            arrays[array][index] = value

    forge(path, change)
    with pytest.raises(ModelFileError, match=message):
        load(path)


STEPS = {
    "CoxPH": ["baseline_cumulative_hazard_"],
    "DeepSurv": ["baseline_cumulative_hazard_"],
    "RandomSurvivalForest": ["_step_survival"],
    "MartingaleForest": ["_curves"],
    "FineGray": ["baseline_.0.1.1", "baseline_.1.1.1"],
    "AalenJohansen": ["survival_", "incidence_.0.1", "incidence_.1.1", "net_survival_.1.1"],
    "KaplanMeier": ["survival_", "incidence_.0.1", "net_survival_.0.1"],
    "CauseSpecific": ["estimators_.0.1.baseline_cumulative_hazard_"],
    "ModelAverage": ["estimators_.2.incidence_.0.1"],
}


@pytest.mark.parametrize(
    ("name", "array"), [(name, array) for name, arrays in STEPS.items() for array in arrays]
)
def test_a_step_function_that_turns_back_a_little_is_refused(name, array, path):
    """By less than rounding errors of probabilities, but a hazard ratio can be large."""

    def turn_back(content, arrays):
        values = arrays[array].reshape(-1, arrays[array].shape[-1])[0]
        values[1] = values[0] - np.sign(values[-1] - values[0]) * 1e-6

    save(fitted(name), path)
    with pytest.raises(ModelFileError, match=r"must (ascend|descend)"):
        load(forge(path, turn_back))


NO_MODELS = [{}, [1, 2], 3, None, {"$class": "CoxPH"}]


@pytest.mark.parametrize("content", [*NO_MODELS, "deep list", "deep tuple"], ids=repr)
def test_content_that_is_no_model_is_refused(content, path):
    deep = {
        "deep list": "[" * 100_000 + "]" * 100_000,
        "deep tuple": '{"$tuple":[' * 700 + "]}" * 700,
    }
    if content in NO_MODELS:
        write_arrays(path, {"format": FORMAT, "model": content}, {"x": np.zeros(3)})
    else:
        header = f'{{"content": {{"format": 5, "model": {deep[content]}}}, "checksum": ""}}'
        save_file({"x": np.zeros(3)}, path, {"lifemix": header})
    with pytest.raises(ModelFileError):
        load(path)


def test_a_table_of_other_columns_is_refused_by_a_loaded_model(path):
    save(fitted("CoxPH"), path)
    with pytest.raises(CovariateError, match="missing"):
        load(path).predict(pd.DataFrame({"z": [1.0]}))
