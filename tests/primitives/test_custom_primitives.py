"""Primitives of users, and mixtures of families: fitted, predicted, saved, loaded and exported."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from helpers import custom_primitives
from helpers.custom_primitives import Burr, Exponential, Gompertz, InverseWeibull
from lifemix import DeepSurvivalMachines, load, make_target, save
from lifemix.errors import ModelFileError
from lifemix.estimators import FleetSearchCV
from lifemix.export import export_survival
from lifemix.primitives import PRIMITIVES
from lifemix.primitives.mixture import Mixed
from lifemix.training.analytic_gradient import AnalyticLoss
from lifemix.training.autograd import AutogradLoss

CUSTOM = {
    InverseWeibull: stats.invweibull(1.7, scale=3.0),
    Gompertz: stats.gompertz(0.2, scale=3.0),
    Burr: stats.burr12(1.7, 0.8, scale=3.0),
    Exponential: stats.expon(scale=3.0),
}
over_custom = pytest.mark.parametrize("family", CUSTOM, ids=lambda family: family.name)
TIMES = np.array([0.0, 0.5, 4.0, 15.0, 60.0])
N = 160


def sample(n_events=1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    time = rng.weibull(1.4, N) * 20 * np.exp(0.5 * X[:, 0]) + 0.01
    return X, make_target(time, rng.integers(0, n_events + 1, N))


def model(primitive, **options):
    usual = {"hidden": (6,), "k": 2, "max_epochs": 3, "learning_rate": 0.02, "batch_size": 40}
    return DeepSurvivalMachines(primitive, **(usual | options))


CASES = {
    "inverse Weibull": (InverseWeibull, 2, {}),
    "Gompertz": (Gompertz, 1, {}),
    "Burr": (Burr, 2, {}),
    "exponential": (Exponential, 1, {}),
    "list": (["weibull", "lognormal"], 1, {}),
    "counts": ({"spline": 1, "weibull": 2, PRIMITIVES["burr"]: 1}, 2, {}),
    "by event": ({1: {"weibull": 4}, 2: ["gompertz", "spline"]}, 2, {}),
    "cure": ("weibull", 1, {"cure": True}),
    "cure by event": ({1: {"lognormal": 4}, 2: ["gamma", "gompertz"]}, 2, {"cure": True}),
}
EXPORTED = ("inverse Weibull", "Burr", "list", "cure")


@pytest.mark.parametrize("case", CASES)
def test_fits_predicts_is_saved_and_exported(case, tmp_path):
    primitive, n_events, options = CASES[case]
    X, y = sample(n_events)
    fitted = model(primitive, n_members=2, **options).fit(X, y)
    distribution = fitted.predict_distribution(X)
    survival = fitted.predict_survival_function(X, TIMES)
    incidences = distribution.cumulative_incidences(TIMES)
    np.testing.assert_allclose(incidences.sum(0) + survival, 1, atol=1e-8)
    assert (np.diff(survival, axis=1) < 0).all()
    net = distribution.net(1)
    assert type(net.components) is primitive or isinstance(net.components, Mixed)
    np.testing.assert_allclose(net.weights.sum(1), 1, rtol=1e-12)
    quantile = distribution.quantile(0.2)[:, 0]
    at_quantile = distribution.survival(quantile)[np.diag_indices(N)]
    np.testing.assert_allclose(at_quantile, 0.8, rtol=1e-9)
    save(fitted, tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict_survival_function(X, TIMES), survival)
    assert loaded.log_likelihood(X, y) == fitted.log_likelihood(X, y)
    if case in EXPORTED:
        program = export_survival(fitted, TIMES, event=n_events).module()
        expected = fitted.predict_cumulative_incidence(X[:40], TIMES, n_events)
        np.testing.assert_allclose(program(torch.as_tensor(X[:40])), expected, atol=1e-6)


def test_the_families_of_each_event_type_are_the_selected_ones():
    primitive = {1: {"weibull": 2}, 2: ["lognormal", "spline"]}
    distribution = model(primitive, k=1).fit(*sample(2)).predict_distribution(sample()[0])
    for event, names in ((1, ["weibull", "weibull"]), (2, ["lognormal", "spline"])):
        components = distribution.net(event).components
        assert [components.families[int(kind)].name for kind in components.kind[0]] == names
        assert (distribution.net(event).weights > 0).all()


@over_custom
def test_fit_without_covariates_is_the_maximum_likelihood_of_scipy(family):
    reference = CUSTOM[family]
    t, X = reference.rvs(400, random_state=1), np.zeros((400, 1))
    fitted = model(family, k=1, hidden=(), max_epochs=0, preprocessor=None)
    y = make_target(t, np.ones(400))
    shapes, _, scale = np.split(np.array(reference.dist.fit(t, floc=0)), [-2, -1])
    expected = reference.dist.logpdf(t, *shapes, 0, scale).sum()
    np.testing.assert_allclose(fitted.fit(X, y).log_likelihood(X, y), expected, atol=0.02)


@over_custom
def test_learns_from_the_covariates_by_the_fast_step_or_autograd(family, monkeypatch):
    losses = []
    for loss in (AnalyticLoss, AutogradLoss):
        step = loss.with_gradient
        monkeypatch.setattr(
            loss,
            "with_gradient",
            lambda *args, loss=loss, step=step: losses.append(loss) or step(*args),
        )
    X, y = sample()
    constant, learned = (
        model(family, hidden=(), max_epochs=n, validation_fraction=0).fit(X, y) for n in (0, 40)
    )
    assert learned.log_likelihood(X, y) > constant.log_likelihood(X, y) + 5
    assert set(losses) == {AnalyticLoss if family is InverseWeibull else AutogradLoss}


@over_custom
@pytest.mark.parametrize("objective", ["exact", "elbo"])
def test_late_and_interval_censored_rows_are_fitted_in_any_unit_of_time(family, objective):
    X, _ = sample()
    rng = np.random.default_rng(3)
    time, event = rng.weibull(1.4, N) * 20 + 0.01, rng.integers(0, 3, N)
    upper = np.where((event > 0) & (np.arange(N) % 4 == 0), 1.5 * time, np.nan)
    entry = np.where(np.arange(N) % 3 == 0, 0.3 * time, 0.0)
    days, years = (
        model(family, objective=objective).fit(
            X, make_target(time / unit, event, entry=entry / unit, upper=upper / unit)
        )
        for unit in (1, 365)
    )
    assert np.isfinite([record["train_loss"] for record in days.history_]).all()
    survival = years.predict_survival_function(X, TIMES / 365)
    np.testing.assert_allclose(survival, days.predict_survival_function(X, TIMES), atol=1e-4)


def test_a_search_takes_names_and_classes():
    grid = {"primitive": ["inverseweibull", Gompertz]}
    search = FleetSearchCV(model("weibull"), grid, cv=2).fit(*sample())
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


SCRIPT = """
import sys
import numpy as np
from lifemix import DeepSurvivalMachines, load, make_target, save
from lifemix.errors import ModelFileError
if sys.argv[1] == "fit":
    import newcomer
    rng = np.random.default_rng(0)
    y = make_target(rng.weibull(1.4, 60) + 0.01, rng.integers(0, 2, 60))
    model = DeepSurvivalMachines("inverseweibull", hidden=(), max_epochs=1)
    save(model.fit(rng.normal(size=(60, 2)), y), "model.safetensors")
else:
    try:
        load("model.safetensors")
    except ModelFileError as error:
        print(error)
    import newcomer
    model = load("model.safetensors")
print(model.predict_survival_function(np.zeros((1, 2)), [1.0])[0, 0])
"""


@pytest.mark.slow
def test_a_module_with_a_primitive_is_all_a_user_needs(tmp_path):
    module = Path(custom_primitives.__file__).parent / "inverse_weibull.py"
    shutil.copy(module, tmp_path / "newcomer.py")

    def run(step):
        command = [sys.executable, "-c", SCRIPT, step]
        process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert process.returncode == 0, process.stderr
        return process.stdout.splitlines()

    (fitted,) = run("fit")
    message, loaded = run("load")
    assert float(fitted) == float(loaded)
    assert "unknown primitive; got 'inverseweibull'" in message


def test_loading_an_unknown_primitive_says_what_to_import(tmp_path, monkeypatch):
    save(model(InverseWeibull).fit(*sample()), tmp_path / "model.safetensors")
    monkeypatch.delitem(PRIMITIVES, "inverseweibull")
    message = r"unknown primitive; got 'inverseweibull'.*import it first"
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "model.safetensors")
