"""Without covariates and with one component the fit is the maximum-likelihood fit of R and of lifelines."""

import json
from pathlib import Path

import lifelines
import numpy as np
import pytest

from lifemix import DeepSurvivalMachines, make_target

FOLDER = Path(__file__).parents[1] / "references" / "maximum_likelihood"
DATA = {
    kind: {name: np.array(values, dtype=float) for name, values in fields.items()}
    for kind, fields in json.loads((FOLDER / "data.json").read_text()).items()
}
SURVREG = json.loads((FOLDER / "survreg.json").read_text())
PRIMITIVES = ["weibull", "lognormal", "loglogistic"]


def target_of(kind):
    fields = DATA[kind]
    if kind != "interval":
        return make_target(fields["time"], fields["event"], entry=fields.get("entry"))
    endless = fields["upper"] < 0
    return make_target(
        fields["lower"], np.where(endless, 0, 1), upper=np.where(endless, np.nan, fields["upper"])
    )


def fit(primitive, kind, column=0.0, **settings):
    y = target_of(kind)
    X = np.full((len(y), 1), column)
    model = DeepSurvivalMachines(
        primitive, k=1, preprocessor=None if column == 0 else "auto", **settings
    )
    weight = DATA[kind].get("weight")
    model.fit(X, y, sample_weight=weight)
    components = model.predict_distribution(X[:1]).components
    return (
        float(components.location),
        float(components.log_precision),
        model.log_likelihood(X, y, weight),
    )


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize("kind", ["right", "interval", "weighted"])
@pytest.mark.parametrize("hidden", [(), (100,)])
def test_fit_equals_survreg(primitive, kind, hidden):
    expected = SURVREG[primitive][kind]
    location, log_precision, log_likelihood = fit(primitive, kind, hidden=hidden)
    np.testing.assert_allclose(location, expected["location"], atol=1e-4)
    np.testing.assert_allclose(log_precision, expected["log_precision"], atol=1e-4)
    np.testing.assert_allclose(log_likelihood, expected["log_likelihood"], atol=1e-4)


FITTERS = {
    "weibull": (lifelines.WeibullFitter, lambda f: (np.log(f.lambda_), np.log(f.rho_))),
    "lognormal": (lifelines.LogNormalFitter, lambda f: (f.mu_, -np.log(f.sigma_))),
    "loglogistic": (lifelines.LogLogisticFitter, lambda f: (np.log(f.alpha_), np.log(f.beta_))),
}


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize("kind", ["right", "truncated"])
def test_fit_equals_lifelines(primitive, kind):
    fitter, parameters = FITTERS[primitive]
    fields = DATA[kind]
    reference = fitter().fit(fields["time"], fields["event"], entry=fields.get("entry"))
    location, log_precision, log_likelihood = fit(primitive, kind)
    np.testing.assert_allclose((location, log_precision), parameters(reference), atol=1e-4)
    np.testing.assert_allclose(log_likelihood, reference.log_likelihood_, atol=1e-4)


FAMILIES = json.loads((FOLDER / "families.json").read_text())


CASES = [(name, kind) for name, kinds in FAMILIES["optimum"].items() for kind in kinds]


def parameters_of(primitive, kind):
    y = target_of(kind)
    X = np.zeros((len(y), 1))
    model = DeepSurvivalMachines(primitive, k=1, hidden=(), preprocessor=None, n_members=1).fit(
        X, y
    )
    components = model.predict_distribution(X[:1]).components
    return [float(value) for value in components.parameters], model.log_likelihood(X, y)


@pytest.mark.parametrize(("primitive", "kind"), CASES)
def test_other_families_equal_the_optimum_of_independent_formulas(primitive, kind):
    expected = FAMILIES["optimum"][primitive][kind]
    parameters, log_likelihood = parameters_of(primitive, kind)
    np.testing.assert_allclose(parameters, expected["parameters"], atol=1e-6)
    np.testing.assert_allclose(log_likelihood, expected["log_likelihood"], atol=1e-6)


@pytest.mark.parametrize("primitive", FAMILIES["lifelines"])
def test_other_families_equal_lifelines(primitive):
    expected = FAMILIES["lifelines"][primitive]
    parameters, log_likelihood = parameters_of(primitive, "right")
    np.testing.assert_allclose(parameters, expected["parameters"], atol=1e-4)
    np.testing.assert_allclose(log_likelihood, expected["log_likelihood"], atol=1e-4)


@pytest.mark.filterwarnings("ignore:no column varies")
def test_a_constant_column_is_no_covariate():
    np.testing.assert_allclose(
        fit("weibull", "right", column=5.0), fit("weibull", "right"), rtol=1e-9
    )


def test_linear_model_is_the_accelerated_failure_time_model():
    import pandas as pd

    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(2000, 3)), columns=["a", "b", "c"])
    time = np.exp(1 + X @ [0.5, -0.3, 0.2]) * rng.weibull(1.5, 2000)
    event = rng.random(2000) < 0.7
    frame = X.assign(time=time, event=event)
    reference = lifelines.WeibullAFTFitter().fit(frame, "time", "event", ancillary=True)
    model = DeepSurvivalMachines(
        k=1,
        hidden=(),
        shift_activation="identity",
        max_epochs=150,
        validation_fraction=0,
        learning_rate=3e-3,
    ).fit(X, make_target(time, event))
    times = [0.5, 1.0, 2.0, 5.0, 10.0]
    theirs = reference.predict_survival_function(frame, times).to_numpy().T
    assert np.abs(model.predict_survival_function(X, times) - theirs).mean() < 0.01
    np.testing.assert_allclose(
        model.log_likelihood(X, make_target(time, event)), reference.log_likelihood_, atol=1.0
    )
