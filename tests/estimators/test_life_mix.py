"""``LifeMix`` and the weights of its parts."""

import inspect

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

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

NETWORK = DeepSurvivalMachines(hidden=(4,), activation="tanh", k=2, max_epochs=5, n_members=2)
TREES = GradientBoosting(n_intervals=4, max_iter=10, min_samples_leaf=10)
ONE = {"networks": NETWORK, "Cox": CoxPH(penalty="auto"), "trees": TREES}
TWO = {"networks": NETWORK, "Cox": CauseSpecific(CoxPH(penalty=1.0)), "trees": TREES}
TIMES = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 8.0, 100.0])


def data(kinds=1, n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.standard_normal(n),
            "dose": rng.standard_normal(n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    time = rng.weibull(1.5, n) * np.exp(-0.7 * X["age"].to_numpy()) + 0.01
    return X, make_target(time, rng.integers(0, kinds + 1, n))


@pytest.fixture(scope="module")
def one():
    return LifeMix(ONE, n_folds=3).fit(*data())


@pytest.fixture(scope="module")
def two():
    return LifeMix(TWO, n_folds=3).fit(*data(2))


@pytest.mark.parametrize("name", ["one", "two"])
def test_incidences_and_survival_add_up_to_1_at_all_times(name, request):
    model = request.getfixturevalue(name)
    X, _ = data()
    total = model.predict_cumulative_incidences(X, TIMES).sum(0) + model.predict_survival_function(
        X, TIMES
    )
    np.testing.assert_allclose(total, 1.0, atol=1e-12)


def test_the_curve_is_the_weighted_mean_of_the_parts_at_the_steps(one):
    X, _ = data()
    at = one.steps_[::5]
    mean = 0
    for number, share in enumerate(one.shares_):
        own = [m for m, part in zip(one.models_, one.part_of_, strict=True) if part == number]
        mean = mean + share * np.mean([m.predict_survival_function(X, at) for m in own], axis=0)
    np.testing.assert_allclose(one.predict_survival_function(X, at), mean, atol=1e-12)


def test_the_risk_of_proportional_hazards_is_the_linear_predictor():
    X, y = data(n=300)
    model = LifeMix({"Cox": CoxPH()}, n_folds=2).fit(X, y)
    gap = model.predict(X) - model.models_[0].predict(X)
    assert np.abs(gap - np.median(gap)).max() < 0.2  # of curves that are linear between their steps
    assert np.quantile(np.abs(gap - np.median(gap)), 0.9) < 0.01


def test_weights_tell_what_counts(one):
    assert set(one.weights_) | set(one.dropped_) == set(ONE)
    assert sum(one.weights_.values()) == pytest.approx(1)
    assert sum(isinstance(m, CoxPH) for m in one.models_) in (0, 1)  # fitted to all rows


def test_a_part_without_merit_is_dropped_and_named():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 1))
    y = make_target(rng.exponential(np.exp(-2 * X[:, 0])), np.ones(6000, dtype=int))
    model = LifeMix({"Cox": CoxPH(), "marginal": AalenJohansen()}, n_folds=2).fit(X, y)
    assert list(model.part_names_) == ["Cox"]
    assert list(model.dropped_) == ["marginal"]


def test_a_part_that_cannot_be_fitted_is_left_out_with_a_warning():
    X, y = data()
    intervals = make_target(
        y["time"], y["event"], upper=np.where(y["event"] > 0, y["time"] + 0.5, np.nan)
    )
    with pytest.warns(LifemixWarning, match="continues without (Cox|trees)"):
        model = LifeMix(ONE, n_folds=2).fit(X, intervals)
    assert list(model.weights_.items()) == [("networks", 1.0)]
    with pytest.raises(InputError, match="no part of LifeMix could be fitted; Cox"):
        LifeMix({"Cox": CoxPH()}, n_folds=2).fit(X, intervals)


def test_late_entry_leaves_the_weights_equal():
    X, y = data()
    late = make_target(y["time"], y["event"], entry=y["time"] / 4)
    model = LifeMix({"Cox": CoxPH(), "trees": TREES}, n_folds=2).fit(X, late)
    assert model.weights_ == {"Cox": 0.5, "trees": 0.5}


@pytest.mark.parametrize("name", ["one", "two"])
def test_save_and_load_give_the_same_predictions(name, request, tmp_path):
    model = request.getfixturevalue(name)
    X, y = data(len({"one": 1}) + (name == "two"))
    save(model, tmp_path / "mix.safetensors")
    again = load(tmp_path / "mix.safetensors")
    np.testing.assert_array_equal(
        again.predict_cumulative_incidences(X, TIMES), model.predict_cumulative_incidences(X, TIMES)
    )
    assert again.weights_ == model.weights_
    assert again.score(X, y) == pytest.approx(model.score(X, y), abs=1e-3)


def test_the_same_seed_gives_the_same_model_in_any_number_of_processes(one):
    X, y = data()
    again = clone(one).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(again.shares_, one.shares_)
    np.testing.assert_array_equal(again.predict(X), one.predict(X))
    other = clone(one).set_params(random_state=1).fit(X, y)
    assert not np.array_equal(other.predict(X), one.predict(X))


def test_case_weights_reach_the_parts():
    X, y = data(n=120)
    weight = np.where(np.arange(120) < 60, 1.0, 0.0)
    model = LifeMix({"Cox": CoxPH()}, n_folds=2).fit(X, y, sample_weight=weight)
    alone = LifeMix({"Cox": CoxPH()}, n_folds=2).fit(X[:60], y[:60])
    np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=1e-9)


def test_folds_keep_the_rows_of_a_subject_together(monkeypatch):
    X, y = data(n=120)
    subject = np.arange(120) // 4
    seen = []

    class Watching(CoxPH):
        def fit(self, X, y, sample_weight=None):
            seen.append(set(y["subject"].tolist()) if "subject" in y.dtype.names else None)
            return super().fit(X, y, sample_weight)

    target = make_target(y["time"], y["event"], subject=subject)
    LifeMix({"Cox": Watching()}, n_folds=2).fit(X, target)
    first, second = seen[:2]
    assert not first & second


def test_the_defaults_beat_the_marginal_curve_by_far():
    X, y = data(n=400)
    model = LifeMix().fit(X, y)
    X_new, y_new = data(n=400, seed=1)
    assert model.score(X_new, y_new) > 0.65
    assert set(model.weights_) | set(model.dropped_) == {
        "networks",
        "networks on encoded numbers",
        "networks without hidden layer",
        "Cox",
        "boosted trees",
        "forest",
    }


@pytest.mark.parametrize("parts", [{}, [CoxPH()], {"Cox": CoxPH}, {1: CoxPH()}])
def test_parts_that_cannot_be_used_are_refused(parts):
    with pytest.raises(SettingError, match="parts must be"):
        LifeMix(parts).fit(*data())


def test_too_few_events_are_refused():
    X, y = data(n=30)
    y["event"] = 0
    y["event"][0] = 1
    with pytest.raises(InputError, match="at least 2 events"):
        LifeMix(ONE).fit(X, y)


def test_parts_without_net_survival_take_part():
    X, y = data(2)
    X = X[["age", "dose"]]
    model = LifeMix({"Fine and Gray": FineGray(), "trees": TREES}, n_folds=2).fit(X, y)
    assert not hasattr(model, "predict_net_survival")
    total = model.predict_cumulative_incidences(X, TIMES).sum(0) + model.predict_survival_function(
        X, TIMES
    )
    np.testing.assert_allclose(total, 1.0, atol=1e-12)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("ask", ["predict_distribution", "predict"])
def test_a_model_that_is_not_fitted_says_so(ask):
    with pytest.raises(NotFittedError):
        getattr(LifeMix(), ask)(data()[0])


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


def exponential_rows(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    rate = np.exp(rng.standard_normal(n_rows))
    time, censoring = rng.exponential(1 / rate), rng.exponential(2, n_rows)
    return rate, as_target((np.minimum(time, censoring), (time <= censoring).astype(int)))


WEIGHT_TIMES = np.linspace(0.1, 1.5, 12)


def curves(rate):
    return -np.expm1(-rate[:, None] * WEIGHT_TIMES)[None]


def three_models(rate):
    return np.stack([curves(rate * 1.5), curves(rate**0.3), curves(np.ones_like(rate))])


def test_weights_minimise_the_integrated_brier_score():
    rate, target = exponential_rows(400)
    incidences = three_models(rate)
    weights = best_weights(incidences, target, WEIGHT_TIMES, np.ones(len(target)), prior_events=0.0)
    y = target.to_array()

    def score(w):
        survival = 1 - np.tensordot(w, incidences, 1)[0]
        brier = metrics.brier_score(y, y, np.clip(survival, 0, 1), WEIGHT_TIMES)
        return np.gradient(WEIGHT_TIMES) @ brier

    for step in np.vstack([np.eye(3), -np.eye(3)]):
        other = np.clip(weights + 0.02 * step, 0, None)
        assert score(weights) <= score(other / other.sum()) + 1e-12


@pytest.mark.parametrize("unit", [1e-6, 365.25, 3.2e7])
@pytest.mark.parametrize("n_rows", [400, 40_000])
def test_weights_do_not_depend_on_the_unit_of_time(n_rows, unit):
    rate, target = exponential_rows(n_rows)
    weight = np.ones(n_rows)
    in_years = best_weights(three_models(rate), target, WEIGHT_TIMES, weight, 100.0)
    rescaled = Target(target.event, target.time * unit, target.entry, target.upper)
    in_unit = best_weights(three_models(rate), rescaled, WEIGHT_TIMES * unit, weight, 100.0)
    assert in_unit == pytest.approx(in_years, abs=1e-6)
    assert np.ptp(in_years) > 0.1


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_weights_do_not_depend_on_the_scale_of_the_case_weights(scale):
    rate, target = exponential_rows(300)
    weight = np.random.default_rng(1).uniform(0.5, 2, 300)
    weights = best_weights(three_models(rate), target, WEIGHT_TIMES, weight, 100.0)
    assert best_weights(
        three_models(rate), target, WEIGHT_TIMES, scale * weight, 100.0
    ) == pytest.approx(weights, abs=1e-6)


def test_weights_do_not_depend_on_duplicating_the_table():
    rate, target = exponential_rows(300)
    twice = np.tile(np.arange(300), 2)
    weights = best_weights(three_models(rate), target, WEIGHT_TIMES, np.ones(300), 100.0)
    duplicated = best_weights(
        three_models(rate[twice]), target.take(twice), WEIGHT_TIMES, np.ones(600), 100.0
    )
    assert duplicated == pytest.approx(weights, abs=1e-6)


def test_ten_models_are_weighted_by_one_solve():
    rate, target = exponential_rows(500)
    incidences = np.stack([curves(rate**power) for power in np.linspace(0, 2, 10)])
    weights = best_weights(incidences, target, WEIGHT_TIMES, np.ones(500), 0.0)
    single = [simplex_minimum_value(incidences, target, np.eye(10)[index]) for index in range(10)]
    assert simplex_minimum_value(incidences, target, weights) <= min(single) + 1e-12


def simplex_minimum_value(incidences, target, weights):
    y = target.to_array()
    survival = np.clip(1 - np.tensordot(weights, incidences, 1)[0], 0, 1)
    return np.gradient(WEIGHT_TIMES) @ metrics.brier_score(y, y, survival, WEIGHT_TIMES)


def test_the_true_curves_get_almost_all_weight():
    rate, target = exponential_rows(4000)
    incidences = np.stack([curves(rate), curves(np.full_like(rate, rate.mean()))])
    weights = best_weights(
        incidences, target, WEIGHT_TIMES, np.ones(len(target)), prior_events=200.0
    )
    assert weights[0] > 0.9


def test_the_prior_draws_towards_equal_weights_less_with_more_events():
    first_weights = []
    for n_rows in (60, 6000):
        rate, target = exponential_rows(n_rows)
        incidences = np.stack([curves(rate), curves(np.full_like(rate, rate.mean()))])
        first_weights.append(
            best_weights(incidences, target, WEIGHT_TIMES, np.ones(n_rows), prior_events=500.0)[0]
        )
    assert 0.5 < first_weights[0] < first_weights[1]
    assert best_weights(incidences, target, WEIGHT_TIMES, np.ones(n_rows), 1e12) == pytest.approx(
        [0.5, 0.5], abs=1e-6
    )


def test_case_weights_count_as_copies_if_no_row_is_censored():
    rate, target = exponential_rows(50)
    target = Target(np.ones(50, dtype=np.int64), target.time, target.entry, target.upper)
    incidences = np.stack([curves(rate), curves(np.full_like(rate, rate.mean()))])
    twice = np.repeat(np.arange(50), np.where(np.arange(50) % 2, 2, 1))
    weighted = best_weights(
        incidences, target, WEIGHT_TIMES, np.where(np.arange(50) % 2, 2.0, 1.0), 100.0
    )
    copied = best_weights(
        incidences[:, :, twice], target.take(twice), WEIGHT_TIMES, np.ones(len(twice)), 100.0
    )
    assert weighted == pytest.approx(copied, rel=1e-9)


def test_what_only_networks_can_do_is_refused_with_the_alternative(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = make_target(rng.exponential(size=60), np.arange(60) % 2)
    model = LifeMix({"Cox": CoxPH(), "curve": KaplanMeier()}, n_folds=2)
    pd.DataFrame({"age": X[:, 0], "time": y["time"], "event": y["event"]}).to_csv(
        tmp_path / "t.csv", index=False
    )
    source = TableSource(tmp_path / "t.csv", time="time", event="event")
    with pytest.raises(CovariateError, match="TableSource. Use DeepSurvivalMachines"):
        model.fit(source)
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


def test_a_fitted_model_shows_weights_and_folds(one, tmp_path):
    first, *notes = repr(one).split("\n# ")
    assert first == repr(clone(one))
    for name, share in one.weights_.items():
        assert f"{name} {share:.2f}" in notes[0]
    assert not any("n_folds" in note for note in notes)
    parts = {"Cox": CoxPH(penalty="auto"), "curve": KaplanMeier()}
    model = LifeMix(parts).fit(*data())
    assert "n_folds=5: for 150 training rows" in repr(model)
    save(model, tmp_path / "model")
    assert repr(load(tmp_path / "model")) == repr(model)
    cox = model.models_[model.part_names_.tolist().index("Cox")]
    assert f"# penalty={cox.penalty_:g}: the best information criterion" in repr(cox)
