"""``LifeMix`` and the weights of its parts."""

import inspect

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone

from lifemix import DeepSurvivalMachines, LifeMix, load, make_target, metrics, save
from lifemix.baselines import (
    AalenJohansen,
    CauseSpecific,
    CoxPH,
    FineGray,
    GradientBoosting,
    KaplanMeier,
)
from lifemix.errors import CovariateError, InputError, LifemixWarning, SettingError
from lifemix.estimators.life_mix import best_weights, simplex_minimum
from lifemix.export import export_survival
from lifemix.report import write_calculator
from lifemix.streaming import TableSource
from lifemix.target import Target, as_target

NETWORK = DeepSurvivalMachines(hidden=(4,), activation="tanh", k=2, max_epochs=3, n_members=2)
TREES = GradientBoosting(n_intervals=4, max_iter=10, min_samples_leaf=10)
PARTS = {"networks": NETWORK, "Cox": CoxPH(penalty="auto"), "trees": TREES}
CAUSES = {"networks": NETWORK, "Cox": CauseSpecific(CoxPH(penalty=1.0)), "trees": TREES}
TIMES = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 8.0, 100.0])


def data(n_events=1, n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 2)), columns=["age", "dose"])
    X["sex"] = rng.choice(["f", "m"], n)
    time = rng.weibull(1.5, n) * np.exp(-0.7 * X["age"].to_numpy()) + 0.01
    return X, make_target(time, rng.integers(0, n_events + 1, n))


@pytest.fixture(scope="module")
def single():
    return LifeMix(PARTS, n_folds=3).fit(*data())


@pytest.fixture(scope="module")
def competing():
    return LifeMix(CAUSES, n_folds=3).fit(*data(2))


@pytest.mark.parametrize("name", ["single", "competing", "Fine and Gray"])
def test_incidences_and_survival_add_up_to_1_at_all_times(name, request):
    X, y = data(2)
    if name == "Fine and Gray":  # which has no net survival
        X = X[["age", "dose"]]
        parts = {"Fine and Gray": FineGray(), "curve": AalenJohansen()}
        model = LifeMix(parts, n_folds=2).fit(X, y)
        assert not hasattr(model, "predict_net_survival")
        assert np.isfinite(model.predict(X)).all()
    else:
        model = request.getfixturevalue(name)
    incidences = model.predict_cumulative_incidences(X, TIMES)
    total = incidences.sum(0) + model.predict_survival_function(X, TIMES)
    np.testing.assert_allclose(total, 1.0, atol=1e-12)


def test_the_curve_is_the_weighted_mean_of_the_parts_at_the_steps(single):
    X, _ = data()
    steps = single.steps_[::5]
    mean = 0
    for number, share in enumerate(single.shares_):
        curves = [
            model.predict_survival_function(X, steps)
            for model, part_number in zip(single.models_, single.part_of_, strict=True)
            if part_number == number
        ]
        mean = mean + share * np.mean(curves, axis=0)
    np.testing.assert_allclose(single.predict_survival_function(X, steps), mean, atol=1e-12)
    assert set(single.weights_) | set(single.dropped_) == set(PARTS)
    assert sum(single.weights_.values()) == pytest.approx(1)


def test_the_risk_of_proportional_hazards_is_the_linear_predictor():
    X, y = data(n=300)
    model = LifeMix({"Cox": CoxPH()}, n_folds=2).fit(X, y)
    gap = model.predict(X) - model.models_[0].predict(X)
    # Curves are linear between their steps.
    assert np.abs(gap - np.median(gap)).max() < 0.2
    assert np.quantile(np.abs(gap - np.median(gap)), 0.9) < 0.01


def test_a_useless_part_is_dropped_and_reported():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 1))
    y = make_target(rng.exponential(np.exp(-2 * X[:, 0])), np.ones(6000, dtype=int))
    model = LifeMix({"Cox": CoxPH(), "marginal": AalenJohansen()}, n_folds=2).fit(X, y)
    assert list(model.part_names_) == ["Cox"]
    assert list(model.dropped_) == ["marginal"]


def test_a_part_that_cannot_be_fitted_is_dropped_with_a_warning():
    X, y = data()
    upper = np.where(y["event"] > 0, y["time"] + 0.5, np.nan)
    intervals = make_target(y["time"], y["event"], upper=upper)
    with pytest.warns(LifemixWarning, match="continues without (Cox|trees)"):
        model = LifeMix(PARTS, n_folds=2).fit(X, intervals)
    assert list(model.weights_.items()) == [("networks", 1.0)]
    with pytest.raises(InputError, match="no part of LifeMix could be fitted; Cox"):
        LifeMix({"Cox": CoxPH()}, n_folds=2).fit(X, intervals)


def test_late_entry_leaves_the_weights_equal():
    X, y = data()
    late = make_target(y["time"], y["event"], entry=y["time"] / 4)
    model = LifeMix({"Cox": CoxPH(), "trees": TREES}, n_folds=2).fit(X, late)
    assert model.weights_ == {"Cox": 0.5, "trees": 0.5}


def test_the_seed_decides_everything_in_any_number_of_processes(single):
    X, y = data()
    again = clone(single).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(again.shares_, single.shares_)
    np.testing.assert_array_equal(again.predict(X), single.predict(X))
    other = clone(single).set_params(random_state=1).fit(X, y)
    assert not np.array_equal(other.predict(X), single.predict(X))


def test_case_weights_reach_the_parts():
    X, y = data(n=120)
    weight = np.where(np.arange(120) < 60, 1.0, 0.0)
    model = LifeMix({"Cox": CoxPH()}, n_folds=2).fit(X, y, sample_weight=weight)
    alone = LifeMix({"Cox": CoxPH()}, n_folds=2).fit(X[:60], y[:60])
    np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=1e-9)


def test_the_defaults_predict():
    X, y = data(n=250)
    model = LifeMix().fit(X, y)
    assert model.score(*data(n=250, seed=1)) > 0.65
    assert set(model.weights_) | set(model.dropped_) == {
        "networks",
        "networks on encoded numbers",
        "networks without hidden layer",
        "Cox",
        "boosted trees",
        "forest",
    }


def test_too_few_events_are_refused():
    X, y = data(n=30)
    y["event"] = np.arange(30) == 0
    with pytest.raises(InputError, match="at least 2 events"):
        LifeMix(PARTS).fit(X, y)


def test_what_only_networks_can_do_is_refused_with_the_alternative(tmp_path):
    X, y = data(n=60)
    X = X[["age", "dose"]].to_numpy()
    model = LifeMix({"Cox": CoxPH(), "curve": KaplanMeier()}, n_folds=2)
    table = pd.DataFrame({"age": X[:, 0], "time": y["time"], "event": y["event"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(CovariateError, match="TableSource. Use DeepSurvivalMachines"):
        model.fit(TableSource(tmp_path / "t.csv", time="time", event="event"))
    with pytest.raises(SettingError, match="validation_data.*use DeepSurvivalMachines"):
        model.fit(X, y, validation_data=(X, y))
    model.fit(X, y)
    with pytest.raises(SettingError, match="return_std.*Use DeepSurvivalMachines"):
        model.predict_survival_function(X, [1.0], return_std=True)
    with pytest.raises(SettingError, match="made from a DeepSurvivalMachines; got LifeMix"):
        write_calculator(model, tmp_path / "page.html")
    with pytest.raises(SettingError, match="got LifeMix.*fit a DeepSurvivalMachines"):
        export_survival(model, [1.0])


def test_lifemix_can_replace_deep_survival_machines():
    """Every public method has the same arguments, or only networks have it."""
    network_only = {"transform", "fit_transform", "set_output", "get_feature_names_out"}
    network_only |= {"log_likelihood", "paper", "tuned"}
    for name in dir(DeepSurvivalMachines):
        method = getattr(DeepSurvivalMachines, name)
        if name.startswith("_") or not callable(method) or name in network_only:
            continue
        parameters = inspect.signature(method).parameters
        assert set(inspect.signature(getattr(LifeMix, name)).parameters) == set(parameters), name


def test_a_fitted_model_shows_weights_and_folds(single, tmp_path):
    first, *notes = repr(single).split("\n# ")
    assert first == repr(clone(single))
    for name, share in single.weights_.items():
        assert f"{name} {share:.2f}" in notes[0]
    assert not any("n_folds" in note for note in notes)
    model = LifeMix({"Cox": CoxPH(penalty="auto"), "curve": KaplanMeier()}).fit(*data())
    assert "n_folds=5: for 150 training rows" in repr(model)
    save(model, tmp_path / "model")
    assert repr(load(tmp_path / "model")) == repr(model)
    cox = model.models_[model.part_names_.tolist().index("Cox")]
    assert f"# penalty={cox.penalty_:g}: the best information criterion" in repr(cox)


# Weights.


@given(seed=st.integers(0, 10**6), n_models=st.integers(1, 5), log_scale=st.integers(-12, 12))
def test_weights_are_the_minimum_on_the_simplex(seed, n_models, log_scale):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n_models, n_models))
    products = root @ root.T + 0.1 * np.eye(n_models)
    weights = simplex_minimum(10.0**log_scale * products)
    reference = minimize(
        lambda w: w @ products @ w,
        np.full(n_models, 1 / n_models),
        bounds=[(0, 1)] * n_models,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
    )
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert weights @ products @ weights <= reference.fun + 1e-6


@pytest.mark.parametrize("products", [np.zeros((3, 3)), np.ones((3, 3)), np.diag([0.0, 1.0, 1.0])])
def test_a_singular_matrix_has_a_solution(products):
    weights = simplex_minimum(products)
    assert weights.sum() == pytest.approx(1)
    assert weights @ products @ weights <= products.min() + 1e-12


WEIGHT_TIMES = np.linspace(0.1, 1.5, 12)


def exponential_rows(n_rows, is_censored=True):
    """Return rates, exponential times, and the incidences of the true and of other rates."""
    rng = np.random.default_rng(0)
    rate = np.exp(rng.standard_normal(n_rows))
    time, censoring = rng.exponential(1 / rate), rng.exponential(2, n_rows)
    if not is_censored:
        censoring = np.full(n_rows, np.inf)
    target = as_target((np.minimum(time, censoring), (time <= censoring).astype(int)))
    rates = np.stack([rate * 1.5, rate**0.3, np.ones_like(rate), rate])
    return target, -np.expm1(-rates[:, None, :, None] * WEIGHT_TIMES)


def weigh(incidences, target, weight=1.0, prior_events=0.0, times=WEIGHT_TIMES):
    return best_weights(incidences, target, times, weight * np.ones(len(target)), prior_events)


def test_weights_minimise_the_integrated_brier_score():
    target, incidences = exponential_rows(400)
    incidences = incidences[:3]
    y = target.to_array()

    def score(weights):
        survival = np.clip(1 - np.tensordot(weights / weights.sum(), incidences, 1)[0], 0, 1)
        return np.gradient(WEIGHT_TIMES) @ metrics.brier_score(y, y, survival, WEIGHT_TIMES)

    weights = weigh(incidences, target)
    others = [np.clip(weights + 0.02 * step, 0, None) for step in (*np.eye(3), *-np.eye(3))]
    assert score(weights) <= min(map(score, [*others, *np.eye(3)])) + 1e-12


@pytest.mark.parametrize("n_rows", [300, 40_000])
def test_weights_do_not_depend_on_units_and_copies(n_rows):
    target, incidences = exponential_rows(n_rows)
    incidences = incidences[:3]
    weight = np.random.default_rng(1).uniform(0.5, 2, n_rows)
    expected = weigh(incidences, target, weight, 100.0)
    assert np.ptp(expected) > 0.1
    for unit in (1e-6, 365.25, 3.2e7):
        rescaled = Target(target.event, target.time * unit, target.entry, target.upper)
        weights = weigh(incidences, rescaled, unit**2 * weight, 100.0, WEIGHT_TIMES * unit)
        assert weights == pytest.approx(expected, abs=1e-6)
    twice = np.tile(np.arange(n_rows), 2)
    copied = weigh(incidences[:, :, twice], target.take(twice), weight[twice], 100.0)
    assert copied == pytest.approx(expected, abs=1e-6)


def test_the_true_curves_get_almost_all_weight():
    target, incidences = exponential_rows(4000)
    assert weigh(incidences[[3, 2]], target, prior_events=200.0)[0] > 0.9


def test_the_prior_draws_towards_equal_weights_less_with_more_events():
    first_weights = []
    for n_rows in (60, 6000):
        target, incidences = exponential_rows(n_rows)
        first_weights.append(weigh(incidences[[3, 2]], target, prior_events=500.0)[0])
    assert 0.5 < first_weights[0] < first_weights[1]
    assert weigh(incidences[[3, 2]], target, prior_events=1e12) == pytest.approx(0.5, abs=1e-6)


def test_case_weights_count_as_copies_if_no_row_is_censored():
    target, incidences = exponential_rows(50, is_censored=False)
    n_copies = np.where(np.arange(50) % 2, 2, 1)
    rows = np.repeat(np.arange(50), n_copies)
    weighted = weigh(incidences[[3, 2]], target, n_copies, 100.0)
    copied = weigh(incidences[[3, 2]][:, :, rows], target.take(rows), 1.0, 100.0)
    assert weighted == pytest.approx(copied, rel=1e-9)
