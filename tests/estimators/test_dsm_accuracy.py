"""Fits against R, lifelines and known distributions of simulated times."""

import json
from pathlib import Path

import lifelines
import numpy as np
import pandas as pd
import pytest

from helpers import simulations
from lifemix import DeepSurvivalMachines, make_target
from lifemix.errors import SettingError

FOLDER = Path(__file__).parents[1] / "references" / "maximum_likelihood"


def read(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


# Without covariates: maximum likelihood.

DATA = {
    kind: {name: np.array(values, dtype=float) for name, values in fields.items()}
    for kind, fields in read("data").items()
}
SURVREG, FAMILIES = read("survreg"), read("families")
PRIMITIVES = ["weibull", "lognormal", "loglogistic"]


def fit(primitive, kind, **settings):
    """Return parameters and log-likelihood of a fit without covariates."""
    fields = DATA[kind]
    if kind == "interval":
        endless = fields["upper"] < 0
        upper = np.where(endless, np.nan, fields["upper"])
        y = make_target(fields["lower"], np.where(endless, 0, 1), upper=upper)
    else:
        y = make_target(fields["time"], fields["event"], entry=fields.get("entry"))
    X, weight = np.zeros((len(y), 1)), fields.get("weight")
    model = DeepSurvivalMachines(primitive, k=1, preprocessor=None, n_members=1, **settings)
    components = model.fit(X, y, sample_weight=weight).predict_distribution(X[:1]).components
    return components, model.log_likelihood(X, y, weight)


@pytest.mark.parametrize("primitive", PRIMITIVES)
@pytest.mark.parametrize("kind", ["right", "interval", "weighted"])
@pytest.mark.parametrize("hidden", [(), (100,)])
def test_fit_equals_survreg(primitive, kind, hidden):
    expected = SURVREG[primitive][kind]
    components, log_likelihood = fit(primitive, kind, hidden=hidden)
    assert float(components.location) == pytest.approx(expected["location"], abs=1e-4)
    assert float(components.log_precision) == pytest.approx(expected["log_precision"], abs=1e-4)
    assert log_likelihood == pytest.approx(expected["log_likelihood"], abs=1e-4)


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
    components, log_likelihood = fit(primitive, kind)
    fitted = float(components.location), float(components.log_precision)
    np.testing.assert_allclose(fitted, parameters(reference), atol=1e-4)
    assert log_likelihood == pytest.approx(reference.log_likelihood_, abs=1e-4)


OTHER_FAMILIES = [
    *((name, kind, case, 1e-6) for name, kinds in FAMILIES["optimum"].items() for kind, case in kinds.items()),
    *((name, "right", case, 1e-4) for name, case in FAMILIES["lifelines"].items()),
]  # fmt: skip


@pytest.mark.parametrize(("primitive", "kind", "expected", "tolerance"), OTHER_FAMILIES)
def test_other_families_equal_the_optimum_of_independent_formulas(
    primitive, kind, expected, tolerance
):
    components, log_likelihood = fit(primitive, kind, hidden=())
    parameters = [float(value) for value in components.parameters]
    np.testing.assert_allclose(parameters, expected["parameters"], atol=tolerance)
    assert log_likelihood == pytest.approx(expected["log_likelihood"], abs=tolerance)


def test_the_linear_model_is_the_accelerated_failure_time_model():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(2000, 3)), columns=["a", "b", "c"])
    time = np.exp(1 + X @ [0.5, -0.3, 0.2]) * rng.weibull(1.5, 2000)
    event = rng.random(2000) < 0.7
    rows = X.assign(time=time, event=event)
    reference = lifelines.WeibullAFTFitter().fit(rows, "time", "event", ancillary=True)
    settings = {"max_epochs": 150, "validation_fraction": 0, "learning_rate": 3e-3}
    model = DeepSurvivalMachines(k=1, hidden=(), shift_activation="identity", **settings)
    model.fit(X, make_target(time, event))
    times = [0.5, 1.0, 2.0, 5.0, 10.0]
    expected = reference.predict_survival_function(rows, times).to_numpy().T
    assert error(model.predict_survival_function(X, times), expected) < 0.01
    log_likelihood = model.log_likelihood(X, make_target(time, event))
    assert log_likelihood == pytest.approx(reference.log_likelihood_, abs=1.0)


# Mixtures whose curves are known.

FIRST, SECOND = simulations.MixtureTruth(seed=0), simulations.MixtureTruth(seed=5, centre=0.4)
NEW = simulations.covariates(1000, 99)
GRID = np.exp(np.linspace(-3, 3.5, 30))
SIZES = pytest.mark.parametrize(
    ("n", "bar"),
    [
        (1_000, 0.09),
        pytest.param(10_000, 0.03, marks=pytest.mark.slow),
        pytest.param(100_000, 0.015, marks=pytest.mark.slow),
    ],
)


def error(predicted, truth):
    return np.abs(predicted - truth).mean()


@pytest.mark.automatic
@SIZES
@pytest.mark.parametrize("is_censored", [False, True])
def test_curves_of_one_event_type(n, bar, is_censored):
    rng = np.random.default_rng([n, 3])
    x = simulations.covariates(n, n)
    time, event = FIRST.draw(x, rng), np.ones(n, dtype=int)
    if is_censored:
        limit = rng.permutation(time) * 1.02
        event, time = (time <= limit).astype(int), np.minimum(time, limit)
        assert abs(event.mean() - 0.5) < 0.05
    model = DeepSurvivalMachines(patience=5).fit(x, make_target(time, event))
    assert error(model.predict_survival_function(NEW, GRID), FIRST.survival(NEW, GRID)) <= bar


@pytest.mark.automatic
@SIZES
def test_curves_of_competing_risks(n, bar):
    rng = np.random.default_rng([n, 4])
    x = simulations.covariates(n, n)
    latent = np.column_stack([distribution.draw(x, rng) for distribution in (FIRST, SECOND)])
    y = make_target(latent.min(1), latent.argmin(1) + 1)
    distribution = DeepSurvivalMachines(patience=5).fit(x, y).predict_distribution(NEW)
    nets = [truth.survival(NEW, GRID) for truth in (FIRST, SECOND)]
    assert error(distribution.survival(GRID), nets[0] * nets[1]) <= bar
    fine = np.exp(np.linspace(-6, 3.5, 3000))
    curves = [truth.survival(NEW, fine) for truth in (FIRST, SECOND)]
    at_grid = np.searchsorted(fine[1:], GRID[1:] * (1 - 1e-12))
    for event, i, j in ((1, 0, 1), (2, 1, 0)):
        steps = -np.diff(curves[i], axis=1) * (curves[j][:, 1:] + curves[j][:, :-1]) / 2
        truth = np.cumsum(steps, axis=1)[:, at_grid]
        assert error(distribution.cumulative_incidence(GRID[1:], event), truth) <= bar
        # A net distribution is visible only while the other event leaves subjects at risk.
        net_error = np.abs(distribution.net(event).survival(GRID) - nets[i])
        assert net_error[nets[j] > 0.1].mean() <= 2 * bar


def test_curves_of_two_groups_cross():
    rng = np.random.default_rng(7)
    group = np.arange(4000) % 2
    time, limit = 2.0 * rng.weibull(np.where(group, 3.0, 0.8)), rng.uniform(0, 8, 4000)
    y = make_target(np.minimum(time, limit), time <= limit)
    model = DeepSurvivalMachines(k=2, hidden=(20,), learning_rate=1e-2)
    model.fit(group[:, None].astype(float), y)
    grid = np.linspace(0.05, 5, 400)
    low, high = model.predict_survival_function(np.array([[0.0], [1.0]]), grid)
    crossing = grid[np.flatnonzero(np.diff(np.sign(low - high)))]
    np.testing.assert_allclose(crossing, [2.0], atol=0.2)  # both have S(2) = exp(-1)
    for curve, shape in ((low, 0.8), (high, 3.0)):
        assert error(curve, np.exp(-((grid / 2) ** shape))) < 0.02


def entries(time, rng):
    entry = rng.uniform(0, 3, len(time))
    is_observed = time > entry
    event = np.ones(is_observed.sum(), int)
    observed = time[is_observed]
    return is_observed, make_target(observed, event, entry[is_observed]), observed


def visits(time, rng):
    """Return the intervals between visits every four units."""
    lower, event = np.floor(time / 4) * 4.0, np.ones(len(time), int)
    return slice(None), make_target(lower, event, upper=lower + 4), lower + 2


@pytest.mark.parametrize(
    ("observe", "n"), [(entries, 10_000), pytest.param(visits, 6_000, marks=pytest.mark.slow)]
)
def test_late_entry_and_intervals_carry_information(observe, n):
    rng = np.random.default_rng(10)
    x = simulations.covariates(n, 12)
    rows, y, naive_time = observe(FIRST.draw(x, rng), rng)
    model = DeepSurvivalMachines(batch_size=256, learning_rate=3e-3, patience=4, max_epochs=30)
    truth = FIRST.survival(NEW, GRID)
    used, ignored = (
        error(model.fit(x[rows], target).predict_survival_function(NEW, GRID), truth)
        for target in (y, make_target(naive_time, np.ones(len(naive_time), int)))
    )
    assert used < 0.06
    assert ignored > 2 * used


def test_the_exact_likelihood_finds_both_modes_and_the_bound_averages_them():
    rng = np.random.default_rng(2)
    time = np.where(rng.random(4000) < 0.4, 1.0, 20.0) * rng.weibull(4.0, 4000)
    X, y = rng.normal(size=(4000, 3)), make_target(time, np.ones(4000, int))
    densities, means = {}, {}
    for k, objective in ((1, "exact"), (2, "exact"), (2, "elbo")):
        settings = {"hidden": (20,), "learning_rate": 3e-3, "max_epochs": 40}
        model = DeepSurvivalMachines(k=k, objective=objective, **settings).fit(X[:3000], y[:3000])
        means[k, objective] = model.log_likelihood(X[3000:], y[3000:]) / 1000
        distribution = model.predict_distribution(X[3000:])
        densities[k, objective] = distribution.pdf([0.9, 5.0, 19.0]).mean(0)
        if (k, objective) == (2, "exact"):
            weights = np.sort(distribution.weights.mean(0))
            np.testing.assert_allclose(weights, [0.4, 0.6], atol=0.05)
    assert means[2, "exact"] > means[1, "exact"] + 0.5
    assert means[2, "elbo"] < means[1, "exact"] + 0.05
    early, middle, late = densities[2, "exact"]
    assert min(early, late) > 5 * middle
    assert densities[2, "elbo"][0] < 10 * densities[2, "elbo"][1]


# Cured fractions.


def follow_up(n, share, seed=0, n_events=1):
    """Draw Weibull times of subjects who are not cured, with effects on time and cure.

    Follow-up ends between 32 and 64; 99 % of those who are not cured have the event by 31.4.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    odds = np.log(share / (1 - share)) + X[:, 1] if share else np.full(n, -np.inf)
    cure_fraction = 1 / (1 + np.exp(-odds))
    is_cured = rng.random(n) < cure_fraction
    time = np.where(is_cured, np.inf, rng.weibull(1.5, n) * 8 * np.exp(0.4 * X[:, 0]))
    end, event = rng.uniform(32, 64, n), rng.integers(1, n_events + 1, n)
    return X, make_target(np.minimum(time, end), np.where(time <= end, event, 0)), cure_fraction


def cure_model(**settings):
    usual = {"k": 1, "hidden": (), "cure": True, "max_epochs": 60, "learning_rate": 0.01}
    return DeepSurvivalMachines(**(usual | settings))


@pytest.mark.parametrize("share", [0.4, 0.0])
def test_cure_fractions_are_estimated(share):
    X, y, truth = follow_up(4000, share)
    cure_fraction = cure_model().fit(X, y).predict_distribution(X).cure_fraction()
    assert abs(cure_fraction.mean() - truth.mean()) < 0.02
    assert not share or np.corrcoef(cure_fraction, truth)[0, 1] > 0.97


def test_the_warm_start_with_cure_is_the_maximum_likelihood():
    X, y, _ = follow_up(2000, 0.3)
    X = np.zeros((2000, 1))
    options = {"preprocessor": None, "validation_fraction": 0, "learning_rate": 1e-3}
    start, longer = (cure_model(max_epochs=n, **options).fit(X, y) for n in (0, 40))
    likelihoods = [model.log_likelihood(X, y) / 2000 for model in (start, longer)]
    assert likelihoods[0] == pytest.approx(likelihoods[1], abs=1e-3)


@pytest.mark.parametrize("n_events", [1, 2])
def test_distributions_with_cured_subjects(n_events):
    X, y, _ = follow_up(400, 0.4, n_events=n_events)
    distribution = cure_model(max_epochs=5).fit(X, y).predict_distribution(X[:50])
    cured = distribution.cure_fraction()
    np.testing.assert_allclose(distribution.survival([1e12])[:, 0], cured, rtol=1e-9)
    assert (distribution.mean() == np.inf).all()
    levels = distribution.quantile(1 - cured[0] + np.array([-1e-3, 1e-3]))[0]
    assert np.isfinite(levels).tolist() == [True, False]
    rmst = distribution.rmst(100.0)
    assert ((rmst > 100 * cured) & (rmst < 100)).all()
    later = distribution.given(20.0).cure_fraction()
    np.testing.assert_allclose(later, cured / distribution.survival([20.0])[:, 0], rtol=1e-9)
    nets = [distribution.net(event).cure_fraction() for event in range(1, n_events + 1)]
    np.testing.assert_allclose(np.prod(nets, axis=0), cured, rtol=1e-12)
    draws = distribution.sample(400, random_state=1)
    is_infinite = np.isinf(draws if n_events == 1 else draws[0])
    assert is_infinite.mean() == pytest.approx(cured.mean(), abs=0.02)


def test_cure_fractions_without_cure():
    X, y, _ = follow_up(400, 0.4)
    for primitive, lowest in (("weibull", 0.0), ("gompertz", 0.1)):
        options = {"primitive": primitive, "cure": False, "max_epochs": 2, "learning_rate": 1e-3}
        model = cure_model(**options).fit(X, y)
        fraction = model.predict_distribution(X).cure_fraction()
        assert (fraction > lowest).all() if lowest else (fraction == 0).all()
    with pytest.raises(SettingError, match="cure=True needs objective='exact'; got 'elbo'"):
        cure_model(objective="elbo").fit(X, y)
