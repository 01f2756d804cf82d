"""A primitive in one file, as somebody would add it: it fits, predicts, is saved and loaded, and is exported."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.base import clone

from helpers import custom_primitives
from helpers.custom_primitives import Burr, Exponential, Gompertz, InverseWeibull
from lifemix import DeepSurvivalMachines, load, make_target, save
from lifemix.errors import ModelFileError
from lifemix.estimators import FleetSearchCV
from lifemix.export import export_survival
from lifemix.primitives import PRIMITIVES
from lifemix.training.analytic_gradient import AnalyticLoss
from lifemix.training.autograd import AutogradLoss

FAMILIES = pytest.mark.parametrize(
    "family", [InverseWeibull, Gompertz, Burr, Exponential], ids=lambda family: family.name
)
EVENTS = pytest.mark.parametrize("n_events", [1, 2])
TIMES = np.array([0.0, 0.5, 4.0, 15.0, 60.0])
N = 160


def sample(n_events=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    return X, make_target(
        rng.weibull(1.4, N) * 20 * np.exp(0.5 * X[:, 0]) + 0.01, rng.integers(0, n_events + 1, N)
    )


def model(family, **settings):
    usual = {"hidden": (6,), "k": 2, "max_epochs": 3, "learning_rate": 0.02, "batch_size": 40}
    return DeepSurvivalMachines(family, **(usual | settings))


@FAMILIES
@EVENTS
def test_fits_predicts_and_survives_a_file(family, n_events, tmp_path):
    X, y = sample(n_events)
    fitted = model(family, n_members=2).fit(X, y)
    shapes = fitted.network_.architectures[0].layout.shapes
    n_parameters = len(family.parameter_names())
    assert shapes["heads"] == (n_events * (1 + n_parameters) * 2, 6)
    assert shapes["base"] == (n_events, n_parameters, 2)
    distribution = fitted.predict_distribution(X)
    assert type(distribution.net(1).components) is family
    survival = fitted.predict_survival_function(X, TIMES)
    incidences = sum(
        fitted.predict_cumulative_incidence(X, TIMES, event) for event in range(1, n_events + 1)
    )
    np.testing.assert_allclose(incidences + survival, 1, atol=1e-8)
    assert (np.diff(survival, axis=1) < 0).all()
    np.testing.assert_allclose(
        distribution.survival(distribution.median())[np.diag_indices(N)], 0.5, rtol=1e-9
    )
    save(fitted, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert again.primitive == family.name
    np.testing.assert_array_equal(again.predict_survival_function(X, TIMES), survival)
    assert again.log_likelihood(X, y) == fitted.log_likelihood(X, y)


@FAMILIES
def test_learns_from_the_covariates(family):
    X, y = sample()
    constant, learned = (
        model(family, hidden=(), max_epochs=epochs, validation_fraction=0) for epochs in (0, 40)
    )
    assert learned.fit(X, y).log_likelihood(X, y) > constant.fit(X, y).log_likelihood(X, y) + 5


@pytest.mark.parametrize(
    ("family", "reference"),
    [
        (InverseWeibull, stats.invweibull(1.7, scale=3.0)),
        (Gompertz, stats.gompertz(0.2, scale=3.0)),
        (Burr, stats.burr12(1.7, 0.8, scale=3.0)),
        (Exponential, stats.expon(scale=3.0)),
    ],
    ids=lambda part: part.name if isinstance(part, type) else "",
)
def test_fit_without_covariates_is_the_maximum_likelihood_that_scipy_finds(family, reference):
    t, X = reference.rvs(400, random_state=1), np.zeros((400, 1))
    y = make_target(t, np.ones(400))
    fitted = model(family, k=1, hidden=(), max_epochs=0, preprocessor=None).fit(X, y)
    shapes, _, scale = np.split(np.array(reference.dist.fit(t, floc=0)), [-2, -1])
    best = reference.dist.logpdf(t, *shapes, 0, scale).sum()
    np.testing.assert_allclose(fitted.log_likelihood(X, y), best, atol=0.02)


@FAMILIES
@EVENTS
def test_exported_programs_equal_predictions(family, n_events):
    X, y = sample(n_events)
    fitted = model(family, n_members=2).fit(X, y)
    found = export_survival(fitted, TIMES, event=n_events).module()(torch.as_tensor(X[:40]))
    np.testing.assert_allclose(
        found, fitted.predict_cumulative_incidence(X[:40], TIMES, n_events), atol=1e-6
    )


def test_a_log_location_scale_family_has_the_fast_step_and_others_autograd(monkeypatch):
    used = []
    for way in (AnalyticLoss, AutogradLoss):
        step = way.with_gradient
        monkeypatch.setattr(
            way,
            "with_gradient",
            lambda *given, way=way, step=step: used.append(way) or step(*given),
        )
    for family, expected in (
        (InverseWeibull, AnalyticLoss),
        (Gompertz, AutogradLoss),
        (Burr, AutogradLoss),
        (Exponential, AutogradLoss),
    ):
        used.clear()
        model(family).fit(*sample(2))
        assert set(used) == {expected}


@FAMILIES
@pytest.mark.parametrize("objective", ["exact", "elbo"])
def test_every_censoring_is_fitted(family, objective):
    X, _ = sample()
    rng = np.random.default_rng(3)
    time, event = rng.weibull(1.4, N) * 20 + 0.01, rng.integers(0, 3, N)
    upper = np.where((event > 0) & (np.arange(N) % 4 == 0), 1.5 * time, np.nan)
    y = make_target(
        time, event, entry=np.where(np.arange(N) % 3 == 0, 0.3 * time, 0.0), upper=upper
    )
    fitted = model(family, objective=objective).fit(X, y)
    assert np.isfinite([record["train_loss"] for record in fitted.history_]).all()
    assert np.isfinite(fitted.log_likelihood(X, y))


@FAMILIES
def test_a_checkpoint_changes_nothing(family, tmp_path):
    X, y = sample()
    plain, kept = model(family).fit(X, y), model(family, checkpoint=tmp_path).fit(X, y)
    np.testing.assert_array_equal(plain.predict(X), kept.predict(X))


def test_a_unit_of_time_is_a_unit_of_time():
    X, y = sample()
    for family in (Gompertz, Burr, Exponential):
        days, years = (
            model(family).fit(X, y),
            model(family).fit(X, make_target(y["time"] / 365, y["event"])),
        )
        ours, theirs = (
            days.predict_survival_function(X, TIMES),
            years.predict_survival_function(X, TIMES / 365),
        )
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_a_search_takes_names_and_classes():
    X, y = sample()
    search = FleetSearchCV(model("weibull"), {"primitive": ["inverseweibull", Gompertz]}, cv=2).fit(
        X, y
    )
    assert len(search.cv_results_["mean_test_score"]) == 2
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert clone(model(Gompertz)).primitive is Gompertz


def test_loading_a_primitive_that_is_not_known_says_what_to_import(tmp_path, monkeypatch):
    X, y = sample()
    save(model(InverseWeibull).fit(X, y), tmp_path / "model.safetensors")
    monkeypatch.delitem(PRIMITIVES, "inverseweibull")
    with pytest.raises(
        ModelFileError, match=r"unknown primitive; got 'inverseweibull'.*import it first"
    ):
        load(tmp_path / "model.safetensors")


FITS = """
import newcomer
import numpy as np
from lifemix import DeepSurvivalMachines, make_target, save
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 2)), make_target(rng.weibull(1.4, 60) + 0.01, rng.integers(0, 2, 60))
model = DeepSurvivalMachines("inverseweibull", hidden=(), max_epochs=1).fit(X, y)
save(model, "model.safetensors")
print(model.predict_survival_function(np.zeros((1, 2)), [1.0])[0, 0])
"""
LOADS = """
import numpy as np
from lifemix import load
from lifemix.errors import ModelFileError
try:
    load("model.safetensors")
except ModelFileError as error:
    print(error)
import newcomer
print(load("model.safetensors").predict_survival_function(np.zeros((1, 2)), [1.0])[0, 0])
"""


def test_a_module_of_the_users_is_all_it_takes(tmp_path):
    shutil.copy(
        Path(custom_primitives.__file__).parent / "inverse_weibull.py", tmp_path / "newcomer.py"
    )

    def run(code):
        command = [sys.executable, "-c", code]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    (fitted,) = run(FITS)
    unknown, known = run(LOADS)
    assert float(fitted) == float(known)
    assert "unknown primitive; got 'inverseweibull'" in unknown
