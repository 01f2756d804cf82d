"""The file: whole or refused, never unpickled, the same bytes for the same model."""

import json
import os
import pickle

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

import lifemix
from lifemix import load, save
from lifemix.errors import ModelFileError, SettingError
from lifemix.persistence import FORMAT_VERSION
from saved_models import data, fitted, forge, parts


@pytest.fixture(params=["CoxPH", "DeepSurvivalMachines"])
def model(request):
    return fitted(request.param)


@pytest.fixture
def saved(model, tmp_path):
    save(model, tmp_path / "model")
    return tmp_path / "model"


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
    used = len(whole[:header].rstrip(b" "))  # blanks fill the header up to a round length
    places = [*range(8), *rng.integers(8, used, 150), *rng.integers(header, len(whole), 60), len(whole) - 1]
    for place in places:
        altered = whole.copy()
        altered[place] ^= 1
        saved.write_bytes(altered)
        with pytest.raises(ModelFileError):
            load(saved)


@pytest.mark.parametrize(("old", "new"), [(b'"F64"', b'"I64"'), (b'"lifemix":"3"', b'"lifemix":"0"')])
def test_altered_types_and_versions_are_noticed(saved, old, new):
    whole = saved.read_bytes()
    assert whole.count(old) >= 1
    saved.write_bytes(whole.replace(old, new))
    with pytest.raises(ModelFileError, match="altered or damaged"):
        load(saved)


def test_altered_shapes_are_noticed(saved):
    header, arrays = parts(saved)
    arrays["training_summary_.times.left"] = arrays["training_summary_.times.left"][:, None]
    save_file(arrays, saved, header)
    with pytest.raises(ModelFileError, match="altered or damaged"):
        load(saved)


def test_an_array_more_or_less_is_noticed(saved):
    header, arrays = parts(saved)
    save_file(arrays | {"more": np.zeros(3)}, saved, header)
    with pytest.raises(ModelFileError, match="altered or damaged"):
        load(saved)
    arrays.pop("training_summary_.times.left")
    save_file(arrays, saved, header)
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
    save_file({"weights": np.zeros(3)}, tmp_path / "model", header)
    with pytest.raises(ModelFileError, match="not of lifemix"):
        load(tmp_path / "model")


def test_a_type_of_numbers_that_numpy_does_not_have_is_refused(tmp_path):
    from safetensors.torch import save_file as save_tensors

    save_tensors({"weights": torch.zeros(3, dtype=torch.bfloat16)}, tmp_path / "model", {"lifemix": "2"})
    with pytest.raises(ModelFileError, match="is no model file|not of lifemix"):
        load(tmp_path / "model")


def test_a_newer_version_says_update(saved):
    header, arrays = parts(saved)
    save_file(arrays, saved, header | {"lifemix": "4"})
    assert FORMAT_VERSION == 3
    with pytest.raises(ModelFileError, match="has format 4; this version reads up to 3. Update lifemix"):
        load(saved)


@pytest.mark.parametrize("version", ["0", "-1", "two", "", "2.0"])
def test_a_version_that_never_was_is_refused(saved, version):
    header, arrays = parts(saved)
    forge(saved, header["content"], arrays, version)
    with pytest.raises(ModelFileError):
        load(saved)


@pytest.mark.parametrize("version", ["9" * 5000, "٣", "1" * 7])
def test_a_version_beyond_all_bounds_is_refused(saved, version):
    header, arrays = parts(saved)
    forge(saved, header["content"], arrays, version)
    with pytest.raises(ModelFileError):
        load(saved)


def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="is no model file, .*a pipe"):
        load(tmp_path / "pipe")


def test_a_loaded_model_does_not_depend_on_its_file(saved, model):
    X, _ = data(model.n_events_)
    again = load(saved)
    before = again.predict_survival_function(X, [0.5, 2.0])
    with open(saved, "r+b") as file:  # in place, as cp does
        file.write(bytes(saved.stat().st_size))
        file.truncate(10)
    np.testing.assert_array_equal(again.predict_survival_function(X, [0.5, 2.0]), before)


KEY = "a secret of enough letters"


def test_a_signed_file_loads_with_its_key_and_without(saved, model):
    save(model, saved, key=KEY)
    X, _ = data(model.n_events_)
    for again in (load(saved, key=KEY), load(saved, key=KEY.encode()), load(saved)):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_with_a_key_only_what_it_signed_is_loaded(saved, model):
    with pytest.raises(ModelFileError, match="is not signed; expected a file that was saved with this key"):
        load(saved, key=KEY)
    save(model, saved, key=KEY + "!")
    with pytest.raises(ModelFileError, match="was signed with another key, or altered since"):
        load(saved, key=KEY)


def test_an_altered_file_with_a_right_checksum_has_no_right_signature(saved, model):
    save(model, saved, key=KEY)
    header, arrays = parts(saved)
    content = json.loads(header["content"]) | {"options": {}}
    forge(saved, content, arrays)
    altered, _ = parts(saved)
    save_file(arrays, saved, altered | {"signature": header["signature"]})
    with pytest.raises(ModelFileError, match="was signed with another key, or altered since"):
        load(saved, key=KEY)


@pytest.mark.parametrize("key", ["short", b"", 3, ["a" * 20]])
def test_a_key_that_can_be_guessed_is_refused(model, key, tmp_path):
    with pytest.raises(SettingError, match="key must"):
        save(model, tmp_path / "m", key=key)
    assert not list(tmp_path.iterdir())


def test_a_signed_file_is_the_same_bytes_each_time(model, tmp_path):
    for name in "ab":
        save(model, tmp_path / name, key=KEY)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_missing_file_and_folder(tmp_path, model):
    with pytest.raises(ModelFileError, match="there is no file"):
        load(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match="is no model file"):
        load(tmp_path)
    with pytest.raises(ModelFileError, match="cannot be written: .*Check the folder"):
        save(model, tmp_path / "no" / "folder")


def test_loading_never_unpickles(saved, model, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("unpickled")

    for module, names in {pickle: ("load", "loads", "Unpickler"), torch: ("load",), np: ("load",)}.items():
        for name in names:
            monkeypatch.setattr(module, name, refuse)
    X, _ = data(model.n_events_)
    np.testing.assert_array_equal(load(saved).predict(X), model.predict(X))


def test_the_file_is_safetensors_and_json_without_pickle(saved, model):
    header, arrays = parts(saved)
    assert set(header) == {"lifemix", "content", "checksum"}
    content = json.loads(header["content"], parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert set(content) == {"class", "options", "fitted"}
    assert content["class"] == type(model).__name__
    assert content["fitted"]["feature_names_in_"] == ["a", "b", "group", "yes"]
    assert {array.dtype.kind for array in arrays.values()} <= {"f", "i"}
    raw = saved.read_bytes()
    assert not raw.startswith((b"\x80", b"PK"))  # how a pickle and an archive of torch.save begin


def test_the_same_model_gives_the_same_bytes(saved, model, tmp_path):
    for _ in range(5):  # a table in the order of a hash would differ sooner or later
        save(model, tmp_path / "other")
        assert (tmp_path / "other").read_bytes() == saved.read_bytes()


def test_a_failing_write_leaves_the_old_file_whole(saved, model, monkeypatch):
    before = saved.read_bytes()

    def full(descriptor):
        os.ftruncate(descriptor, 100)
        raise OSError("no space left on device")

    monkeypatch.setattr("lifemix.files.os.fsync", full)
    with pytest.raises(ModelFileError, match="cannot be written: no space left"):
        save(model, saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_the_file_has_the_usual_permissions(saved):
    other = saved.with_name("other")
    other.touch()
    assert saved.stat().st_mode == other.stat().st_mode


def test_a_kill_before_the_move_leaves_the_old_file_whole(saved, model, monkeypatch):
    before = saved.read_bytes()

    def stop(*paths):
        raise KeyboardInterrupt

    monkeypatch.setattr("lifemix.files.os.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        save(model, saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_the_file_names_no_place_of_this_machine(saved):
    raw = saved.read_bytes()
    places = [
        saved.parent,
        os.getcwd(),
        os.path.dirname(lifemix.__file__),
        os.path.expanduser("~"),
        os.uname().nodename,
    ]
    assert not [place for place in map(str, places) if len(place) > 1 and place.encode() in raw]


def test_metadata_goes_along(model, tmp_path):
    copy = pickle.loads(pickle.dumps(model))
    save(copy, tmp_path / "m")
    assert not hasattr(load(tmp_path / "m"), "metadata_")
    copy.metadata_ = {"time": "days", "nested": [1, {"a": None}]}
    save(copy, tmp_path / "m")
    assert load(tmp_path / "m").metadata_ == copy.metadata_


@pytest.mark.parametrize("metadata", [{"a": np.nan}, {"a": object()}])
def test_metadata_that_is_no_json_is_refused(metadata, model, tmp_path):
    copy = pickle.loads(pickle.dumps(model))
    copy.metadata_ = metadata
    with pytest.raises(ModelFileError, match="metadata_ must be of JSON's types"):
        save(copy, tmp_path / "m")
    assert not list(tmp_path.iterdir())
