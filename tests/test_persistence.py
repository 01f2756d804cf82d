"""One file, the same predictions bit for bit, and nothing else accepted."""

import json
import os
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from sklearn.preprocessing import StandardScaler
from torch import nn

import lifemix
from lifemix import DeepSurvivalMachines, load, make_target, save
from lifemix.errors import ModelFileError, SettingError
from lifemix.preprocessing import TabularPreprocessor

TIMES = [0.0, 0.3, 1.0, 4.0, 50.0]


def quick(**settings):
    return DeepSurvivalMachines(**({"hidden": (6,), "k": 2, "max_epochs": 2, "learning_rate": 0.01} | settings))


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 2)), columns=["age", "dose"])
    X["sex"] = np.where(rng.random(n) < 0.5, "F", "M")
    X.loc[rng.random(n) < 0.2, "dose"] = np.nan
    return X


def target(n=120, n_events=1, seed=0):
    rng = np.random.default_rng(seed)
    return make_target(rng.weibull(1.5, n) * 3, rng.integers(0, n_events + 1, n))


def numbers(n=120, seed=0):
    return np.random.default_rng(seed).standard_normal((n, 3))


def encoder():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.2), nn.Linear(5, 4))


CASES = {
    "one risk, table": lambda: (quick(), table(), target()),
    "competing risks, table": lambda: (quick(primitive="lognormal"), table(), target(n_events=2)),
    "ensemble": lambda: (quick(n_members=3, dropout=0.2), table(), target(n_events=2)),
    "array": lambda: (quick(primitive="loglogistic"), numbers(), target()),
    "no preprocessor, array": lambda: (quick(preprocessor=None), numbers(), target()),
    "no preprocessor, table": lambda: (quick(preprocessor=None), table()[["age"]], target()),
    "own settings of ours": lambda: (
        quick(preprocessor=TabularPreprocessor(fill_values={"dose": 1.5}, scale=False)),
        table(),
        target(),
    ),
    "linear": lambda: (quick(hidden=()), numbers(), target()),
    "no held-out rows": lambda: (quick(validation_fraction=0), numbers(), target()),
    "no covariate": lambda: (quick(k=1, preprocessor=None), np.zeros((120, 1)), target()),
    "paper": lambda: (DeepSurvivalMachines.paper(max_epochs=1), numbers(), target()),
    "numpy settings": lambda: (
        quick(k=np.int64(2), dropout=np.float32(0.5), random_state=np.int64(3), device=torch.device("cpu"), hidden=[4]),
        numbers(),
        target(),
    ),
    "interval, truncation": lambda: (
        quick(random_state=np.random.default_rng(0)),
        numbers(4),
        make_target([2.0, 1, 3, 4], [1, 1, 0, 1], [0, 0.5, 0, 1], [3, np.nan, np.nan, np.nan]),
    ),
}


def assert_same_model(one, other, X, y):
    np.testing.assert_array_equal(other.predict_survival_function(X, TIMES), one.predict_survival_function(X, TIMES))
    for event in range(1, one.n_events_ + 1):
        np.testing.assert_array_equal(
            other.predict_cumulative_incidence(X, TIMES, event), one.predict_cumulative_incidence(X, TIMES, event)
        )
    np.testing.assert_array_equal(other.predict(X), one.predict(X))
    np.testing.assert_array_equal(other.transform(X), one.transform(X))
    assert other.log_likelihood(X, y) == one.log_likelihood(X, y)
    assert other.get_feature_names_out().tolist() == one.get_feature_names_out().tolist()
    for name in ("n_events_", "n_features_in_", "best_epoch_", "n_parameters_", "time_unit_", "last_event_time_"):
        assert getattr(other, name) == getattr(one, name), name
    assert str(other.history_) == str(one.history_)  # NaN is not equal to itself
    assert list(getattr(other, "feature_names_in_", [])) == list(getattr(one, "feature_names_in_", []))


@pytest.mark.filterwarnings("ignore:too few events")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_predictions_are_the_same_bit_for_bit(case, tmp_path):
    model, X, y = case()
    model.fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert_same_model(model, again, X, y)
    assert os.listdir(tmp_path) == ["model"]
    save(again, tmp_path / "again")
    assert parts(tmp_path / "again")[0] == parts(tmp_path / "model")[0]  # header and checksum


def test_options_come_back(tmp_path):
    model = quick(discount=0.5, hidden=(4, 4), preprocessor=TabularPreprocessor(scale=False), t_max=1e6)
    save(model.fit(table(), target()), tmp_path / "model")
    before, after = model.get_params(deep=False), load(tmp_path / "model").get_params(deep=False)
    assert str(before.pop("preprocessor")) == str(after.pop("preprocessor"))
    assert after == before


def test_a_loaded_model_scores_and_can_be_fitted_again(tmp_path):
    model = quick().fit(table(), target())
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.score(table(seed=1), target(seed=1)) == model.score(table(seed=1), target(seed=1))
    assert_same_model(model, again.fit(table(), target()), table(), target())


@pytest.mark.parametrize("members", [1, 2])
def test_encoder_of_the_users(members, tmp_path):
    model = quick(encoder=encoder(), n_members=members).fit(numbers(), target())
    save(model, tmp_path / "model")
    fresh = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.2), nn.Linear(5, 4))
    state = {name: values.clone() for name, values in fresh.state_dict().items()}
    again = load(tmp_path / "model", encoder=fresh)
    assert_same_model(model, again, numbers(), target())
    assert all(torch.equal(values, state[name]) for name, values in fresh.state_dict().items())


def test_frozen_part_of_an_encoder_is_in_the_file(tmp_path):
    own = encoder()
    own[0].requires_grad_(False)
    model = quick(encoder=own).fit(numbers(), target())
    save(model, tmp_path / "model")
    fresh = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Dropout(0.2), nn.Linear(5, 4))
    fresh[0].requires_grad_(False)
    assert_same_model(model, load(tmp_path / "model", encoder=fresh), numbers(), target())


WRONG_ENCODERS = {
    "none": (None, ModelFileError, r"Use load\(path, encoder=\.\.\.\)"),
    "other widths": (nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 4)), ModelFileError, "shape"),
    "other inputs": (nn.Linear(7, 4), SettingError, r"inputs of shape \[rows, 3\]"),
    "nothing frozen": (encoder(), ModelFileError, "shape"),
}


@pytest.mark.parametrize(("module", "error", "message"), WRONG_ENCODERS.values(), ids=WRONG_ENCODERS.keys())
def test_wrong_encoders_are_refused(module, error, message, tmp_path):
    own = encoder()
    own[0].requires_grad_(False)
    save(quick(encoder=own).fit(numbers(), target()), tmp_path / "model")
    with pytest.raises(error, match=message):
        load(tmp_path / "model", encoder=module)


def test_an_encoder_of_as_many_weights_but_another_shape_is_refused(tmp_path):
    class Other(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.spare = nn.Parameter(torch.zeros(3, 4)), nn.Parameter(torch.zeros(2))

        def forward(self, x):
            return x @ self.weight

    own = nn.Sequential(nn.Linear(3, 2, bias=False), nn.Linear(2, 4, bias=False))
    save(quick(encoder=own).fit(numbers(), target()), tmp_path / "model")
    with pytest.raises(ModelFileError, match="Give a module of the shape that was saved"):
        load(tmp_path / "model", encoder=Other())


def test_an_encoder_for_a_model_without_one_is_refused(saved):
    with pytest.raises(ModelFileError, match="no encoder of its own; got Linear. Leave encoder out"):
        load(saved, encoder=nn.Linear(3, 4))


@pytest.fixture(scope="module")
def fitted():
    return quick().fit(table(), target())


@pytest.fixture
def saved(fitted, tmp_path):
    save(fitted, tmp_path / "model")
    return tmp_path / "model"


def parts(path):
    """Return the header of a file and its tensors."""
    with safe_open(path, framework="pt") as file:
        return file.metadata(), {name: file.get_tensor(name) for name in file.keys()}


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.9999])
def test_a_truncated_file_is_refused(saved, share):
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ModelFileError, match="no model file, or part of one.*Save the model again"):
        load(saved)


def test_every_altered_byte_is_noticed(saved):
    whole = bytearray(saved.read_bytes())
    rng = np.random.default_rng(0)
    header = 8 + int.from_bytes(whole[:8], "little")
    places = [*range(8), *rng.integers(8, header, 150), *rng.integers(header, len(whole), 60), len(whole) - 1]
    for place in places:
        altered = whole.copy()
        altered[place] ^= 1
        saved.write_bytes(altered)
        with pytest.raises(ModelFileError):
            load(saved)


@pytest.mark.parametrize(("old", "new"), [(b'"F32"', b'"I32"'), (b'"lifemix":"1"', b'"lifemix":"0"')])
def test_altered_types_and_versions_are_noticed(saved, old, new):
    whole = saved.read_bytes()
    assert whole.count(old) >= 1
    saved.write_bytes(whole.replace(old, new))
    with pytest.raises(ModelFileError, match="altered or damaged"):
        load(saved)


def test_altered_shapes_are_noticed(saved):
    header, tensors = parts(saved)
    tensors["parameters"] = tensors["parameters"].T.contiguous()
    save_file(tensors, saved, header)
    with pytest.raises(ModelFileError, match="altered or damaged"):
        load(saved)


FOREIGN = {
    "text": b"time,event\n1,0\n",
    "empty": b"",
    "pickle": pickle.dumps({"model": 1}),
    "zeros": bytes(1000),
    "huge header": (2**62).to_bytes(8, "little") + b"{}",
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_foreign_file_is_refused(content, tmp_path):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError, match="is no model file"):
        load(tmp_path / "model")


@pytest.mark.parametrize("header", [None, {"format": "pt"}, {"lifemix": "1"}, {"content": "{}"}])
def test_a_foreign_safetensors_file_is_refused(header, tmp_path):
    save_file({"weights": torch.zeros(3)}, tmp_path / "model", header)
    with pytest.raises(ModelFileError, match="not of lifemix"):
        load(tmp_path / "model")


def test_a_newer_version_says_update(saved):
    header, tensors = parts(saved)
    save_file(tensors, saved, header | {"lifemix": "2"})
    with pytest.raises(ModelFileError, match="has format 2; this version reads up to 1. Update lifemix"):
        load(saved)


FORGED = {
    "nothing": "{}",
    "no object": "[1, 2]",
    "no JSON": "{",
    "other class": {"class": "Other"},
    "unknown option": {"options": {"hidden": [], "preprocessor": "auto", "clusters": 3}},
    "unknown preprocessor": {"preprocessor": {"kind": "pickle"}},
    "other layout": {"layout": {}},
    "other inputs": {"n_inputs": 99},
    "text for a number": {"time_scale": "x"},
}


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED.keys())
def test_a_forged_header_with_a_right_checksum_gives_a_clear_error(saved, change):
    from lifemix.persistence import _checksum

    header, tensors = parts(saved)
    content = change if isinstance(change, str) else json.dumps(json.loads(header["content"]) | change)
    save_file(tensors, saved, header | {"content": content, "checksum": _checksum("1", content, tensors)})
    with pytest.raises(ModelFileError):
        load(saved)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(ModelFileError, match="there is no file"):
        load(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match="is no model file"):
        load(tmp_path)


def test_models_that_cannot_be_written_are_refused(fitted, tmp_path):
    class Mine(DeepSurvivalMachines):
        pass

    with pytest.raises(ModelFileError, match="Call fit first"):
        save(quick(), tmp_path / "model")
    with pytest.raises(ModelFileError, match="got Mine. Pickle it with joblib"):
        save(Mine().set_params(max_epochs=1).fit(numbers(), target()), tmp_path / "model")
    with pytest.raises(ModelFileError, match="StandardScaler cannot be written without pickle.*preprocessor=None"):
        save(quick(preprocessor=StandardScaler()).fit(numbers(), target()), tmp_path / "model")
    with pytest.raises(ModelFileError, match="cannot be written: .*Check the folder"):
        save(fitted, tmp_path / "no" / "folder")
    assert os.listdir(tmp_path) == []


def test_loading_never_unpickles(saved, fitted, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("unpickled")

    for module, names in {pickle: ("load", "loads", "Unpickler"), torch: ("load",), np: ("load",)}.items():
        for name in names:
            monkeypatch.setattr(module, name, refuse)
    np.testing.assert_array_equal(load(saved).predict(table()), fitted.predict(table()))


def test_the_file_is_safetensors_and_json_without_pickle(saved):
    header, tensors = parts(saved)
    assert set(header) == {"lifemix", "content", "checksum"}
    content = json.loads(header["content"], parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert content["class"] == "DeepSurvivalMachines"
    assert content["feature_names"] == ["age", "dose", "sex"]
    assert tensors["parameters"].dtype == torch.float32
    raw = saved.read_bytes()
    assert not raw.startswith((b"\x80", b"PK"))  # how a pickle and an archive of torch.save begin


def test_a_failing_write_leaves_the_old_file_whole(saved, fitted, monkeypatch):
    before = saved.read_bytes()

    def full(descriptor):
        os.ftruncate(descriptor, 100)
        raise OSError("no space left on device")

    monkeypatch.setattr("lifemix.persistence.os.fsync", full)
    with pytest.raises(ModelFileError, match="cannot be written: no space left"):
        save(fitted, saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_the_file_has_the_usual_permissions(saved):
    other = saved.with_name("other")
    other.touch()
    assert saved.stat().st_mode == other.stat().st_mode


def test_a_kill_before_the_move_leaves_the_old_file_whole(saved, fitted, monkeypatch):
    before = saved.read_bytes()

    def stop(*paths):
        raise KeyboardInterrupt

    monkeypatch.setattr("lifemix.persistence.os.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        save(fitted, saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_the_file_names_no_place_of_this_machine(tmp_path):
    model = quick(checkpoint=tmp_path / "checkpoints", encoder=nn.Sequential(nn.Linear(3, 2))).fit(numbers(), target())
    save(model, tmp_path / "model")
    raw = (tmp_path / "model").read_bytes()
    places = [tmp_path, os.getcwd(), os.path.dirname(lifemix.__file__), os.path.expanduser("~"), os.uname().nodename]
    assert not [place for place in map(str, places) if len(place) > 1 and place.encode() in raw]
    header, _ = parts(tmp_path / "model")
    assert not re.search(r"/[a-z]+/", header["content"])


def test_metadata_goes_along(tmp_path):
    model = quick().fit(numbers(), target())
    save(model, tmp_path / "m")
    assert not hasattr(load(tmp_path / "m"), "metadata_")
    model.metadata_ = {"time": "days", "nested": [1, {"a": None}]}
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").metadata_ == model.metadata_


@pytest.mark.parametrize("metadata", [{"a": np.nan}, {"a": object()}])
def test_metadata_that_is_no_json_is_refused(metadata, tmp_path):
    model = quick().fit(numbers(), target())
    model.metadata_ = metadata
    with pytest.raises(ModelFileError, match="metadata_ must be of JSON's types"):
        save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())
