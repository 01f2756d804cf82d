"""A fit that was killed goes on exactly where it was.

Run as a script, this file starts the fits of ``CASES`` in child processes that kill themselves on the way.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from lifemix import DeepSurvivalMachines, make_target
from lifemix.errors import FolderInUseError, LifemixWarning, ModelFileError, SettingError
from lifemix.training import Callback, Checkpoint, Fleet, ModuleFleet
from lifemix.training import checkpoint as checkpoint_module

TIMES = [0.5, 2.0, 8.0]
FILE = "lifemix-checkpoint-0.pt"


def data(n_events=2):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 3))
    time = rng.weibull(1.5, 150) * np.exp(X[:, 0])
    return X, make_target(time, rng.integers(0, n_events + 1, 150))


def encoder(seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.3))


def make(folder, **settings):
    common = {
        "hidden": (6,),
        "k": 2,
        "max_epochs": 6,
        "batch_size": 40,
        "learning_rate": 0.01,
        "checkpoint": folder,
    }
    common |= {"n_members": 1, "dropout": 0.0}  # also in a process of its own
    return DeepSurvivalMachines(**(common | settings))


# What is fitted, and where it is killed: at which call of what.
CASES = {
    "plain": ({}, "save", 3),
    "in the middle of an epoch": ({"optimizer": "rmsprop"}, "step", 11),
    "while writing": ({"optimizer": "sgd"}, "move", 3),
    "dropout, two members": (
        {"dropout": 0.4, "n_members": 2, "patience": 2, "max_epochs": 30},
        "save",
        4,
    ),
    "module with dropout": ({"encoder": encoder()}, "step", 11),
    "module after its best epoch": (
        {"encoder": encoder(), "learning_rate": 0.1, "batch_size": 20, "max_epochs": 8},
        "save",
        5,
    ),
    "second of two modules": ({"encoder": encoder(), "n_members": 2}, "save", 8),
    "when all is trained": ({}, "save", 6),
}


def kill_at(call, number):
    """Let this process kill itself at the numbered call of a function that training uses."""
    owner, name = {
        "save": (Checkpoint, "save"),
        "step": (Fleet, "step"),
        "move": (os, "replace"),
    }[call]
    function = getattr(owner, name)
    calls = []

    def deadly(*arguments):
        calls.append(1)
        if call != "save" and len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*arguments)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, deadly)


def run_and_die(root, n_threads):
    torch.set_num_threads(n_threads)
    ends = {}
    for name, (settings, call, number) in CASES.items():
        child = os.fork()
        if child == 0:
            kill_at(call, number)
            make(Path(root) / name, **settings).fit(*data())
            os._exit(0)
        ends[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps(ends))


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Return the folder where the killed fits left their checkpoints, one folder a case."""
    root = tmp_path_factory.mktemp("killed")
    source = str(Path(checkpoint_module.__file__).parents[2])
    command = [sys.executable, __file__, str(root), str(torch.get_num_threads())]
    result = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": source},
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == dict.fromkeys(CASES, -signal.SIGKILL)
    return root


@pytest.fixture
def epochs(monkeypatch):
    """Return a list with one entry for every epoch that is run from now on."""
    run = []
    for fleet in (Fleet, ModuleFleet):
        original = fleet.__dict__["run_epoch"]
        monkeypatch.setattr(
            fleet,
            "run_epoch",
            lambda self, original=original: (run.append(type(self)), original(self)),
        )
    return run


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
@pytest.mark.parametrize("name", CASES)
def test_a_killed_fit_goes_on_and_ends_as_if_it_had_not_been(name, killed, epochs):
    settings, _, _ = CASES[name]
    X, y = data()
    uninterrupted = make(None, **settings).fit(X, y)
    n_epochs = len(epochs)
    epochs.clear()
    assert (killed / name / FILE).exists()
    resumed = make(killed / name, **settings).fit(X, y)
    assert len(epochs) < n_epochs  # it did not begin again
    assert not (killed / name / FILE).exists()
    assert resumed.history_ == uninterrupted.history_
    assert resumed.best_epoch_ == uninterrupted.best_epoch_
    np.testing.assert_array_equal(
        resumed.predict_survival_function(X, TIMES),
        uninterrupted.predict_survival_function(X, TIMES),
    )
    np.testing.assert_array_equal(resumed.transform(X), uninterrupted.transform(X))


def test_checkpoints_do_not_change_a_fit_and_are_removed(tmp_path):
    X, y = data()
    plain = make(None).fit(X, y)
    with_folder = make(tmp_path / "new" / "folder").fit(X, y)
    np.testing.assert_array_equal(with_folder.predict(X), plain.predict(X))
    assert os.listdir(tmp_path / "new" / "folder") == []
    again = make(str(tmp_path / "new" / "folder")).fit(X, y)  # nothing is left to go on from
    assert again.history_ == plain.history_


class FailsAfter(Callback):
    def __init__(self, epochs):
        self.epochs = epochs

    def on_epoch_end(self, state):
        if state.epoch == self.epochs:
            raise RuntimeError("a callback of the user's failed")


def test_a_callback_that_fails_does_not_lose_its_epoch(tmp_path, epochs):
    X, y = data()
    with pytest.raises(RuntimeError, match="a callback of the user's failed"):
        make(tmp_path, callbacks=[FailsAfter(4)]).fit(X, y)
    epochs.clear()
    resumed = make(tmp_path).fit(X, y)
    assert len(epochs) == 2  # of six
    np.testing.assert_array_equal(resumed.predict(X), make(None).fit(X, y).predict(X))


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    """Return a function that fits and breaks off after two epochs, leaving its checkpoint in ``tmp_path``."""

    def fit(X, y, sample_weight=None, **settings):
        saves = []
        save = Checkpoint.save

        def break_off(self, fleet):
            save(self, fleet)
            saves.append(1)
            if len(saves) == 2:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Checkpoint, "save", break_off)
            with pytest.raises(KeyboardInterrupt):
                make(tmp_path, **settings).fit(X, y, sample_weight)
        return tmp_path

    return fit


OTHER_SETTINGS = [
    {"learning_rate": 0.02},
    {"random_state": 1},
    {"discount": 0.5},
    {"dropout": 0.1},
    {"weight_decay": 0.1},
    {"prior_strength": 0.1},
    {"head_prior": 0.1},
    {"objective": "elbo"},
    {"primitive": "lognormal"},
    {"k": 3},
    {"hidden": (7,)},
    {"activation": "tanh"},
    {"bias": False},
    {"optimizer": "sgd"},
    {"batch_size": 50},
    {"patience": 3},
    {"n_members": 2},
    {"validation_fraction": 0.3},
    {"preprocessor": None},
    {"encoder": encoder()},
]


@pytest.mark.parametrize("settings", OTHER_SETTINGS, ids=lambda settings: next(iter(settings)))
def test_a_checkpoint_of_other_settings_is_refused(interrupted, settings):
    X, y = data()
    folder = interrupted(X, y)
    with pytest.raises(
        ModelFileError, match="belongs to another fit .*remove it, or give another folder"
    ):
        make(folder, **settings).fit(X, y)
    assert (folder / FILE).exists()
    assert len(make(folder).fit(X, y).history_) == 6  # its own fit still goes on


def _data(**columns):
    X, y = data(1)
    event = np.where(np.arange(150) == 3, 1, y["event"])
    fields = {"time": y["time"], "event": event, "entry": y["time"] / 3, "upper": None} | columns
    return X, make_target(**fields)


OTHER_DATA = {
    "time": lambda y: {"time": y["time"] * 1.5},
    "event": lambda y: {"event": np.roll(y["event"], 1)},
    "entry": lambda y: {"entry": y["time"] / 2},
    "no entry": lambda y: {"entry": None},
    "upper": lambda y: {"upper": np.where(np.arange(150) == 3, 2 * y["time"], np.nan)},
}


@pytest.mark.parametrize("change", OTHER_DATA.values(), ids=OTHER_DATA.keys())
def test_a_checkpoint_of_another_target_is_refused(interrupted, change):
    X, y = _data()
    folder = interrupted(X, y)
    with pytest.raises(ModelFileError, match="belongs to another fit"):
        make(folder).fit(*_data(**change(y)))


def test_a_checkpoint_of_other_rows_weights_or_starting_weights_is_refused(interrupted):
    X, y = data()
    folder = interrupted(X, y)
    with pytest.raises(ModelFileError, match="belongs to another fit"):
        make(folder).fit(X + 0.5 * X**2, y)
    with pytest.raises(ModelFileError, match="belongs to another fit"):
        make(folder).fit(X, y, sample_weight=np.arange(1, 151))
    (folder / FILE).unlink()
    interrupted(X, y, encoder=encoder(0))
    with pytest.raises(ModelFileError, match="belongs to another fit"):
        make(folder, encoder=encoder(1)).fit(X, y)


@pytest.mark.parametrize("content", [b"", b"half a file", bytes(100)])
def test_a_broken_checkpoint_is_named(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(ModelFileError, match="checkpoint .*is damaged .*remove it"):
        make(tmp_path).fit(*data())


def test_every_altered_bit_is_noticed(interrupted):
    X, y = data()
    folder = interrupted(X, y, encoder=encoder(), max_epochs=3)
    whole = (folder / FILE).read_bytes()
    rng = np.random.default_rng(0)
    places = [0, 31, 32, *rng.integers(33, len(whole), 30)]
    for place in places:
        altered = bytearray(whole)
        altered[place] ^= 1 << int(rng.integers(8))
        (folder / FILE).write_bytes(altered)
        with pytest.raises(
            ModelFileError, match="checkpoint .*is damaged or belongs to another fit.*remove it"
        ):
            make(folder, encoder=encoder(), max_epochs=3).fit(X, y)
    (folder / FILE).write_bytes(whole)
    resumed = make(folder, encoder=encoder(), max_epochs=3).fit(X, y)
    np.testing.assert_array_equal(
        resumed.predict(X), make(None, encoder=encoder(), max_epochs=3).fit(X, y).predict(X)
    )


def test_without_space_for_checkpoints_the_fit_goes_on_with_one_warning(tmp_path, monkeypatch):
    X, y = data()
    expected = make(None).fit(X, y).predict(X)

    def full(*paths):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("lifemix.files.os.replace", full)
        with pytest.warns(LifemixWarning) as warned:
            model = make(tmp_path).fit(X, y)
    assert [str(each.message)[:29] for each in warned] == ["no checkpoint is written, the"]
    assert "No space left" in str(warned[0].message)
    np.testing.assert_array_equal(model.predict(X), expected)
    assert os.listdir(tmp_path) == []


def test_where_there_can_be_no_folder_the_fit_goes_on_with_one_warning(tmp_path):
    X, y = data()
    (tmp_path / "file").touch()
    with pytest.warns(
        LifemixWarning, match="no checkpoint is written, the fit goes on without"
    ) as warned:
        make(tmp_path / "file" / "below").fit(X, y)
    assert len(warned) == 1


class FitsInTheSameFolder(Callback):
    def on_epoch_end(self, state):
        with pytest.raises(
            FolderInUseError,
            match="another process uses the folder .*checkpoint.*use another folder",
        ):
            make(self.folder, random_state=1).fit(*data())
        state.stop()


def test_two_fits_at_a_time_cannot_share_a_folder(tmp_path):
    other = FitsInTheSameFolder()
    other.folder = tmp_path
    make(tmp_path, callbacks=[other]).fit(*data())
    assert os.listdir(tmp_path) == []


def test_a_fit_without_a_seed_cannot_go_on_so_it_is_refused(tmp_path):
    with pytest.raises(
        SettingError,
        match="checkpoint needs a random seed; got random_state=None. Set random_state",
    ):
        make(tmp_path, random_state=None).fit(*data())


def test_fits_one_after_the_other_may_share_a_folder(tmp_path):
    X, y = data()
    model = make(tmp_path)
    first, second = (
        make(tmp_path, learning_rate=rate).fit(X, y).predict(X) for rate in (0.01, 0.02)
    )
    assert np.abs(first - second).max() > 0
    np.testing.assert_array_equal(model.fit(X, y).predict(X), first)


if __name__ == "__main__":
    run_and_die(sys.argv[1], int(sys.argv[2]))
