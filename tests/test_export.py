"""Exported programs: the numbers of ``predict`` to 1e-6, in a Python that has no lifemix."""

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


def quick(**settings):
    usual = {"hidden": (8,), "k": 3, "max_epochs": 3, "learning_rate": 0.02, "batch_size": 32}
    return DeepSurvivalMachines(**(usual | settings))


def numbers(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"age": rng.normal(60, 12, n), "dose": rng.gamma(2.0, 3.0, n), "site": 7.0, "late": np.nan}
    )
    X.loc[rng.random(n) < 0.2, "dose"] = np.nan
    X.loc[rng.random(n) < 0.2, "site"] = np.nan  # constant: only whether it is there tells
    return X[["age", "dose", "site"]]


def target(n=150, n_events=1, seed=0):
    rng = np.random.default_rng(seed)
    return make_target(rng.weibull(1.3, n) * 20, rng.integers(0, n_events + 1, n))


def run(program, X):
    return program.module()(torch.as_tensor(np.asarray(X, dtype=np.float64))).detach().numpy()


CASES = {
    "weibull, table with gaps": ({}, 1),
    "ensemble of log-normals": ({"primitive": "lognormal", "n_members": 3}, 1),
    "log-logistic, competing": ({"primitive": "loglogistic", "n_members": 2}, 3),
    "linear, competing": ({"hidden": (), "primitive": "lognormal"}, 2),
    "piecewise": ({"preprocessor": TabularPreprocessor(numbers="piecewise", bins=4)}, 1),
    "the paper's shift": ({"shift_activation": "selu"}, 2),
    "no bias, two layers": (
        {"bias": False, "hidden": (5, 4), "activation": "gelu", "shift_activation": "tanh"},
        1,
    ),
}


@pytest.mark.parametrize(("settings", "n_events"), CASES.values(), ids=CASES.keys())
def test_programs_equal_predictions(settings, n_events):
    model = quick(**settings).fit(numbers(), target(n_events=n_events))
    X = numbers(40, seed=1)
    X.iloc[0] = np.nan
    program = export_survival(model, TIMES)
    np.testing.assert_allclose(
        run(program, X), model.predict_survival_function(X, TIMES), atol=1e-6
    )
    np.testing.assert_allclose(
        run(program, X[:1]), model.predict_survival_function(X[:1], TIMES), atol=1e-6
    )
    event = n_events
    found = run(export_survival(model, TIMES, event=event), X)
    np.testing.assert_allclose(
        found, model.predict_cumulative_incidence(X, TIMES, event), atol=1e-6
    )


@pytest.mark.parametrize("primitive", ["weibull", "lognormal", "loglogistic"])
def test_incidences_of_sharp_beside_wide_components(primitive):
    model = quick(primitive=primitive, n_members=2).fit(numbers(), target(n_events=2))
    base = model.network_.architectures[0].layout.views(model.network_.parameters)["base"]
    spread = 1 if primitive == "lognormal" else 0
    sign = -1 if primitive == "lognormal" else 1
    base[:, 0, spread, 0] += sign * 5  # one part in 150 of log time
    base[:, 1, spread, 1] -= sign * 2
    X = numbers(30, seed=2)
    found = run(export_survival(model, TIMES, event=1), X)
    np.testing.assert_allclose(found, model.predict_cumulative_incidence(X, TIMES, 1), atol=1e-6)


def test_categories_go_in_as_the_preprocessor_codes_them():
    X = numbers().assign(sex=np.where(np.arange(150) % 3 == 0, "f", "m"))
    model = quick().fit(X, target())
    found = run(export_survival(model, TIMES), model.preprocessor_.transform(X))
    np.testing.assert_allclose(found, model.predict_survival_function(X, TIMES), atol=1e-6)


@pytest.mark.parametrize("preprocessor", [None, StandardScaler()], ids=["none", "own"])
def test_arrays_with_another_preprocessor(preprocessor):
    X = numbers()[["age"]].to_numpy() / 60
    model = quick(preprocessor=preprocessor).fit(X, target())
    found = run(export_survival(model, TIMES), model.preprocessor_.transform(X))
    np.testing.assert_allclose(found, model.predict_survival_function(X, TIMES), atol=1e-6)


def test_encoders_of_the_users_go_along():
    encoder = nn.Sequential(
        nn.LazyLinear(6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.3), nn.Linear(6, 4)
    )
    model = quick(encoder=encoder, n_members=2).fit(numbers(), target())
    found = run(export_survival(model, TIMES), numbers())
    np.testing.assert_allclose(found, model.predict_survival_function(numbers(), TIMES), atol=1e-6)


READER = """
import json, sys, torch
extra = {"lifemix.json": ""}
program = torch.export.load(sys.argv[1], extra_files=extra).module()
rows = torch.tensor(json.loads(sys.stdin.read()), dtype=torch.float64)
assert "lifemix" not in sys.modules
print(json.dumps({"about": json.loads(extra["lifemix.json"]), "out": program(rows).tolist()}))
"""


def test_the_file_runs_without_lifemix(tmp_path):
    model = quick(n_members=2).fit(numbers(), target(n_events=2))
    export_survival(model, TIMES, tmp_path / "model.pt2", event=2)
    assert os.listdir(tmp_path) == ["model.pt2"]
    rows = numbers(3, seed=5)
    command = [sys.executable, "-I", "-W", "ignore", "-c", READER, str(tmp_path / "model.pt2")]
    text = json.dumps(rows.to_numpy().tolist())
    result = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    np.testing.assert_allclose(
        found["out"], model.predict_cumulative_incidence(rows, TIMES, 2), atol=1e-6
    )
    about = found["about"]
    assert (about["inputs"], about["names"], about["times"]) == (
        "table",
        ["age", "dose", "site"],
        TIMES,
    )
    assert about["event"] == 2


def test_rows_that_predict_refuses_are_nan_and_others_stay():
    model = quick(hidden=()).fit(numbers(), target(n_events=2))
    X = numbers(3, seed=3)
    X.loc[1, "age"] = 1e9
    for event in (None, 1):
        found = run(export_survival(model, TIMES, event=event), X)
        assert np.isnan(found[1]).all()
        assert np.isfinite(found[[0, 2]]).all()


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
