"""Model files: equal predictions after loading, no training rows, no code, refusal of other files."""

import copy
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from torch import nn

import lifemix
from helpers.small_models import DSM, MODELS, TIMES, fitted, numbers, table
from lifemix import FleetSearchCV, LifeMix, baselines, load, make_target, registry, save
from lifemix.errors import ModelFileError, SettingError
from lifemix.files import read_arrays, write_arrays
from lifemix.persistence import FORMAT, _Decoder, _Encoder
from lifemix.primitives import PRIMITIVES
from lifemix.survival_model import SurvivalModel
from lifemix.training import Callback

KEY = "a secret of enough letters"
over_models = pytest.mark.parametrize("name", MODELS)


def predictions(model, X):
    """Return all predictions of a model by name."""
    events = range(1, model.n_events_ + 1)
    curves = {
        "survival": model.predict_survival_function(X, TIMES),
        "incidences": model.predict_cumulative_incidences(X, TIMES),
        "functions": np.stack([curve(TIMES) for curve in model.predict_survival_function(X)]),
        "risk": model.predict(X),
    }
    if hasattr(model, "predict_net_survival"):
        curves["net"] = np.stack([model.predict_net_survival(X, TIMES, event) for event in events])
    if hasattr(model, "transform"):
        curves["representation"] = model.transform(X)
    return curves


def assert_same_predictions(model, again, X):
    expected, actual = predictions(model, X), predictions(again, X)
    assert expected.keys() == actual.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(actual[name], values, err_msg=name)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


# Every model.


@over_models
def test_a_loaded_model_is_the_saved_one(name, path, tmp_path):
    model = fitted(name)
    X, y = table(model.n_events_)
    save(model, path)
    content = path.read_bytes()
    again = load(path)
    path.write_bytes(bytes(len(content)))  # the model is independent of its file
    assert type(again) is type(model)
    assert repr(clone(again)) == repr(clone(model))
    assert_same_predictions(model, again, X)
    assert again.score(X, y) == pytest.approx(model.score(X, y), abs=3e-3)
    assert again.last_event_time_ == model.last_event_time_
    if model._saves_event_times:
        np.testing.assert_array_equal(again.event_times_, model.event_times_)
    assert os.listdir(path.parent) == [path.name]
    save(again, path)
    assert path.read_bytes() == content
    np.testing.assert_array_equal(again.fit(X, y).predict(X), model.predict(X))


def test_every_class_of_models_has_a_case():
    classes = {getattr(baselines, name) for name in baselines.__all__}
    models = {c for c in classes if isinstance(c, type) and issubclass(c, SurvivalModel)}
    tested = {type(model) for model, _ in MODELS.values()}
    assert tested == (models | {type(DSM), LifeMix}) & {*registry._CLASSES.values()}
    assert {c.__name__ for c in models - tested} <= {"Baseline", "WrappingModel"}


@over_models
def test_a_file_has_no_training_row_and_no_identifier(name, path):
    model, n_events = MODELS[name]
    X, y = table(n_events)
    marked = X.assign(a=X["a"] + 1e-7 * np.arange(len(X)))
    subject = [f"subject-{i}" for i in range(len(X))]
    save(clone(model).fit(marked, make_target(y["time"], y["event"], subject=subject)), path)
    assert b"subject-" not in path.read_bytes()
    values = {*marked["a"].dropna().tolist(), *marked["b"].tolist()}
    censored = {*y["time"][y["event"] == 0].tolist()} - {*y["time"][y["event"] > 0].tolist()}
    for array_name, array in read_arrays(path)[1].items():
        is_threshold = "_cuts" in array_name or "threshold" in array_name
        if array.dtype == np.float64 and not is_threshold:
            assert not values & set(array.ravel().tolist()), array_name
        assert array.shape[:1] != (len(X),), array_name
        if array_name.endswith("event_times"):
            assert not censored & set(array.tolist())


def test_a_loaded_model_needs_neither_pytorch_nor_the_training_code(tmp_path):
    names = ["CoxPH", "GradientBoosting", "DeepSurvivalMachines", "LifeMix"]
    for name in names:
        save(fitted(name), tmp_path / name)
    table(2)[0][:5].to_pickle(tmp_path / "rows")
    code = f"""
import sys, pandas
from lifemix import load
rows = pandas.read_pickle(sys.argv[1] + "/rows")
for name in {names}:
    load(sys.argv[1] + "/" + name).predict_survival_function(rows, [1.0])
    if name == "CoxPH":
        assert "torch" not in sys.modules
assert not [name for name in sys.modules if name.startswith("lifemix.training")]
"""
    subprocess.run([sys.executable, "-c", code, tmp_path], check=True)


class Foreign(baselines.CoxPH):
    """A subclass that is not registered."""


NOT_WRITTEN = {
    "class": (Foreign(), "a Foreign cannot be written.*register_model.*or pickle"),
    "class inside": (baselines.ModelAverage([Foreign()]), "a Foreign cannot be written"),
    "transformer": (
        baselines.CoxPH(preprocessor=StandardScaler()),
        "StandardScaler cannot be written.*preprocessor=None",
    ),
    "function": (
        clone(DSM).set_params(shift_activation=torch.tanh),
        "shift_activation: a builtin.*name of an activation",
    ),
}


@pytest.mark.parametrize(("model", "message"), NOT_WRITTEN.values(), ids=NOT_WRITTEN)
def test_what_cannot_be_written_is_refused(model, message, path):
    with pytest.raises(ModelFileError, match="Call fit first"):
        save(clone(model), path)
    with pytest.raises(ModelFileError, match=message):
        save(clone(model).fit(*numbers()), path)
    assert not path.exists()


def test_a_model_that_could_not_be_loaded_again_is_not_written(path):
    model = copy.deepcopy(fitted("CoxPH"))
    model.coef_[0] = np.nan
    with pytest.raises(ModelFileError, match="no file was written, .*coef_ must hold finite"):
        save(model, path)
    assert not path.exists()


def test_the_best_model_of_a_search_is_saved(path):
    X, y = table(1)
    for search in (
        FleetSearchCV(clone(DSM), {"k": [1, 2]}, cv=2),
        GridSearchCV(baselines.CoxPH(), {"penalty": [0.1, 1.0]}, cv=2),
    ):
        with pytest.raises(ModelFileError, match="Call fit first; a search needs refit=True"):
            save(search, path)
        save(search.fit(X, y), path)
        assert_same_predictions(search.best_estimator_, load(path), X)


def test_metadata_and_options_of_many_types_come_back(path):
    options = {"k": np.int64(2), "dropout": np.float32(0.5), "device": torch.device("cpu")}
    model = clone(DSM).set_params(hidden=[4], **options).fit(*numbers())
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
    options = {"random_state": np.random.default_rng(3), "callbacks": [Callback()]}
    save(clone(DSM).set_params(**options).fit(*numbers()), path)
    again = load(path)
    assert (again.random_state, again.callbacks) == (None, None)
    save(clone(DSM).set_params(checkpoint=tmp_path / "folder").fit(*numbers()), path)
    package = os.path.dirname(lifemix.__file__)
    secrets = [tmp_path, os.getcwd(), package, os.path.expanduser("~"), os.uname().nodename]
    content = path.read_bytes()
    assert not [s for s in map(str, secrets) if len(s) > 1 and s.encode() in content]


# Primitives, encoders and functions of the user.


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_every_primitive(name, path):
    X, y = numbers(n_events=2)
    model = clone(DSM).set_params(primitive=PRIMITIVES[name]).fit(X, y)
    save(model, path)
    again = load(path)
    assert again.primitive == name
    survival = model.predict_survival_function(X, TIMES)
    np.testing.assert_array_equal(again.predict_survival_function(X, TIMES), survival)
    assert again.log_likelihood(X, y) == model.log_likelihood(X, y)


def encoder(width=5):
    torch.manual_seed(0)
    layers = nn.Linear(3, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 4)
    layers[0].requires_grad_(False)
    return nn.Sequential(*layers)


GOMPERTZ = PRIMITIVES["owngompertz"]
MIXTURE = {"primitive": {GOMPERTZ: 1, "weibull": 1}}
CODE_OF_THE_USER = {
    "primitive": (MIXTURE, {"primitive": GOMPERTZ}, "unknown primitive; got 'owngompertz'"),
    "activation": ({"activation": torch.sin}, {"activation": torch.sin}, "your own activation"),
    "encoder": ({"encoder": encoder()}, {"encoder": encoder()}, r"Use load\(path, encoder="),
    "encoder of members": (
        {"encoder": encoder(), "n_members": 2},
        {"encoder": encoder()},
        r"Use load\(path, encoder=",
    ),
}


@pytest.mark.parametrize(
    ("options", "code", "message"), CODE_OF_THE_USER.values(), ids=CODE_OF_THE_USER
)
def test_code_of_the_user_is_passed_to_load(options, code, message, path, monkeypatch):
    X, y = numbers()
    model = clone(DSM).set_params(**options).fit(X, y)
    save(model, path)
    monkeypatch.delitem(PRIMITIVES, "owngompertz")
    with pytest.raises(ModelFileError, match=message):
        load(path)
    state = copy.deepcopy(code["encoder"].state_dict()) if "encoder" in code else {}
    assert_same_predictions(model, load(path, **code), X)
    for name, values in state.items():
        assert torch.equal(code["encoder"].state_dict()[name], values)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (encoder(width=4), "Give a module of the shape that was saved"),
        (nn.Linear(7, 4), r"inputs of shape \[rows, 3\]"),
    ],
    ids=["other widths", "other inputs"],
)
def test_a_wrong_encoder_is_refused(module, message, path):
    save(clone(DSM).set_params(encoder=encoder()).fit(*numbers()), path)
    with pytest.raises(ModelFileError, match=message):
        load(path, encoder=module)


def test_an_encoder_inside_another_model(path):
    X, y = numbers(n_events=2)
    first, second = (clone(DSM).set_params(encoder=encoder(width)) for width in (5, 2))
    model = baselines.ModelAverage([first, baselines.AalenJohansen()]).fit(X, y)
    save(model, path)
    assert_same_predictions(model, load(path, encoder=encoder()), X)
    with pytest.raises(ModelFileError, match="no file was written"):
        save(baselines.ModelAverage([first, second]).fit(X, y), path)


# The file.


@pytest.fixture(params=["CoxPH", "DeepSurvivalMachines"])
def model(request):
    return fitted(request.param)


@pytest.fixture
def saved(model, path):
    save(model, path)
    return path


def test_truncated_files_and_flipped_bits_are_refused(saved):
    content = saved.read_bytes()
    damaged = [content[: int(share * len(content))] for share in (0.0, 0.001, 0.3, 0.9, 0.9999)]
    rng = np.random.default_rng(0)
    header = 8 + int.from_bytes(content[:8], "little")
    end = len(content[:header].rstrip(b" "))
    positions = rng.integers(8, end, 150), rng.integers(header, len(content), 60)
    for position in [*range(8), *np.concatenate(positions), len(content) - 1]:
        altered = bytearray(content)
        altered[position] ^= 1
        damaged.append(altered)
    for altered in damaged:
        saved.write_bytes(altered)
        with pytest.raises(ModelFileError):
            load(saved)


@pytest.mark.parametrize(
    "content",
    [b"time,event\n1,0\n", b"", pickle.dumps({}), bytes(1000), (2**62).to_bytes(8, "little")],
    ids=["text", "empty", "pickle", "zeros", "huge header"],
)
def test_other_files_are_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a complete file of lifemix"):
        load(path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"lifemix": "{}"}, {"lifemix": "3"}])
def test_other_safetensors_files_are_refused(metadata, path):
    save_file({"weights": np.zeros(3)}, path, metadata)
    with pytest.raises(ModelFileError, match="of lifemix: .*Fit the model again and save it"):
        load(path)


def test_files_that_cannot_be_opened_are_refused(tmp_path, model):
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "nowhere", ""):
        with pytest.raises(ModelFileError, match="there is no file"):
            load(tmp_path / name)
    with pytest.raises(ModelFileError, match="cannot be written: .*Check the folder"):
        save(model, tmp_path / "no" / "folder")


@pytest.mark.parametrize("update", [{"format": 4}, {"format": 6}, {"format": None}])
def test_other_formats_are_refused(saved, update):
    content, arrays = read_arrays(saved)
    assert content["format"] == FORMAT == 5
    write_arrays(saved, content | update, arrays)
    with pytest.raises(ModelFileError, match=f"has format {update['format']}; this version reads"):
        load(saved)


def test_a_signed_file(saved, model):
    X, _ = table(model.n_events_)
    refused = pytest.raises(ModelFileError, match="is not signed with this key, or was altered")
    with refused:
        load(saved, key=KEY)
    save(model, saved, key=KEY)
    signed = saved.read_bytes()
    for again in (load(saved, key=KEY), load(saved, key=KEY.encode()), load(saved)):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with refused:
        load(saved, key=KEY + "!")
    save(model, saved, key=KEY)
    assert saved.read_bytes() == signed

    def metadata():
        with safe_open(saved, framework="np") as file:
            return json.loads(file.metadata()["lifemix"])

    signature = metadata()["signature"]
    content, arrays = read_arrays(saved)
    content["model"]["arguments"] |= {"verbose": True}
    write_arrays(saved, content, arrays)
    forged = metadata()
    for other in (signature, "\ud800"):
        save_file(arrays, saved, {"lifemix": json.dumps(forged | {"signature": other})})
        with refused:
            load(saved, key=KEY)


@pytest.mark.parametrize("key", ["short", b"", 3, ["a" * 20]])
def test_a_key_that_can_be_guessed_is_refused(key, path):
    with pytest.raises(SettingError, match="key must"):
        save(fitted("CoxPH"), path, key=key)
    assert not path.exists()


def test_equal_models_give_equal_bytes_in_every_process(tmp_path, path):
    model = fitted("DeepSurvivalMachines")
    save(model, path)
    (tmp_path / "pickle").write_bytes(pickle.dumps(model))
    code = "import pickle, sys; from lifemix import save; save(pickle.load(open(sys.argv[1], 'rb')), sys.argv[2])"
    arguments = tmp_path / "pickle", tmp_path / "other"
    subprocess.run([sys.executable, "-c", code, *arguments], check=True)
    assert (tmp_path / "other").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("interruption", [OSError("no space left"), KeyboardInterrupt()], ids=repr)
def test_an_interrupted_write_keeps_the_previous_file(saved, model, monkeypatch, interruption):
    content = saved.read_bytes()

    def interrupt(*arguments):
        raise interruption

    monkeypatch.setattr("lifemix.files.os.replace", interrupt)
    with pytest.raises((ModelFileError, KeyboardInterrupt)):
        save(model, saved)
    assert saved.read_bytes() == content
    assert os.listdir(saved.parent) == [saved.name]


def test_loading_never_unpickles(saved, model, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    monkeypatch.setattr(torch, "load", refuse)
    monkeypatch.setattr(np, "load", refuse)
    X, _ = table(model.n_events_)
    np.testing.assert_array_equal(load(saved).predict(X), model.predict(X))


# Values.


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int64", "uint64", "float16", "float32", "float64", ">f8", "object"]
)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_arrays_and_tensors_come_back(dtype, shape):
    array = np.arange(0, 20 * np.prod(shape, dtype=int), 20).reshape(shape)
    array = array.astype(str).astype(object) if dtype == "object" else array.astype(dtype)
    encoder = _Encoder()
    content = json.loads(json.dumps(encoder.encode([array, array.T], "x")))
    decoded = _Decoder(encoder.arrays, {}).decode(content)
    for actual, expected in zip(decoded, (array, array.T), strict=True):
        np.testing.assert_array_equal(actual, expected)
        assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype.newbyteorder("="))
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
