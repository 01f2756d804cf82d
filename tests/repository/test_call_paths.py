"""How many files of the package a fit and a prediction pass, and how many modules an import loads."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lifemix
from lifemix import DeepSurvivalMachines, make_target

ROOT = str(Path(lifemix.__file__).parent)
RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 3))
Y = make_target(RNG.exponential(np.exp(X[:, 0])), RNG.integers(0, 2, 200))


def files_of(call):
    """Return the files of the package that have a function that the call runs."""
    files = set()

    def add(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(ROOT):
            files.add(code.co_filename)

    sys.setprofile(add)
    try:
        call()
    finally:
        sys.setprofile(None)
    return sorted(files)


@pytest.fixture(scope="module")
def model():
    return DeepSurvivalMachines(max_epochs=3).fit(X, Y)


def test_a_fit_passes_at_most_28_files(model):
    files = files_of(lambda: DeepSurvivalMachines(max_epochs=3).fit(X, Y))
    assert len(files) <= 28, files


def test_a_prediction_passes_at_most_14_files(model):
    model.predict_survival_function(X[:5], [0.5, 1.0])
    files = files_of(lambda: model.predict_survival_function(X[:5], [0.5, 1.0]))
    assert len(files) <= 14, files


def test_an_import_of_the_model_loads_no_training():
    code = (
        "import sys; from lifemix import DeepSurvivalMachines; "
        "print(*(name for name in sys.modules if name.startswith('lifemix')))"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(ROOT).parent)}
    modules = subprocess.check_output(
        [sys.executable, "-c", code], text=True, env=environment
    ).split()
    assert len(modules) <= 70, modules
    assert not [
        name for name in modules if name.startswith(("lifemix.training", "lifemix.metrics"))
    ]
