"""Weights of the models in LifeMix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from lifemix import metrics
from lifemix.mix.weights import best_weights, simplex_minimum
from lifemix.target import Target, as_target


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


TIMES = np.linspace(0.1, 1.5, 12)


def curves(rate):
    return -np.expm1(-rate[:, None] * TIMES)[None]


def three_models(rate):
    return np.stack([curves(rate * 1.5), curves(rate**0.3), curves(np.ones_like(rate))])


def test_weights_minimise_the_integrated_brier_score():
    rate, target = exponential_rows(400)
    incidences = three_models(rate)
    weights = best_weights(incidences, target, TIMES, np.ones(len(target)), prior_events=0.0)
    y = target.to_array()

    def score(w):
        survival = 1 - np.tensordot(w, incidences, 1)[0]
        brier = metrics.brier_score(y, y, np.clip(survival, 0, 1), TIMES)
        return np.gradient(TIMES) @ brier

    for step in np.vstack([np.eye(3), -np.eye(3)]):
        other = np.clip(weights + 0.02 * step, 0, None)
        assert score(weights) <= score(other / other.sum()) + 1e-12


@pytest.mark.parametrize("unit", [1e-6, 365.25, 3.2e7])
@pytest.mark.parametrize("n_rows", [400, 40_000])
def test_weights_do_not_depend_on_the_unit_of_time(n_rows, unit):
    rate, target = exponential_rows(n_rows)
    weight = np.ones(n_rows)
    in_years = best_weights(three_models(rate), target, TIMES, weight, 100.0)
    rescaled = Target(target.event, target.time * unit, target.entry, target.upper)
    in_unit = best_weights(three_models(rate), rescaled, TIMES * unit, weight, 100.0)
    assert in_unit == pytest.approx(in_years, abs=1e-6)
    assert np.ptp(in_years) > 0.1


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_weights_do_not_depend_on_the_scale_of_the_case_weights(scale):
    rate, target = exponential_rows(300)
    weight = np.random.default_rng(1).uniform(0.5, 2, 300)
    weights = best_weights(three_models(rate), target, TIMES, weight, 100.0)
    assert best_weights(three_models(rate), target, TIMES, scale * weight, 100.0) == pytest.approx(
        weights, abs=1e-6
    )


def test_weights_do_not_depend_on_duplicating_the_table():
    rate, target = exponential_rows(300)
    twice = np.tile(np.arange(300), 2)
    weights = best_weights(three_models(rate), target, TIMES, np.ones(300), 100.0)
    duplicated = best_weights(
        three_models(rate[twice]), target.take(twice), TIMES, np.ones(600), 100.0
    )
    assert duplicated == pytest.approx(weights, abs=1e-6)


def test_ten_models_are_weighted_by_one_solve():
    rate, target = exponential_rows(500)
    incidences = np.stack([curves(rate**power) for power in np.linspace(0, 2, 10)])
    weights = best_weights(incidences, target, TIMES, np.ones(500), 0.0)
    single = [simplex_minimum_value(incidences, target, np.eye(10)[index]) for index in range(10)]
    assert simplex_minimum_value(incidences, target, weights) <= min(single) + 1e-12


def simplex_minimum_value(incidences, target, weights):
    y = target.to_array()
    survival = np.clip(1 - np.tensordot(weights, incidences, 1)[0], 0, 1)
    return np.gradient(TIMES) @ metrics.brier_score(y, y, survival, TIMES)


def test_the_true_curves_get_almost_all_weight():
    rate, target = exponential_rows(4000)
    incidences = np.stack([curves(rate), curves(np.full_like(rate, rate.mean()))])
    weights = best_weights(incidences, target, TIMES, np.ones(len(target)), prior_events=200.0)
    assert weights[0] > 0.9


def test_the_prior_draws_towards_equal_weights_less_with_more_events():
    first_weights = []
    for n_rows in (60, 6000):
        rate, target = exponential_rows(n_rows)
        incidences = np.stack([curves(rate), curves(np.full_like(rate, rate.mean()))])
        first_weights.append(
            best_weights(incidences, target, TIMES, np.ones(n_rows), prior_events=500.0)[0]
        )
    assert 0.5 < first_weights[0] < first_weights[1]
    assert best_weights(incidences, target, TIMES, np.ones(n_rows), 1e12) == pytest.approx(
        [0.5, 0.5], abs=1e-6
    )


def test_case_weights_count_as_copies_if_no_row_is_censored():
    rate, target = exponential_rows(50)
    target = Target(np.ones(50, dtype=np.int64), target.time, target.entry, target.upper)
    incidences = np.stack([curves(rate), curves(np.full_like(rate, rate.mean()))])
    twice = np.repeat(np.arange(50), np.where(np.arange(50) % 2, 2, 1))
    weighted = best_weights(incidences, target, TIMES, np.where(np.arange(50) % 2, 2.0, 1.0), 100.0)
    copied = best_weights(
        incidences[:, :, twice], target.take(twice), TIMES, np.ones(len(twice)), 100.0
    )
    assert weighted == pytest.approx(copied, rel=1e-9)
