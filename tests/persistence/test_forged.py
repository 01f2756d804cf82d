"""Files that no ``save`` wrote, with a right checksum: refused in words, or a model that predicts; never a crash."""

import copy
import json
import signal
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from benchmarks.fuzz.guard import watched
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from lifemix import DeepSurvivalMachines, load, make_target, save
from lifemix.errors import LifemixError, ModelFileError
from saved_models import MODELS, TIMES, content_of, data, fitted, forge

VERSION_1 = Path(__file__).parents[1] / "references" / "model_files" / "passthrough_mixed_target.safetensors"


@cache
def written(name):
    """Return the content and the arrays of a model's file."""
    with tempfile.TemporaryDirectory() as folder:
        save(fitted(name), Path(folder) / "model")
        return content_of(Path(folder) / "model")


def places(value, path=()):
    """Yield the path of every value in JSON content."""
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def at(content, path):
    for key in path:
        content = content[key]
    return content


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


def altered_value(draw, value):
    """Draw something like a value, or anything at all."""
    choices = [ANYTHING, st.just("KaplanMeier")]
    if isinstance(value, bool):
        choices.append(st.just(not value))
    elif isinstance(value, (int, float)):
        choices += [st.just(-value), st.just(value + 1), st.just(0), st.just(10**9), st.just(1e308)]
    elif isinstance(value, list):
        choices += [st.just(value[:-1]), st.just(value + value), st.just(value[::-1]), st.just([])]
    elif isinstance(value, dict) and value:
        name = draw(st.sampled_from(sorted(value)))
        choices.append(st.just({key: item for key, item in value.items() if key != name}))
        choices.append(st.just(value | {"more": 1}))
    return draw(st.one_of(choices))


def altered_array(draw, array):
    """Draw an array that differs in numbers, shape or type."""
    change = draw(st.sampled_from(["number", "length", "shape", "type", "order", "all"]))
    if change == "number" and array.size:
        array = array.copy()
        numbers = [0, -1, 1, 10**9] if array.dtype.kind == "i" else [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, 2.0]
        with np.errstate(over="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array.flat[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from(numbers))
        return array
    if change == "length" and array.ndim:
        return draw(st.sampled_from([array[:-1], np.concatenate([array, array]), array[:0]]))
    if change == "shape":
        return draw(st.sampled_from([array.reshape(-1), array[None], array.T]))
    if change == "type":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return array.astype(draw(st.sampled_from(["float64", "float32", "int64", "int32", "uint8", "bool"])))
    if change == "order" and array.ndim:
        return array[::-1]
    return np.zeros_like(array)


@st.composite
def forgeries(draw, original):
    content, arrays = copy.deepcopy(original)
    if draw(st.booleans()):
        *parents, last = draw(st.sampled_from(list(places(content))))
        parent = at(content, parents)
        parent[last] = altered_value(draw, parent[last])
    else:
        which = draw(st.sampled_from(sorted(arrays)))
        if draw(st.integers(0, 9)) == 0:
            arrays.pop(which)
        else:
            arrays[which] = altered_array(draw, arrays[which])
    return content, arrays


def refuse_to_wait(*arguments):
    raise TimeoutError("loading a small file takes no time")


def refused_or_predicts(content, arrays, version, X):
    """Load a forged file and predict with what it gave, if it gave anything."""
    before = signal.signal(signal.SIGALRM, refuse_to_wait)
    signal.alarm(60)
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            forge(Path(folder) / "model", content, arrays, version)
            try:
                model = load(Path(folder) / "model")
            except ModelFileError:
                return
            try:
                curves = model.predict_survival_function(X, TIMES), model.predict(X)
            except LifemixError:  # such as other columns than the table has
                return
            assert curves[0].shape == (len(X), len(TIMES))
            assert curves[1].shape == (len(X),)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(choices=st.data())
def test_a_forged_file_is_refused_or_predicts(name, choices):
    content, arrays = choices.draw(forgeries(written(name)))
    refused_or_predicts(content, arrays, "2", data(fitted(name).n_events_)[0][:9])


@settings(max_examples=50, suppress_health_check=list(HealthCheck))
@given(choices=st.data())
def test_a_forged_file_of_version_0_1_0_is_refused_or_predicts(choices):
    original = content_of(VERSION_1)
    X = np.zeros((9, original[0]["n_features"]))
    content, arrays = choices.draw(forgeries(original))
    refused_or_predicts(content, arrays, "1", X)


CONTENTS = {
    "nothing": "{}",
    "no object": "[1, 2]",
    "a number": "3",
    "no JSON": "{",
    "not a number": '{"class": NaN}',
    "deep": "[" * 100_000 + "]" * 100_000,
    "deep objects": '{"class":' * 5_000 + "1" + "}" * 5_000,
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
@pytest.mark.parametrize("version", ["1", "2"])
def test_content_that_is_no_model_is_refused(content, version, tmp_path):
    forge(tmp_path / "model", content, written("CoxPH")[1], version)
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")


def test_a_model_inside_a_model_inside_a_model_without_end_is_refused(tmp_path):
    content, arrays = written("ModelAverage of averages")
    for _ in range(3000):
        content = {**content, "options": {"estimators": [{"$model": {"class": "ModelAverage", "options": {}}}]}}
        content["fitted"] = {**content["fitted"], "estimators_": []}
    text = '{"$model":{"class":"ModelAverage","options":{"estimators":[' * 2000 + "1" + "]}}}" * 2000
    forged = json.dumps(content).replace('{"$model": {"class": "ModelAverage", "options": {}}}', text)
    forge(tmp_path / "model", forged, arrays)
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")


FORGED = {
    "class of Python's": ("CoxPH", ("class",), "dict", "no model called 'dict' is known. Import the module"),
    "class of ours that is no model": ("CoxPH", ("class",), "Baseline", "no model called 'Baseline'"),
    "class with other attributes": ("CoxPH", ("class",), "KaplanMeier", "Save the model again"),
    "unknown option": ("CoxPH", ("options", "clusters"), 3, "clusters"),
    "option of the wrong type": ("CoxPH", ("options", "penalty"), "much", "penalty must be a number"),
    "unknown tag": ("CoxPH", ("options", "penalty"), {"$pickle": "gASV"}, "penalty must be a value or one of"),
    "unknown preprocessor": ("CoxPH", ("fitted", "preprocessor_", "kind"), "pickle", "preprocessor_.kind must be"),
    "array that is not there": ("CoxPH", ("fitted", "coef_"), "weights", "coef_ must be the name of an array"),
    "array of another": (
        "CoxPH",
        ("fitted", "coef_"),
        "training_summary_.times.left",
        r"coef_ must be .* of shape \(7,\)",
    ),
    "text for a number": ("CoxPH", ("fitted", "log_likelihood_"), "x", "log_likelihood_ must be a number"),
    "no names": ("CoxPH", ("fitted", "feature_names_in_"), [1, 2, 3, 4], "feature_names_in_.0 must be a text"),
    "more names": ("CoxPH", ("fitted", "feature_names_in_"), list("abcde"), "5 names for 4 columns"),
    "more attributes": ("CoxPH", ("fitted", "predict"), 3, "fitted must be the attributes of a CoxPH; got .*predict"),
    "other network": ("DeepSurv", ("options", "hidden"), {"$tuple": [8, 5]}, "must be float32 of shape"),
    "vast network": ("DeepSurv", ("options", "hidden"), {"$tuple": [10**7, 10**7]}, "must be float32 of shape"),
    "endless network": ("DeepHit", ("options", "shared_layers"), 10**9, "network_ must be one array"),
    "other members": ("DeepSurvivalMachines", ("options", "n_members"), 10**9, "1000000000 members"),
    "vast layers": ("DeepSurvivalMachines", ("options", "hidden"), {"$tuple": [10**9]}, "shape"),
    "no unit of time": ("DeepSurvivalMachines", ("fitted", "network_", "unit"), 0, "unit of time"),
    "other layout": ("DeepSurvivalMachines", ("fitted", "network_", "layout"), {}, "shape"),
    "unknown primitive": ("DeepSurvivalMachines", ("options", "primitive"), "mine", "unknown primitive.*'mine'"),
    "encoder out of nothing": (
        "DeepSurvivalMachines",
        ("options", "encoder"),
        {"$encoder": True},
        "has an encoder",
    ),
    "optimizer of Python's": ("DeepSurvivalMachines", ("options", "optimizer"), {"$optimizer": "os"}, "optimizer must"),
    "fewer models": ("CauseSpecific CoxPH", ("fitted", "estimators_"), [], "estimators_ must be a list of 2"),
}


@pytest.mark.parametrize(("name", "path", "value", "message"), FORGED.values(), ids=FORGED.keys())
def test_the_error_says_what_is_wrong(name, path, value, message, tmp_path):
    content, arrays = copy.deepcopy(written(name))
    at(content, path[:-1])[path[-1]] = value
    forge(tmp_path / "model", content, arrays)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "model")


def test_a_missing_attribute_is_named(tmp_path):
    for name, message in {"coef_": "coef_ must be in the file", "preprocessor_": "preprocessor_ is missing"}.items():
        content, arrays = copy.deepcopy(written("CoxPH"))
        del content["fitted"][name]
        forge(tmp_path / "model", content, arrays)
        with pytest.raises(ModelFileError, match=message):
            load(tmp_path / "model")


FORGED_ARRAYS = {
    "weight that is no number": ("DeepSurvivalMachines", "network_.parameters", (0, 3), np.nan, "network_.parameters"),
    "coefficient that is infinite": ("CoxPH", "coef_", 0, np.inf, "coef_ must be numbers from"),
    "network that is no number": ("DeepSurv", "network_.output.weight", (0, 0), np.nan, "output.weight must be finite"),
    "survival above 1": ("KaplanMeier", "survival_", 0, 1.5, "survival_ must be numbers from 0 to 1"),
    "cycle": ("RandomSurvivalForest", "_trees.children", (1, 0), 0, "the trees are malformed"),
    "child that is not there": ("RandomSurvivalForest", "_trees.children", (0, 0), 10**6, "the trees are malformed"),
    "column that is not there": ("RandomSurvivalForest", "_trees.feature", 0, 99, "read columns that there are not"),
    "leaf without a curve": ("RandomSurvivalForest", "_curves.keys", 0, -1, "every leaf must have a curve"),
    "incidences that descend": ("MartingaleForest", "_curves", (0, 0, 0), 1.0, "incidences must not descend"),
    "tree of boosting": ("GradientBoosting", "_hazard.trees.children", (0, 1), 0, "the trees are malformed"),
    "outcome of boosting": ("GradientBoosting", "_hazard.classes", 2, 7, "outcomes that there are not"),
    "event type without rows": (
        "CoxPH",
        "training_summary_.times.counts",
        (slice(None), 1),
        0,
        "last value must be known",
    ),
    "negative time": ("CoxPH", "training_summary_.times.left", 0, -1.0, "times.left must be numbers from 0"),
    "cells that turn back": ("CoxPH", "training_summary_.times.left", 0, 1e9, "cells of time must follow each other"),
    "event times that turn back": ("CoxPH", "training_summary_.event_times", 0, 1e9, "event times must ascend"),
    "weights of an average": ("ModelAverage", "shares_", 0, 0.0, "shares that add up to 1"),
    "grid that turns back": ("DeepHit", "grid_", 0, 1e9, "the ends of the intervals must ascend"),
}


@pytest.mark.parametrize(
    ("name", "array", "place", "value", "message"), FORGED_ARRAYS.values(), ids=FORGED_ARRAYS.keys()
)
def test_the_error_says_which_array_is_wrong(name, array, place, value, message, tmp_path):
    content, arrays = copy.deepcopy(written(name))
    arrays[array][place] = value
    forge(tmp_path / "model", content, arrays)
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "model")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_an_encoder_did_not_train_must_be_finite_too(value, tmp_path):
    encoder = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(60, 3)), make_target(generator.exponential(size=60), np.arange(60) % 2)
    save(DeepSurvivalMachines(encoder=encoder, max_epochs=1).fit(X, y), tmp_path / "model")
    content, arrays = content_of(tmp_path / "model")
    arrays["network_.0.1.running_mean"][2] = value
    forge(tmp_path / "model", content, arrays)
    with pytest.raises(ModelFileError, match="running_mean must be finite numbers"):
        load(tmp_path / "model", encoder=encoder)


HUGE = {
    "inputs": lambda content: content["fitted"].update(n_features_in_=10**9),
    "components": lambda content: content["options"].update(k=10**9),
    "widths": lambda content: content["options"].update(hidden={"$tuple": [10**9]}),
    "layers": lambda content: content["options"].update(hidden={"$tuple": [1] * 10**4}),
    "members": lambda content: content["options"].update(n_members=10**9),
    "layout": lambda content: content["fitted"]["network_"]["layout"].update(heads=[10**9, 10**9]),
    "digits": lambda content: content["fitted"]["network_"].update(unit=10**400),
}


@pytest.mark.parametrize("change", HUGE.values(), ids=HUGE.keys())
def test_a_small_file_does_not_ask_for_more_memory_than_it_has(change, tmp_path):
    content, arrays = copy.deepcopy(written("DeepSurvivalMachines"))
    change(content)
    forge(tmp_path / "model", content, arrays)

    def case():
        load(tmp_path / "model").predict(data(2)[0])

    assert watched(case, (tmp_path / "model").stat().st_size) is None


WEIGHTS = {
    "DeepSurvivalMachines": "network_.parameters",
    "DeepSurv": "network_.output.weight",
    "CoxPH": "coef_",
    "GradientBoosting": "_hazard.trees.value",
    "MartingaleForest": "_curves",
}


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_that_are_no_numbers_are_refused(name, number, tmp_path):
    content, arrays = copy.deepcopy(written(name))
    array = np.array(arrays[WEIGHTS[name]])
    array.flat[0] = number
    forge(tmp_path / "model", content, arrays | {WEIGHTS[name]: array})
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")
