"""A fit that was killed resumes and gives identical results.

Run as a script, this file starts the fits of ``CASES`` in child processes that kill themselves.
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


SETTINGS = {
    "hidden": (6,),
    "k": 2,
    "max_epochs": 6,
    "batch_size": 40,
    "learning_rate": 0.01,
    "n_members": 1,
    "dropout": 0.0,
}


def make(folder, **options):
    return DeepSurvivalMachines(**(SETTINGS | {"checkpoint": folder} | options))


# The settings of a fit, and at which call of which function it is killed.
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
    "after the last epoch": ({}, "save", 6),
}


def kill_at(call, number):
    """Let this process kill itself at the numbered call of a function that training uses."""
    functions = {"save": (Checkpoint, "save"), "step": (Fleet, "step"), "move": (os, "replace")}
    holder, name = functions[call]
    function, calls = getattr(holder, name), []

    def deadly(*arguments):
        calls.append(1)
        if call != "save" and len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        result = function(*arguments)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(holder, name, deadly)


def run_and_die(root, n_threads):
    torch.set_num_threads(n_threads)
    exit_codes = {}
    for name, (options, call, number) in CASES.items():
        child = os.fork()
        if child == 0:
            kill_at(call, number)
            make(Path(root) / name, **options).fit(*data())
            os._exit(0)
        exit_codes[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(json.dumps(exit_codes))


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Return the folder of the checkpoints of the killed fits, with a folder per case."""
    root = tmp_path_factory.mktemp("killed")
    source = str(Path(checkpoint_module.__file__).parents[2])
    command = [sys.executable, __file__, str(root), str(torch.get_num_threads())]
    environment = os.environ | {"PYTHONPATH": source}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == dict.fromkeys(CASES, -signal.SIGKILL)
    return root


@pytest.fixture
def epochs(monkeypatch):
    """Return a list with one entry for every epoch that runs during the test."""
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
def test_a_killed_fit_resumes_and_ends_with_identical_results(name, killed, epochs):
    options, _, _ = CASES[name]
    X, y = data()
    uninterrupted = make(None, **options).fit(X, y)
    n_epochs = len(epochs)
    epochs.clear()
    assert (killed / name / FILE).exists()
    resumed = make(killed / name, **options).fit(X, y)
    assert len(epochs) < n_epochs
    assert not (killed / name / FILE).exists()
    assert resumed.history_ == uninterrupted.history_
    assert resumed.best_epoch_ == uninterrupted.best_epoch_
    survival, expected = (
        model.predict_survival_function(X, [0.5, 2.0, 8.0]) for model in (resumed, uninterrupted)
    )
    np.testing.assert_array_equal(survival, expected)
    np.testing.assert_array_equal(resumed.transform(X), uninterrupted.transform(X))


def test_checkpoints_do_not_change_a_fit_and_are_removed(tmp_path):
    X, y = data()
    expected = make(None).fit(X, y)
    for folder in (tmp_path / "new" / "folder", str(tmp_path / "new" / "folder")):
        model = make(folder).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), expected.predict(X))
        assert os.listdir(folder) == []
    other = make(folder, learning_rate=0.02).fit(X, y).predict(X)
    assert np.abs(other - expected.predict(X)).max() > 0


class FailsAfter(Callback):
    def __init__(self, n_epochs, error=KeyboardInterrupt):
        self.n_epochs, self.error = n_epochs, error

    def on_epoch_end(self, state):
        if state.epoch == self.n_epochs:
            raise self.error


def interrupt(folder, X, y, sample_weight=None, **options):
    """Fit and stop after two epochs, so that a checkpoint remains."""
    with pytest.raises(KeyboardInterrupt):
        make(folder, callbacks=[FailsAfter(2)], **options).fit(X, y, sample_weight)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_callback_that_fails_does_not_lose_its_epoch(error, tmp_path, epochs):
    X, y = data()
    with pytest.raises(error):
        make(tmp_path, callbacks=[FailsAfter(4, error)]).fit(X, y)
    epochs.clear()
    resumed = make(tmp_path).fit(X, y)
    assert len(epochs) == 2  # of six
    np.testing.assert_array_equal(resumed.predict(X), make(None).fit(X, y).predict(X))


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
    {"encoder": encoder(1)},
]
REFUSED = "belongs to another fit .*remove it, or give another folder"


def test_a_checkpoint_of_another_fit_is_refused(tmp_path):
    X, y = data(1)
    rows, time, event = np.arange(150), y["time"], np.where(np.arange(150) == 3, 1, y["event"])
    columns = {"time": time, "event": event, "entry": time / 3}
    target = make_target(**columns)
    interrupt(tmp_path, X, target)
    for options in OTHER_SETTINGS:
        with pytest.raises(ModelFileError, match=REFUSED):
            make(tmp_path, **options).fit(X, target)
    for changes in (
        {"time": time * 1.5},
        {"event": np.roll(event, 1)},
        {"entry": time / 2},
        {"entry": None},
        {"upper": np.where(rows == 3, 2 * time, np.nan)},
    ):
        with pytest.raises(ModelFileError, match=REFUSED):
            make(tmp_path).fit(X, make_target(**(columns | changes)))
    with pytest.raises(ModelFileError, match=REFUSED):
        make(tmp_path).fit(X + 0.5 * X**2, target)
    with pytest.raises(ModelFileError, match=REFUSED):
        make(tmp_path).fit(X, target, sample_weight=rows + 1)
    assert len(make(tmp_path).fit(X, target).history_) == 6  # the fit itself still resumes


def test_every_altered_bit_is_noticed(tmp_path):
    X, y = data()
    file, options = tmp_path / FILE, {"encoder": encoder(), "max_epochs": 3}
    interrupt(tmp_path, X, y, **options)
    with pytest.raises(ModelFileError, match=REFUSED):
        make(tmp_path, **(options | {"encoder": encoder(1)})).fit(X, y)
    content, rng = file.read_bytes(), np.random.default_rng(0)
    altered = [b"", b"half a file", bytes(100)]
    for index in (0, 31, 32, *rng.integers(33, len(content), 9)):
        bit = content[index] ^ (1 << int(rng.integers(8)))
        altered.append(content[:index] + bytes([bit]) + content[index + 1 :])
    for damaged in altered:
        file.write_bytes(damaged)
        with pytest.raises(ModelFileError, match="checkpoint .*is damaged or .*remove it"):
            make(tmp_path, **options).fit(X, y)
    file.write_bytes(content)
    resumed, expected = (make(folder, **options).fit(X, y) for folder in (tmp_path, None))
    np.testing.assert_array_equal(resumed.predict(X), expected.predict(X))


@pytest.mark.parametrize("problem", ["full disk", "no folder"])
def test_a_fit_that_cannot_write_checkpoints_continues_with_a_warning(
    problem, tmp_path, monkeypatch
):
    def full(*paths):
        raise OSError(28, "No space left on device")

    X, y = data()
    expected, folder = make(None).fit(X, y).predict(X), tmp_path / "file"
    if problem == "no folder":
        folder.touch()
        folder = folder / "below"
    with monkeypatch.context() as patch:
        if problem == "full disk":
            patch.setattr("lifemix.files.os.replace", full)
        with pytest.warns(LifemixWarning, match="no checkpoint is written, the fit goes") as caught:
            model = make(folder).fit(X, y)
    assert len(caught) == 1
    assert problem == "no folder" or "No space left" in str(caught[0].message)
    np.testing.assert_array_equal(model.predict(X), expected)


class FitsInTheSameFolder(Callback):
    def on_epoch_end(self, state):
        with pytest.raises(FolderInUseError, match="another process uses the folder"):
            make(self.folder, random_state=1).fit(*data())
        state.stop()


def test_two_fits_at_a_time_cannot_share_a_folder(tmp_path):
    other = FitsInTheSameFolder()
    other.folder = tmp_path
    make(tmp_path, callbacks=[other]).fit(*data())
    assert os.listdir(tmp_path) == []


def test_a_fit_without_a_seed_cannot_resume_and_is_refused(tmp_path):
    with pytest.raises(SettingError, match="checkpoint needs a random seed; got random_state=None"):
        make(tmp_path, random_state=None).fit(*data())


if __name__ == "__main__":
    run_and_die(sys.argv[1], int(sys.argv[2]))
