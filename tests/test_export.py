"""Exported programs: the numbers of ``predict`` to 1e-6, in a Python without lifemix."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.preprocessing import StandardScaler
from torch import nn

from lifemix import DeepSurvivalMachines, make_target
from lifemix.errors import InputError, SettingError
from lifemix.export import export_survival
from lifemix.preprocessing import TabularPreprocessor

TIMES = [0.0, 1e-3, 0.5, 7.5, 30.0, 200.0, 1e5]
N_ROWS = 150


def quick(**settings):
    usual = {"hidden": (8,), "k": 3, "max_epochs": 2, "learning_rate": 0.02, "batch_size": 32}
    return DeepSurvivalMachines(**(usual | settings))


def numbers(n=N_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(60, 12, n), "dose": rng.gamma(2.0, 3.0, n), "site": 7.0})
    X.loc[rng.random(n) < 0.2, "dose"] = np.nan
    X.loc[rng.random(n) < 0.2, "site"] = np.nan  # a constant: only missing values carry information
    return X


def target(n_events=1):
    rng = np.random.default_rng(0)
    return make_target(rng.weibull(1.3, N_ROWS) * 20, rng.integers(0, n_events + 1, N_ROWS))


def assert_equal_predictions(program, model, X, inputs=None, event=None):
    inputs = torch.as_tensor(np.asarray(X if inputs is None else inputs, dtype=np.float64))
    if event is None:
        expected = model.predict_survival_function(X, TIMES)
    else:
        expected = model.predict_cumulative_incidence(X, TIMES, event)
    np.testing.assert_allclose(program.module()(inputs).detach(), expected, atol=1e-6)


SELU = {"shift_activation": "selu", "n_members": 2}
NO_BIAS = {"bias": False, "hidden": (5, 4), "activation": "gelu", "shift_activation": "tanh"}
CASES = {
    "ensemble of log-normals": ({"primitive": "lognormal", "n_members": 3}, 1),
    "log-logistic, competing": ({"primitive": "loglogistic", "n_members": 2}, 3),
    "piecewise": ({"preprocessor": TabularPreprocessor(numbers="piecewise", bins=4)}, 1),
    "the shift of the paper": (SELU, 1),
    "no bias, two layers": (NO_BIAS, 1),
}


@pytest.mark.parametrize(("settings", "n_events"), CASES.values(), ids=CASES)
def test_programs_equal_predictions(settings, n_events):
    model = quick(**settings).fit(numbers(), target(n_events))
    X = numbers(40, seed=1)
    X.iloc[0] = np.nan
    event = n_events if n_events > 1 else None
    program = export_survival(model, TIMES, event=event)
    assert_equal_predictions(program, model, X, event=event)
    assert_equal_predictions(program, model, X[:1], event=event)


def test_rows_that_predict_refuses_are_nan():
    model = quick(hidden=(), primitive="lognormal").fit(numbers(), target(2))
    X = numbers(3, seed=3)
    for event in (None, 1):
        program = export_survival(model, TIMES, event=event)
        assert_equal_predictions(program, model, X, event=event)
        values = program.module()(torch.tensor(X.assign(age=[60, 1e9, 50]).to_numpy()))
        assert values.isnan().any(1).tolist() == [False, True, False]


@pytest.mark.parametrize("primitive", ["weibull", "lognormal"])
def test_incidences_of_sharp_beside_wide_components(primitive):
    model = quick(primitive=primitive, n_members=2).fit(numbers(), target(2))
    base = model.network_.architectures[0].layout.views(model.network_.parameters)["base"]
    parameter, sign = (1, -1) if primitive == "lognormal" else (0, 1)
    base[:, 0, parameter, 0] += sign * 5  # a width of 1/150 in log time
    base[:, 1, parameter, 1] -= sign * 2
    program = export_survival(model, TIMES, event=1)
    assert_equal_predictions(program, model, numbers(30, seed=2), event=1)


LABELS = numbers().assign(sex=np.where(np.arange(N_ROWS) % 3 == 0, "f", "m"))
ONE_COLUMN = numbers()[["age"]].to_numpy() / 60


@pytest.mark.parametrize(
    ("X", "preprocessor"),
    [(LABELS, "auto"), (ONE_COLUMN, None), (ONE_COLUMN, StandardScaler())],
    ids=["categories", "no preprocessor", "transformer"],
)
def test_inputs_are_those_of_the_preprocessor(X, preprocessor):
    model = quick(preprocessor=preprocessor).fit(X, target())
    program = export_survival(model, TIMES)
    assert_equal_predictions(program, model, X, model.preprocessor_.transform(X))


def test_encoders_of_the_user_are_exported():
    layers = nn.LazyLinear(6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.3), nn.Linear(6, 4)
    model = quick(encoder=nn.Sequential(*layers), n_members=2).fit(numbers(), target())
    assert_equal_predictions(export_survival(model, TIMES), model, numbers())


READER = """
import json, sys, torch
extra = {"lifemix.json": ""}
program = torch.export.load(sys.argv[1], extra_files=extra).module()
rows = torch.tensor(json.loads(sys.stdin.read()), dtype=torch.float64)
assert "lifemix" not in sys.modules
print(json.dumps({"about": json.loads(extra["lifemix.json"]), "out": program(rows).tolist()}))
"""


@pytest.mark.slow
def test_the_file_runs_without_lifemix(tmp_path):
    path = tmp_path / "model.pt2"
    model = quick(n_members=2).fit(numbers(), target(2))
    export_survival(model, TIMES, path, event=2)
    assert os.listdir(tmp_path) == ["model.pt2"]
    rows = numbers(3, seed=5)
    command = [sys.executable, "-I", "-W", "ignore", "-c", READER, str(path)]
    text = json.dumps(rows.to_numpy().tolist())
    result = json.loads(subprocess.check_output(command, input=text, text=True, timeout=300))
    expected = model.predict_cumulative_incidence(rows, TIMES, 2)
    np.testing.assert_allclose(result["out"], expected, atol=1e-6)
    expected = {"inputs": "table", "names": ["age", "dose", "site"], "times": TIMES, "event": 2}
    assert expected.items() <= result["about"].items()


def test_what_cannot_be_exported_is_refused(tmp_path):
    with pytest.raises(SettingError, match="fitted DeepSurvivalMachines"):
        export_survival(quick(), TIMES)
    model = quick().fit(numbers(), target())
    with pytest.raises(InputError, match="event must be a whole number in 1..1"):
        export_survival(model, TIMES, event=2)
    with pytest.raises(InputError, match="finite and >= 0"):
        export_survival(model, [-1.0])
    with pytest.raises(InputError, match="cannot be written"):
        export_survival(model, TIMES, tmp_path / "no folder" / "x.pt2")
