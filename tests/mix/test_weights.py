import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from lifemix import metrics
from lifemix.mix.weights import best_weights, on_simplex
from lifemix.target import Target, as_target


@given(seed=st.integers(0, 10**6), count=st.integers(1, 5))
def test_weights_are_the_minimum_on_the_simplex(seed, count):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((count, count))
    quadratic, linear = root @ root.T + 0.1 * np.eye(count), rng.standard_normal(count)
    found = on_simplex(quadratic, linear)

    def value(w):
        return w @ quadratic @ w - 2 * linear @ w

    other = minimize(
        value,
        np.full(count, 1 / count),
        bounds=[(0, 1)] * count,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
    )
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert value(found) <= other.fun + 1e-6


def test_equal_parts_have_a_solution():
    found = on_simplex(np.ones((3, 3)), np.ones(3))
    assert found.sum() == pytest.approx(1)


def exponential_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    rate = np.exp(rng.standard_normal(n))
    time, censoring = rng.exponential(1 / rate), rng.exponential(2, n)
    return rate, as_target((np.minimum(time, censoring), (time <= censoring).astype(int)))


TIMES = np.linspace(0.1, 1.5, 12)


def curves(rate):
    return -np.expm1(-rate[:, None] * TIMES)[None]


def test_weights_minimise_the_integrated_brier_score():
    rate, target = exponential_rows(400)
    parts = np.stack([curves(rate * 1.5), curves(rate**0.3), curves(np.ones_like(rate))])
    found = best_weights(parts, target, TIMES, np.ones(len(target)), prior_events=0.0)
    y = target.to_array()

    def score(w):
        survival = 1 - np.tensordot(w, parts, 1)[0]
        brier = metrics.brier_score(y, y, np.clip(survival, 0, 1), TIMES)
        return np.gradient(TIMES) @ brier

    for step in np.vstack([np.eye(3), -np.eye(3)]):
        other = np.clip(found + 0.02 * step, 0, None)
        assert score(found) <= score(other / other.sum()) + 1e-12


def test_the_true_curves_take_it_all():
    rate, target = exponential_rows(4000)
    parts = np.stack([curves(rate), curves(np.full_like(rate, rate.mean()))])
    found = best_weights(parts, target, TIMES, np.ones(len(target)), prior_events=200.0)
    assert found[0] > 0.9


def test_the_prior_draws_towards_equal_weights_less_with_more_events():
    shares = []
    for n in (60, 6000):
        rate, target = exponential_rows(n)
        parts = np.stack([curves(rate), curves(np.full_like(rate, rate.mean()))])
        shares.append(best_weights(parts, target, TIMES, np.ones(n), prior_events=500.0)[0])
    assert 0.5 < shares[0] < shares[1]
    assert best_weights(parts, target, TIMES, np.ones(n), 1e12) == pytest.approx([0.5, 0.5], abs=1e-6)


def test_case_weights_count_as_copies_where_nobody_is_censored():
    rate, target = exponential_rows(50)
    target = Target(np.ones(50, dtype=np.int64), target.time, target.entry, target.upper)
    parts = np.stack([curves(rate), curves(np.full_like(rate, rate.mean()))])
    twice = np.repeat(np.arange(50), np.where(np.arange(50) % 2, 2, 1))
    weighted = best_weights(parts, target, TIMES, np.where(np.arange(50) % 2, 2.0, 1.0), 0.0)
    copied = best_weights(parts[:, :, twice], target.take(twice), TIMES, np.ones(len(twice)), 0.0)
    assert weighted == pytest.approx(copied, rel=1e-9)
