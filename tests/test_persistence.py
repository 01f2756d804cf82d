"""Model files: identical predictions after loading, no training rows, no code, and a clear refusal of other files."""

import copy
import json
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from benchmarks.fuzz.guard import watched
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from torch import nn

import lifemix
from lifemix import (
    DeepSurvivalMachines,
    FleetSearchCV,
    LifeMix,
    baselines,
    encoders,
    load,
    make_target,
    save,
)
from lifemix import registry as registry_module
from lifemix.errors import LifemixError, ModelFileError, SettingError
from lifemix.files import read_arrays, write_arrays
from lifemix.persistence import FORMAT, _Decoder, _Encoder
from lifemix.preprocessing import TabularPreprocessor
from lifemix.primitives import PRIMITIVES
from lifemix.registry import register_model
from lifemix.survival_model import SurvivalModel
from lifemix.target import as_target
from lifemix.training import Callback

TIMES = np.array([0.0, 0.3, 1.0, 2.0, 4.0, 50.0])
KEY = "a secret of enough letters"

DSM = DeepSurvivalMachines(k=2, hidden=(6,), max_epochs=2, learning_rate=0.01)
BOOSTING = baselines.GradientBoosting(n_intervals=5, max_iter=10, min_samples_leaf=10)
FOREST = baselines.RandomSurvivalForest(n_trees=4, max_depth=4)

MODELS = {  # model and number of event types
    "CoxPH": (baselines.CoxPH(ties="breslow", penalty=1.5), 1),
    "CoxPH settings": (
        baselines.CoxPH(preprocessor=TabularPreprocessor(fill_values={"a": 1.0}, scale=False)),
        1,
    ),
    "RandomSurvivalForest": (FOREST, 1),
    "DeepSurv": (baselines.DeepSurv(hidden=(8, 4), max_epochs=2, batch_size=64), 1),
    "KaplanMeier": (baselines.KaplanMeier(), 1),
    "FineGray": (baselines.FineGray(), 2),
    "DeepHit": (
        baselines.DeepHit(shared_nodes=8, cause_nodes=6, n_times=6, max_epochs=2, batch_size=64),
        2,
    ),
    "GradientBoosting": (BOOSTING, 2),
    "MartingaleForest": (baselines.MartingaleForest(n_trees=4, n_intervals=10), 2),
    "AalenJohansen": (baselines.AalenJohansen(), 2),
    "CauseSpecific": (baselines.CauseSpecific(baselines.CoxPH(), rule="product_limit"), 2),
    "DeepSurvivalMachines": (DSM, 2),
    "DeepSurvivalMachines members": (
        clone(DSM).set_params(n_members=3, primitive={"weibull": 1, "spline": 1}),
        1,
    ),
    "ModelAverage": (
        baselines.ModelAverage(
            [DSM, BOOSTING, baselines.AalenJohansen()], weights=np.array([2.0, 2.0, 1.0])
        ),
        2,
    ),
    "LifeMix": (LifeMix({"networks": DSM, "trees": BOOSTING}, n_folds=2), 2),
}
over_models = pytest.mark.parametrize("name", MODELS)


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


def numbers(n=120, n_events=1):
    rng = np.random.default_rng(0)
    y = make_target(rng.weibull(1.5, n) * 3, rng.integers(0, n_events + 1, n))
    return rng.standard_normal((n, 3)), y


@cache
def fitted(name):
    """Return the model of this name, fitted; do not change it."""
    model, n_events = MODELS[name]
    return clone(model).fit(*data(n_events))


def predictions(model, X):
    """Return all predictions of a model by name."""
    events = range(1, model.n_events_ + 1)
    curves = {
        "survival": model.predict_survival_function(X, TIMES),
        "incidences": np.stack(
            [model.predict_cumulative_incidence(X, TIMES, event) for event in events]
        ),
        "functions": np.stack([curve(TIMES) for curve in model.predict_survival_function(X)]),
        "risk": model.predict(X),
    }
    if hasattr(model, "predict_net_survival"):
        curves["net"] = np.stack([model.predict_net_survival(X, TIMES, event) for event in events])
    if hasattr(model, "transform"):
        curves["representation"] = model.transform(X)
    return curves


def assert_same_predictions(model, again, X):
    expected, found = predictions(model, X), predictions(again, X)
    assert expected.keys() == found.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


# Every model.


@over_models
def test_a_loaded_model_predicts_scores_and_is_saved_to_the_same_bytes(name, path, tmp_path):
    model = fitted(name)
    X, y = data(model.n_events_)
    save(model, path)
    again = load(path)
    assert type(again) is type(model)
    assert repr(clone(again)) == repr(clone(model))
    assert_same_predictions(model, again, X)
    assert again.score(X, y) == pytest.approx(model.score(X, y), abs=3e-3)
    assert again.last_event_time_ == model.last_event_time_
    if model._saves_event_times:
        np.testing.assert_array_equal(again.event_times_, model.event_times_)
    assert os.listdir(path.parent) == [path.name]
    save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


@over_models
def test_a_loaded_model_is_independent_of_its_file_and_can_be_fitted_again(name, path):
    model = fitted(name)
    X, y = data(model.n_events_)
    save(model, path)
    again = load(path)
    path.write_bytes(bytes(path.stat().st_size))
    assert_same_predictions(model, again, X)
    assert_same_predictions(model, again.fit(X, y), X)


def test_every_class_of_models_has_a_case():
    classes = {getattr(baselines, name) for name in baselines.__all__}
    models = {c for c in classes if isinstance(c, type) and issubclass(c, SurvivalModel)}
    tested = {type(model) for model, _ in MODELS.values()}
    assert tested == (models | {DeepSurvivalMachines, LifeMix}) & {
        *registry_module._CLASSES.values()
    }
    assert {c.__name__ for c in models} - {c.__name__ for c in tested} <= {
        "Baseline",
        "WrappingModel",
    }


@over_models
def test_a_file_holds_no_training_row_and_no_identifier(name, path):
    model, n_events = MODELS[name]
    X, y = data(n_events)
    marked = X.assign(a=X["a"] + 1e-7 * np.arange(len(X)))
    target = make_target(y["time"], y["event"], subject=[f"subject-{i}" for i in range(len(X))])
    again = clone(model).fit(marked, target)
    save(again, path)
    raw = path.read_bytes()
    assert b"subject-" not in raw
    _, arrays = read_arrays(path)
    rows = {*marked["a"].dropna().tolist(), *marked["b"].tolist()}
    censored = {*y["time"][y["event"] == 0].tolist()} - {*y["time"][y["event"] > 0].tolist()}
    for array_name, array in arrays.items():
        if (
            "_cuts" not in array_name
            and "threshold" not in array_name
            and array.dtype == np.float64
        ):
            assert not rows & set(array.ravel().tolist()), array_name
        assert array.shape[:1] != (len(X),), array_name
        if array_name.endswith("event_times"):
            assert not censored & set(array.tolist())


def test_a_model_that_is_not_fitted_or_no_model_is_refused(path):
    for model in (DSM, baselines.CoxPH(), LifeMix()):
        with pytest.raises(ModelFileError, match="Call fit first"):
            save(clone(model), path)
    for thing in (DeepSurvivalMachines, object()):
        with pytest.raises(ModelFileError, match="Call fit first"):
            save(thing, path)
    assert not path.exists()


class Foreign(baselines.CoxPH):
    """A subclass that is not registered."""


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Foreign(), "a Foreign cannot be written.*register_model.*or pickle the model with joblib"),
        (baselines.ModelAverage([Foreign()]), r"a Foreign cannot be written"),
        (
            baselines.CoxPH(preprocessor=StandardScaler()),
            "StandardScaler cannot be written.*preprocessor=None",
        ),
        (
            clone(DSM).set_params(shift_activation=torch.tanh),
            "shift_activation: a builtin.*name of an activation",
        ),
    ],
    ids=["class", "class inside", "transformer", "function"],
)
def test_what_cannot_be_written_is_refused_with_a_fix(model, message, path):
    with pytest.raises(ModelFileError, match=message):
        save(clone(model).fit(*numbers()), path)
    assert not path.exists()


def test_a_model_that_could_not_be_loaded_again_is_not_written(path):
    model = pickle.loads(pickle.dumps(fitted("CoxPH")))
    model.coef_[0] = np.nan
    with pytest.raises(
        ModelFileError,
        match="no file was written, .*could not be loaded again: .*coef_ must hold finite",
    ):
        save(model, path)
    assert not path.exists()


def test_the_best_model_of_a_search_is_saved(path):
    X, y = data(1)
    for search in (
        FleetSearchCV(clone(DSM), {"k": [1, 2]}, cv=2),
        GridSearchCV(baselines.CoxPH(), {"penalty": [0.1, 1.0]}, cv=2),
    ):
        with pytest.raises(ModelFileError, match="Call fit first; a search needs refit=True"):
            save(search, path)
        save(search.fit(X, y), path)
        assert_same_predictions(search.best_estimator_, load(path), X)


def test_metadata_and_options_of_many_types_come_back(path):
    model = clone(DSM).set_params(
        k=np.int64(2), dropout=np.float32(0.5), device=torch.device("cpu"), hidden=[4]
    )
    model.fit(*numbers())
    model.metadata_ = {"time": "days", "nested": [1, {"a": None}], "nan": float("nan"), 3: (1, "x")}
    model.history_[0]["train_loss"] = np.inf
    save(model, path)
    again = load(path)
    assert str(again.metadata_) == str(model.metadata_)
    assert str(again.history_) == str(model.history_)
    assert (again.k, again.dropout, again.device, again.hidden) == (2, 0.5, "cpu", [4])
    model.metadata_ = {"a": object()}
    with pytest.raises(ModelFileError, match="metadata_.a: a object cannot be written"):
        save(model, path)


def test_what_belongs_to_a_session_is_not_saved(path, tmp_path):
    model = (
        clone(DSM)
        .set_params(random_state=np.random.default_rng(3), callbacks=[Callback()])
        .fit(*numbers())
    )
    save(model, path)
    again = load(path)
    assert (again.random_state, again.callbacks) == (None, None)
    save(clone(DSM).set_params(checkpoint=tmp_path / "folder").fit(*numbers()), path)
    raw = path.read_bytes()
    places = [
        tmp_path,
        os.getcwd(),
        os.path.dirname(lifemix.__file__),
        os.path.expanduser("~"),
        os.uname().nodename,
    ]
    assert not [place for place in map(str, places) if len(place) > 1 and place.encode() in raw]


# Deep Survival Machines: primitives, encoders and functions of the user.


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_every_primitive_by_class(name, path):
    X, y = numbers(n_events=2)
    model = clone(DSM).set_params(primitive=PRIMITIVES[name]).fit(X, y)
    save(model, path)
    again = load(path)
    assert again.primitive == name
    np.testing.assert_array_equal(
        again.predict_survival_function(X, TIMES), model.predict_survival_function(X, TIMES)
    )
    assert again.log_likelihood(X, y) == model.log_likelihood(X, y)


def test_a_primitive_of_the_user_is_passed_to_load(path, monkeypatch):
    X, y = numbers()
    family = PRIMITIVES["owngompertz"]
    model = clone(DSM).set_params(primitive={family: 1, "weibull": 1}).fit(X, y)
    save(model, path)
    monkeypatch.delitem(PRIMITIVES, "owngompertz")
    with pytest.raises(ModelFileError, match="unknown primitive; got 'owngompertz'"):
        load(path)
    assert_same_predictions(model, load(path, primitive=family), X)


def test_an_activation_of_the_user_is_passed_to_load(path):
    X, y = numbers()
    model = clone(DSM).set_params(activation=torch.sin).fit(X, y)
    save(model, path)
    assert_same_predictions(model, load(path, activation=torch.sin), X)
    with pytest.raises(
        ModelFileError, match=r"your own activation. Use load\(path, activation=...\)"
    ):
        load(path)


def module():
    torch.manual_seed(0)
    layers = nn.Sequential(
        nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.2), nn.Linear(5, 4)
    )
    layers[0].requires_grad_(False)
    return layers


@pytest.mark.parametrize("members", [1, 2])
def test_an_encoder_of_the_user_is_passed_to_load(members, path):
    X, y = numbers()
    model = clone(DSM).set_params(encoder=module(), n_members=members).fit(X, y)
    save(model, path)
    fresh = nn.Sequential(
        nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.2), nn.Linear(5, 4)
    )
    fresh[0].requires_grad_(False)
    before = copy.deepcopy(fresh.state_dict())
    assert_same_predictions(model, load(path, encoder=fresh), X)
    assert all(torch.equal(values, before[name]) for name, values in fresh.state_dict().items())


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (None, r"Use load\(path, encoder=\.\.\.\)"),
        (
            nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)),
            "Give a module of the shape that was saved",
        ),
        (nn.Linear(7, 4), r"inputs of shape \[rows, 3\]"),
    ],
    ids=["none", "other widths", "other inputs"],
)
def test_a_wrong_encoder_is_refused(encoder, message, path):
    save(clone(DSM).set_params(encoder=module()).fit(*numbers()), path)
    with pytest.raises(ModelFileError, match=message):
        load(path, encoder=encoder)


def test_an_encoder_inside_another_model(path):
    X, y = numbers(n_events=2)
    with_encoder = clone(DSM).set_params(encoder=module())
    model = baselines.ModelAverage([with_encoder, baselines.AalenJohansen()]).fit(X, y)
    save(model, path)
    assert_same_predictions(model, load(path, encoder=module()), X)
    other = clone(DSM).set_params(encoder=nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
    with pytest.raises(ModelFileError, match="no file was written"):
        save(baselines.ModelAverage([with_encoder, other]).fit(X, y), path)


def test_histories_with_an_encoder_of_ours(path):
    X, y = np.random.default_rng(0).normal(size=(60, 4, 2)), numbers(60)[1]
    model = DeepSurvivalMachines(encoder=encoders.Recurrent(hidden=4), max_epochs=2).fit(X, y)
    save(model, path)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))
    visits = "attributes preprocessor_ attributes parts_ visits arguments"
    for where, update, message in (
        ("arguments encoder arguments", {"hidden": -1}, "hidden"),
        ("arguments encoder arguments", {"hidden": 10**5}, "memory|shape"),
        (
            "arguments encoder arguments",
            {"layers": 10**9},
            "layers must be a whole number from 1 to 100; got 10+",
        ),
        (visits, {"time_scale": 0}, "time_scale must be a number above 0"),
        (visits, {"masked": [7]}, "masked must be numbers of columns"),
        ("attributes preprocessor_ attributes", {"parts_": {"visits": 3}}, "parts of a row"),
    ):
        save(model, path)
        forge(path, lambda content, arrays, where=where, new=update: at(content, where).update(new))
        with pytest.raises(ModelFileError, match=message):
            load(path)


# The file.


@pytest.fixture(params=["CoxPH", "DeepSurvivalMachines"])
def model(request):
    return fitted(request.param)


@pytest.fixture
def saved(model, path):
    save(model, path)
    return path


def test_truncated_files_and_flipped_bits_are_refused(saved):
    data = saved.read_bytes()
    for share in (0.0, 0.001, 0.3, 0.9, 0.9999):
        saved.write_bytes(data[: int(share * len(data))])
        with pytest.raises(ModelFileError):
            load(saved)
    rng = np.random.default_rng(0)
    header = 8 + int.from_bytes(data[:8], "little")
    end = len(data[:header].rstrip(b" "))
    for position in [
        *range(8),
        *rng.integers(8, end, 150),
        *rng.integers(header, len(data), 60),
        len(data) - 1,
    ]:
        altered = bytearray(data)
        altered[position] ^= 1
        saved.write_bytes(altered)
        with pytest.raises(ModelFileError):
            load(saved)


@pytest.mark.parametrize(
    "content",
    [
        b"time,event\n1,0\n",
        b"",
        pickle.dumps({"model": 1}),
        bytes(1000),
        (2**62).to_bytes(8, "little") + b"{}",
    ],
    ids=["text", "empty", "pickle", "zeros", "huge header"],
)
def test_other_files_are_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a complete file of lifemix"):
        load(path)


def test_files_that_cannot_be_opened_are_refused(tmp_path, model):
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "nowhere", ""):
        with pytest.raises(ModelFileError, match="there is no file"):
            load(tmp_path / name)
    with pytest.raises(ModelFileError, match="cannot be written: .*Check the folder"):
        save(model, tmp_path / "no" / "folder")


@pytest.mark.parametrize(
    "metadata",
    [None, {"format": "pt"}, {"lifemix": "{}"}, {"lifemix": "nothing"}, {"lifemix": "3"}],
)
def test_other_safetensors_files_are_refused(metadata, path):
    save_file({"weights": np.zeros(3)}, path, metadata)
    with pytest.raises(ModelFileError, match="of lifemix: .*Fit the model again and save it"):
        load(path)


@pytest.mark.parametrize("version", [4, 6])
def test_another_format_and_a_checkpoint_are_refused(saved, version):
    content, arrays = read_arrays(saved)
    assert content["format"] == FORMAT == 5
    match = f"has format {version}; this version reads .* format 5. Fit the model again and save it"
    write_arrays(saved, content | {"format": version}, arrays)
    with pytest.raises(ModelFileError, match=match):
        load(saved)
    write_arrays(saved, {"checkpoint": "5"}, arrays)
    with pytest.raises(ModelFileError, match="has format None; this version reads model files"):
        load(saved)


def test_a_signed_file(saved, model):
    X, _ = data(model.n_events_)
    with pytest.raises(ModelFileError, match="is not signed with this key, or was altered"):
        load(saved, key=KEY)
    save(model, saved, key=KEY)
    signed = saved.read_bytes()
    for again in (load(saved, key=KEY), load(saved, key=KEY.encode()), load(saved)):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ModelFileError, match="is not signed with this key, or was altered"):
        load(saved, key=KEY + "!")
    save(model, saved, key=KEY)
    assert saved.read_bytes() == signed
    with safe_open(saved, framework="np") as file:
        header = json.loads(file.metadata()["lifemix"])
    content, arrays = read_arrays(saved)
    content["model"]["arguments"] |= {"verbose": True}
    write_arrays(saved, content, arrays)
    with safe_open(saved, framework="np") as file:
        forged = json.loads(file.metadata()["lifemix"]) | {"signature": header["signature"]}
    save_file(arrays, saved, {"lifemix": json.dumps(forged)})
    with pytest.raises(ModelFileError, match="is not signed with this key, or was altered"):
        load(saved, key=KEY)
    save_file(arrays, saved, {"lifemix": json.dumps(forged | {"signature": "\ud800"})})
    with pytest.raises(ModelFileError, match="is not signed with this key, or was altered"):
        load(saved, key=KEY)


@pytest.mark.parametrize("key", ["short", b"", 3, ["a" * 20]])
def test_a_key_that_can_be_guessed_is_refused(model, key, path):
    with pytest.raises(SettingError, match="key must"):
        save(model, path, key=key)
    assert not path.exists()


def test_equal_models_give_equal_bytes_in_every_process(saved, model, tmp_path):
    (tmp_path / "pickle").write_bytes(pickle.dumps(model))
    code = "import pickle, sys; from lifemix import save; save(pickle.load(open(sys.argv[1], 'rb')), sys.argv[2])"
    subprocess.run(
        [sys.executable, "-c", code, tmp_path / "pickle", tmp_path / "other"], check=True
    )
    assert (tmp_path / "other").read_bytes() == saved.read_bytes()


@pytest.mark.parametrize(
    "interruption", [OSError("no space left on device"), KeyboardInterrupt()], ids=repr
)
def test_an_interrupted_write_keeps_the_previous_file(saved, model, monkeypatch, interruption):
    before = saved.read_bytes()

    def interrupt(*arguments):
        raise interruption

    monkeypatch.setattr("lifemix.files.os.replace", interrupt)
    with pytest.raises((ModelFileError, KeyboardInterrupt)):
        save(model, saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_loading_never_unpickles(saved, model, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("unpickled")

    for library, names in {
        pickle: ("load", "loads", "Unpickler"),
        torch: ("load",),
        np: ("load",),
    }.items():
        for name in names:
            monkeypatch.setattr(library, name, refuse)
    X, _ = data(model.n_events_)
    np.testing.assert_array_equal(load(saved).predict(X), model.predict(X))


# Forged files: the checksum is right.


def at(content, names):
    for name in names.split() if isinstance(names, str) else names:
        content = content[int(name) if isinstance(content, list) else name]
    return content


def forge(path, change):
    """Change the content of a model file and return its path; the checksum is right."""
    content, arrays = read_arrays(path)
    change(content["model"], arrays)
    write_arrays(
        path, content, {name: np.array(array, order="C") for name, array in arrays.items()}
    )
    return path


FORGED = {
    "class of Python": ("CoxPH", "", {"$class": "dict"}, "no class called 'dict' is registered"),
    "function of ours": (
        "CoxPH",
        "",
        {"$class": "paper_grid"},
        "no class called 'paper_grid' is registered",
    ),
    "pickle": ("CoxPH", "arguments", {"penalty": {"$pickle": "gASV"}}, "penalty must be"),
    "not a model": ("CoxPH", "", {"$class": "TabularPreprocessor"}, "valid model"),
    "other class": ("CoxPH", "", {"$class": "DeepSurv"}, "valid model"),
    "argument": ("CoxPH", "arguments", {"clusters": 3}, "clusters"),
    "type of an argument": ("CoxPH", "arguments", {"penalty": "much"}, "penalty must be a number"),
    "method": ("CoxPH", "attributes", {"predict": 3}, "no fitted attribute 'predict'"),
    "dunder": ("CoxPH", "attributes", {"__class__": 3}, "no fitted attribute '__class__'"),
    "preprocessor": (
        "CoxPH",
        "attributes",
        {"preprocessor_": 3},
        "preprocessor_ must be a fitted preprocessor",
    ),
    "array that is missing": ("CoxPH", "attributes", {"coef_": {"$array": "weights"}}, "KeyError"),
    "other array": (
        "CoxPH",
        "attributes",
        {"coef_": {"$array": "training_summary_.times.start"}},
        r"coef_ must be an array of numbers of shape \(7,\)",
    ),
    "names": (
        "CoxPH",
        "attributes",
        {"feature_names_in_": ["a"]},
        "feature_names_in_ must name 4 columns",
    ),
    "network": ("DeepSurv", "arguments", {"hidden": [8, 5]}, "must be finite numbers of shape"),
    "vast network": (
        "DeepSurv",
        "arguments",
        {"hidden": [10**7, 10**7]},
        "must be finite numbers of shape",
    ),
    "many layers": (
        "DeepHit",
        "arguments",
        {"shared_layers": 10**9},
        "shared_layers must be a whole number from 1 to 100",
    ),
    "members": ("DeepSurvivalMachines", "arguments", {"n_members": 10**9}, "best epochs for"),
    "vast layers": ("DeepSurvivalMachines", "arguments", {"hidden": [10**9]}, "shape"),
    "components": (
        "DeepSurvivalMachines",
        "arguments",
        {"k": 10**9},
        "k must be a whole number from 1 to 1000; got 1",
    ),
    "layout": ("DeepSurvivalMachines", "attributes network_", {"layout": {}}, "shape"),
    "time unit": (
        "DeepSurvivalMachines",
        "attributes network_ scale arguments",
        {"unit": 0},
        "must be above 0",
    ),
    "primitive": (
        "DeepSurvivalMachines",
        "arguments",
        {"primitive": "mine"},
        "unknown primitive.*'mine'",
    ),
    "encoder": (
        "DeepSurvivalMachines",
        "arguments",
        {"encoder": {"$user_code": "encoder"}},
        "your own encoder",
    ),
    "no models": (
        "CauseSpecific",
        "attributes",
        {"estimators_": {"$items": []}},
        "one model for each event type",
    ),
    "column": (
        "CoxPH",
        "attributes preprocessor_ attributes columns_ $tuple 0 arguments",
        {"scale": 0},
        "scale",
    ),
    "column without a double": (
        "CoxPH",
        "attributes preprocessor_ attributes columns_ $tuple 0 arguments",
        {"scale": 10**400},
        "too large",
    ),
    "name of a column": (
        "CoxPH",
        "attributes preprocessor_ attributes columns_ $tuple 0 arguments",
        {"name": {"$array": "coef_"}},
        "must have a name",
    ),
}


@pytest.mark.parametrize(("name", "where", "update", "message"), FORGED.values(), ids=FORGED.keys())
def test_forged_content_is_refused(name, where, update, message, path):
    save(fitted(name), path)
    forge(path, lambda content, arrays: at(content, where).update(update))
    with pytest.raises(ModelFileError, match=message):
        load(path)


FORGED_ARRAYS = {
    "network": ("DeepSurvivalMachines", "network_.parameters", (0, 3), np.nan, "finite parameters"),
    "coefficient": ("CoxPH", "coef_", 0, np.inf, "coef_ must hold finite numbers"),
    "dense network": (
        "DeepSurv",
        "network_.output.weight",
        (0, 0),
        np.nan,
        "output.weight must be finite",
    ),
    "survival": (
        "AalenJohansen",
        "survival_",
        0,
        1.5,
        "1 - survival_ must ascend, from 0 to at most 1",
    ),
    "negative variance": (
        "DeepSurv",
        "network_.hidden.2.running_var",
        0,
        -1e-6,
        "running_var must be variances",
    ),
    "hazard": ("CoxPH", "baseline_cumulative_hazard_", -1, 0.0, "hazard_ must ascend"),
    "cycle": ("RandomSurvivalForest", "_trees.children", (1, 0), 0, "the trees are malformed"),
    "column of a tree": (
        "RandomSurvivalForest",
        "_trees.feature",
        0,
        99,
        "read more columns than there are",
    ),
    "leaf without a curve": (
        "RandomSurvivalForest",
        "_steps",
        0,
        -1,
        "every leaf must have a curve",
    ),
    "curve of a leaf": ("RandomSurvivalForest", "_step_survival", -1, 1.0, "must descend"),
    "steps": ("LifeMix", "steps_", 0, 1e9, "steps_ must be ascending times above 0"),
    "part of a model": ("LifeMix", "part_of_", 0, 7, "every model must belong to a part"),
    "number of rows": ("CoxPH", "training_summary_.times.counts", 0, 2**40, "numbers of rows"),
    "incidences": ("MartingaleForest", "_curves", (0, 0, 0), 1.0, "_curves must ascend"),
    "event type of a tree": (
        "GradientBoosting",
        "_hazard.classes",
        2,
        7,
        "out of bounds",
    ),
    "event type": (
        "CoxPH",
        "training_summary_.times.counts",
        (slice(None), 1),
        0,
        "every event type 1..M must occur",
    ),
    "cells": (
        "CoxPH",
        "training_summary_.times.start",
        0,
        -1.0,
        "cells must be consecutive intervals",
    ),
    "event times": ("CoxPH", "training_summary_.event_times", 0, 1e9, "event times must ascend"),
    "weights of an average": ("ModelAverage", "shares_", 0, 0.0, "weights that add up to 1"),
    "grid": ("DeepHit", "grid_", 0, 1e9, "grid_ must ascend"),
}


@pytest.mark.parametrize(
    ("name", "array", "index", "value", "message"), FORGED_ARRAYS.values(), ids=FORGED_ARRAYS.keys()
)
def test_forged_numbers_are_refused(name, array, index, value, message, path):
    def change(content, arrays):
        arrays[array][index] = value

    save(fitted(name), path)
    with pytest.raises(ModelFileError, match=message):
        load(forge(path, change))


STEPS = {
    "CoxPH": ["baseline_cumulative_hazard_"],
    "DeepSurv": ["baseline_cumulative_hazard_"],
    "RandomSurvivalForest": ["_step_survival"],
    "MartingaleForest": ["_curves"],
    "FineGray": ["baseline_.0.1.1", "baseline_.1.1.1"],
    "AalenJohansen": ["survival_", "incidence_.0.1", "incidence_.1.1", "net_survival_.1.1"],
    "KaplanMeier": ["survival_", "incidence_.0.1", "net_survival_.0.1"],
    "DeepHit": [],  # curves computed from probabilities, which cannot descend
    "GradientBoosting": [],
    "CauseSpecific": ["estimators_.0.1.baseline_cumulative_hazard_"],
    "ModelAverage": ["estimators_.2.incidence_.0.1"],
}


@pytest.mark.parametrize("name", baselines.__all__)
def test_a_step_function_that_turns_back_a_little_is_refused(name, path):
    """Less than rounding errors of probabilities, but multiplied by a large hazard ratio."""
    save(fitted(name), path)
    steps = {key: array for key, array in read_arrays(path)[1].items() if key in STEPS[name]}
    assert sorted(steps) == sorted(STEPS[name])
    for key in steps:

        def turn_back(content, arrays, key=key):
            values = arrays[key].reshape(-1, arrays[key].shape[-1])[0]
            sign = np.sign(values[-1] - values[0])
            values[1] = values[0] - sign * 1e-6

        save(fitted(name), path)
        with pytest.raises(ModelFileError, match=r"must (ascend|descend)"):
            load(forge(path, turn_back))


@pytest.mark.parametrize(
    "model",
    [
        {},
        [1, 2],
        3,
        None,
        {"$class": "CoxPH"},
        {"$class": ["CoxPH"], "arguments": {}, "attributes": {}},
    ],
    ids=repr,
)
def test_content_that_is_no_model_is_refused(model, path):
    write_arrays(path, {"format": FORMAT, "model": model}, {"x": np.zeros(3)})
    with pytest.raises(ModelFileError):
        load(path)


def test_deep_content_is_refused(path):
    for text in ("[" * 100_000 + "]" * 100_000, '{"$tuple":[' * 700 + "]}" * 700):
        header = f'{{"content": {{"format": 5, "model": {text}}}, "checksum": ""}}'
        save_file({"x": np.zeros(3)}, path, {"lifemix": header})
        with pytest.raises(ModelFileError):
            load(path)


@pytest.mark.parametrize(
    "update", [{"k": 10**9}, {"hidden": [10**9]}, {"n_members": 10**9}], ids=repr
)
def test_a_small_file_cannot_ask_for_much_memory(update, path):
    save(fitted("DeepSurvivalMachines"), path)
    forge(path, lambda content, arrays: content["arguments"].update(update))
    assert watched(lambda: load(path).predict(data(2)[0]), path.stat().st_size) is None


# Values and mutations by Hypothesis.

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = st.text(max_size=5) | st.integers(-3, 3) | st.tuples(st.booleans(), st.text(max_size=2))
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=10)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.lists(st.fixed_dictionaries({"a": inner, "b": st.floats()}), min_size=8, max_size=9)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(value=VALUES)
def test_values_come_back(value):
    encoder = _Encoder()
    content = json.loads(json.dumps(encoder.encode(value, "x")))
    assert repr(_Decoder(encoder.arrays, {}).decode(content)) == repr(value)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int64", "uint64", "float16", "float32", "float64", ">f8", "object"]
)
@pytest.mark.parametrize("shape", [(), (0, 3), (4,), (2, 3)])
def test_arrays_and_tensors_come_back(dtype, shape):
    array = np.arange(0, 20 * np.prod(shape, dtype=int), 20).reshape(shape)
    array = array.astype(str).astype(object) if dtype == "object" else array.astype(dtype)
    encoder = _Encoder()
    content = json.loads(json.dumps(encoder.encode([array, array.T], "x")))
    decoder = _Decoder(encoder.arrays, {})
    for found, expected in zip(decoder.decode(content), (array, array.T), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype.newbyteorder("="))
    if dtype not in ("object", ">f8"):
        tensor = torch.from_numpy(array.copy())
        content = encoder.encode({"t": tensor}, "y")
        assert torch.equal(_Decoder(encoder.arrays, {}).decode(content)["t"], tensor)


@pytest.mark.parametrize(
    "value", [torch.zeros(3, dtype=torch.bfloat16), np.zeros(3, dtype=complex), {1, 2}], ids=str
)
def test_other_values_are_refused(value):
    with pytest.raises(ModelFileError, match="x.y: a .* cannot be written"):
        _Encoder().encode({"y": value}, "x")


@cache
def written(name):
    with tempfile.TemporaryDirectory() as folder:
        save(fitted(name), Path(folder) / "model")
        return read_arrays(Path(folder) / "model")


def paths_of(value, path=()):
    """Yield the path of every value in JSON content."""
    if path:
        yield path
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, child in children:
        yield from paths_of(child, (*path, key))


def mutated_value(draw, value):
    choices = [
        VALUES.filter(lambda v: json.dumps(v, default=str, skipkeys=True)),
        st.just("KaplanMeier"),
    ]
    if isinstance(value, (int, float)):
        choices += [st.sampled_from([-value, value + 1, 0, 10**9, 1e308, not value])]
    elif isinstance(value, list):
        choices += [st.sampled_from([value[:-1], value + value, value[::-1], []])]
    elif isinstance(value, dict) and value:
        name = draw(st.sampled_from(sorted(value)))
        choices.append(st.just({key: item for key, item in value.items() if key != name}))
    return json.loads(json.dumps(draw(st.one_of(choices)), default=str, skipkeys=True))


def mutated_array(draw, array):
    change = draw(st.sampled_from(["number", "length", "shape", "type", "order", "zero"]))
    if change == "number" and array.size:
        array = array.copy()
        special = (
            [0, -1, 1, 100]
            if array.dtype.kind == "i"
            else [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, 2.0]
        )
        array.flat[draw(st.integers(0, array.size - 1))] = draw(st.sampled_from(special))
        return array
    if change == "length" and array.ndim:
        return draw(st.sampled_from([array[:-1], np.concatenate([array, array]), array[:0]]))
    if change == "shape":
        return draw(st.sampled_from([array.reshape(-1), array[None], array.T]))
    if change == "type":
        return array.astype(
            draw(st.sampled_from(["float64", "float32", "int64", "int32", "uint8", "bool"]))
        )
    return array[::-1] if change == "order" and array.ndim else np.zeros_like(array)


@over_models
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(choices=st.data())
def test_a_mutated_file_is_refused_or_predicts(name, choices):
    content, arrays = copy.deepcopy(written(name))
    X = data(fitted(name).n_events_)[0][:9]
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        if choices.draw(st.booleans()):
            *parents, last = choices.draw(st.sampled_from(list(paths_of(content["model"]))))
            parent = at(content["model"], parents)
            parent[last] = mutated_value(choices.draw, parent[last])
        else:
            which = choices.draw(st.sampled_from(sorted(arrays)))
            arrays[which] = np.array(mutated_array(choices.draw, arrays[which]), order="C")
        write_arrays(Path(folder) / "model", content, arrays)
        try:
            model = load(Path(folder) / "model")
        except ModelFileError:
            return
        try:
            curves, risk = model.predict_survival_function(X, TIMES), model.predict(X)
        except LifemixError:  # for example other columns than the table has
            return
        assert curves.shape == (len(X), len(TIMES))
        assert not (np.diff(curves) > 1e-9).any()
        assert risk.shape == (len(X),)


# Classes of the user.


@pytest.fixture
def own_class(monkeypatch):
    monkeypatch.setattr(registry_module, "_CLASSES", dict(registry_module._CLASSES))

    class Exponential(SurvivalModel):
        """A model as a user would write it."""

        _saved = ("_secret",)

        def __init__(self, unit=1.0):
            self.unit = unit

        def fit(self, X, y, sample_weight=None):
            target = as_target(y)
            self._learn_columns(X)
            self._learn_target(target)
            self.rates_ = {1: float((target.event > 0).sum() / target.time.sum() / self.unit)}
            self._secret, self._cache = "kept", object()
            return self

        def preprocess(self, X):
            return X

        def _survival(self, x, times):
            return np.tile(np.exp(-self.rates_[1] * self.unit * times), (len(x), 1))

        def _risk(self, x):
            return np.zeros(len(x))

    return Exponential


def test_a_registered_class_is_saved_alone_and_inside_another_model(own_class, path):
    X, y = numbers()
    assert register_model(own_class) is own_class
    model = own_class(unit=2.0).fit(X, y)
    save(model, path)
    again = load(path)
    assert type(again) is own_class
    assert (again.unit, again.rates_, again._secret) == (2.0, model.rates_, "kept")
    assert not hasattr(again, "_cache")
    average = baselines.ModelAverage(
        [own_class(), baselines.CoxPH(preprocessor=None, penalty=1.0)]
    ).fit(X, y)
    save(average, path)
    np.testing.assert_array_equal(load(path).predict(X), average.predict(X))
    del registry_module._CLASSES["Exponential"]
    with pytest.raises(
        ModelFileError, match="no class called 'Exponential' is registered. Import the module"
    ):
        load(path)


def test_another_class_of_the_same_name_is_refused(own_class):
    register_model(own_class)
    register_model(own_class)  # a notebook cell that runs again
    with pytest.raises(ModelFileError, match="a class called Exponential is registered.*Rename it"):
        register_model(type("Exponential", (SurvivalModel,), {}))


def test_a_cox_model_is_loaded_without_pytorch(path):
    save(fitted("CoxPH"), path)
    code = (
        "import sys; from lifemix import load; load(sys.argv[1]); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, path], check=True)


@pytest.mark.parametrize("name", ["CoxPH", "GradientBoosting", "DeepSurvivalMachines", "LifeMix"])
def test_a_loaded_model_predicts_without_the_training_code(name, path):
    save(fitted(name), path)
    data(MODELS[name][1])[0][:5].to_pickle(path.with_suffix(".pkl"))
    code = (
        "import sys, pandas; from lifemix import load; "
        "load(sys.argv[1]).predict_survival_function(pandas.read_pickle(sys.argv[2]), [1.0]); "
        "print([name for name in sys.modules if name.startswith('lifemix.training')])"
    )
    command = [sys.executable, "-c", code, path, path.with_suffix(".pkl")]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout.strip() == "[]"
