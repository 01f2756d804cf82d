"""CONTRIBUTING.md followed by the letter in a copy of the package: what it tells to write works."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import lifemix
from contributing import follow

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="CONTRIBUTING.md is not beside the tests")


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """Return a folder with a copy of the package in which every example of the page has been written."""
    root = tmp_path_factory.mktemp("clone")
    written = follow(PAGE, Path(lifemix.__file__).parent, root)
    assert [Path(path).name for path in written if not path.endswith("__init__.py")] == [
        "frechet.py",
        "net_benefit.py",
        "exponential.py",
        "reference_models.py",
        "median.py",
        "app.py",
    ]
    return root


@pytest.fixture(scope="module")
def run(clone):
    def call(*arguments):
        environment = os.environ | {
            "PYTHONPATH": str(clone / "src"),
            "OMP_NUM_THREADS": "1",
            "COLUMNS": "120",
        }
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=clone,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.fixture(scope="module")
def table(run):
    run("-m", "lifemix", "datasets", "metabric", "-o", "metabric.csv")
    return "metabric.csv"


@pytest.fixture(scope="module")
def model(run):
    code = """
from lifemix import DeepSurvivalMachines, datasets, save
data = datasets.load_metabric()
model = DeepSurvivalMachines(max_epochs=2).fit(data.X, data.y)
save(model, "model.safetensors")
"""
    run("-c", code)
    return "model.safetensors"


FRECHET = """
import numpy as np
import torch
from lifemix import DeepSurvivalMachines, datasets, export, load, report, save
from lifemix.training import Callback
data = datasets.load_metabric_causes()
X, y = data.X[["AGE_AT_DIAGNOSIS", "NPI", "CHEMOTHERAPY"]], data.y
TIMES = [6.0, 60.0, 120.0, 240.0, 400.0]


class Look(Callback):
    def on_fit_start(self, state):
        print(type(state.fleet.loss).__name__)


model = DeepSurvivalMachines("frechet", k=2, max_epochs=3, n_members=2, callbacks=[Look()]).fit(X, y)
"""


def test_a_primitive_in_one_file_is_fitted_saved_loaded_and_exported(run):
    code = """
assert np.isfinite(model.log_likelihood(X, y))
save(model, "frechet.safetensors")
assert (load("frechet.safetensors").predict(X) == model.predict(X)).all()
distribution = model.predict_distribution(X[:50])
total = distribution.cumulative_incidences(TIMES).sum(axis=0) + distribution.survival(TIMES)
assert np.allclose(total, 1, atol=1e-6)
components = distribution.net(1).components
assert type(components).__name__ == "Frechet"
path = export.export_survival(model, TIMES, "frechet.pt2", event=1)
rows = torch.tensor(model.preprocess(X[:50]))
found = torch.export.load("frechet.pt2").module()(rows).numpy()
assert np.allclose(found, model.predict_cumulative_incidence(X[:50], TIMES, event=1), atol=1e-5)
"""
    assert run("-c", FRECHET + code) == "AnalyticLoss\n"


def test_a_metric_in_one_file_is_evaluated_and_in_the_report(run):
    pytest.importorskip("matplotlib")
    code = """
from lifemix import datasets, metrics, report
from lifemix.baselines import CoxPH
data = datasets.load_metabric()
model = CoxPH().fit(data.X[:1000], data.y[:1000])
X, y = data.X[1000:], data.y[1000:]
found = metrics.evaluate(model, data.y[:1000], X, y, [60, 120])
values = found[found["metric"] == "net_benefit"]["value"]
assert len(values) == 2 and (values > 0).all() and (values < 1).all(), values
path = report.write_report(model, X, y, "report.html", n_bootstrap=2)
print("net benefit at 20 %" in path.read_text(encoding="utf-8"))
"""
    assert run("-c", code) == "True\n"


def test_a_metric_and_a_baseline_in_one_file_each_are_compared(run, table):
    shown = run(
        *(
            "-m",
            "lifemix",
            "compare",
            table,
            "--time",
            "time",
            "--event",
            "event",
            "--times",
            "100",
        ),
        *("--models", "exponential,curve", "--folds", "2", "--no-search"),
    )
    assert "net benefit at 20 %" in shown
    assert "exponential regression" in shown


def test_a_baseline_in_one_file_is_fitted_saved_and_loaded(run):
    code = """
from lifemix import datasets, load, save
from lifemix.baselines import Exponential, ModelAverage
from lifemix.errors import SettingError
data = datasets.load_metabric()
model = ModelAverage([Exponential(), Exponential(penalty=10)]).fit(data.X, data.y)
save(model, "average.safetensors")
assert (load("average.safetensors").predict(data.X) == model.predict(data.X)).all()
assert Exponential().fit(data.X[:1000], data.y[:1000]).score(data.X[1000:], data.y[1000:]) > 0.6
try:
    Exponential(penalty=-1).fit(data.X, data.y)
except SettingError as error:
    print(error)
"""
    assert run("-c", code) == "penalty must be a number of at least 0; got -1.\n"


def test_a_command_in_one_file_runs_and_is_listed(run, model, table):
    lines = run("-m", "lifemix", "median", model, table, "--quiet").splitlines()
    assert len(lines) == 1904
    assert lines[0].startswith("1: ")
    assert " median " in run("-m", "lifemix", "--help")
