import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifemix.partial_likelihood import (
    RiskSets,
    log_likelihood,
    make_terms,
    maximise,
    pseudo_inverse,
)


@st.composite
def problems(draw):
    """Draw a small problem with ties, late entries and weights, and a point to look at."""
    n = draw(st.integers(4, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    time = rng.integers(1, 6, n).astype(float)
    event = rng.random(n) < 0.7
    event[0] = True
    entry = np.where(rng.random(n) < 0.4, np.floor(time * rng.random(n)), 0.0)
    return rng.normal(size=(n, 2)), time, event, entry, rng.uniform(0.2, 3, n), rng.normal(size=2)


@given(problems())
def test_likelihood_is_the_one_written_out_row_by_row(problem):
    x, time, event, entry, weight, beta = problem
    event_times = np.unique(time[event])
    sets = RiskSets(event_times, time, entry)
    r = weight * np.exp(x @ beta)
    breslow = efron = 0.0
    for t in event_times:
        risk, dead = r[(entry < t) & (t <= time)].sum(), (time == t) & event
        breslow += weight[dead] @ (x[dead] @ beta) - weight[dead].sum() * np.log(risk)
        parts = [np.log(risk - k / dead.sum() * r[dead].sum()) for k in range(dead.sum())]
        efron += weight[dead] @ (x[dead] @ beta) - weight[dead].mean() * np.sum(parts)
    for ties, expected in (("breslow", breslow), ("efron", efron)):
        terms = make_terms(event_times, time, event, weight, ties)
        assert log_likelihood(beta, x, weight, sets, terms)[0] == pytest.approx(expected, abs=1e-9)


@given(problems(), st.sampled_from(["breslow", "efron"]))
def test_gradient_and_information_are_the_derivatives(problem, ties):
    x, time, event, entry, weight, beta = problem
    event_times = np.unique(time[event])
    arguments = (
        x,
        weight,
        RiskSets(event_times, time, entry),
        make_terms(event_times, time, event, weight, ties),
    )
    _, gradient, information = log_likelihood(beta, *arguments)
    step = 1e-5
    for j, direction in enumerate(np.eye(2) * step):
        above, below = (
            log_likelihood(beta + direction, *arguments),
            log_likelihood(beta - direction, *arguments),
        )
        assert gradient[j] == pytest.approx((above[0] - below[0]) / (2 * step), abs=1e-5)
        np.testing.assert_allclose(information[j], -(above[1] - below[1]) / (2 * step), atol=1e-5)


def test_newton_halves_steps_that_go_too_far():
    def objective(z):
        value = -float(np.logaddexp(z[0], -z[0]))  # flat far out: a full step from 3 overshoots
        return value, -np.tanh(z), np.array([[1 / np.cosh(z[0]) ** 2]])

    optimum = maximise(objective, np.array([3.0]), 50)
    assert optimum.converged
    assert optimum.parameters[0] == pytest.approx(0, abs=1e-9)


def test_pseudo_inverse_leaves_empty_directions_alone():
    singular = np.array([[2.0, 2.0], [2.0, 2.0]])
    np.testing.assert_allclose(pseudo_inverse(singular), np.full((2, 2), 1 / 8))
    np.testing.assert_array_equal(pseudo_inverse(np.zeros((2, 2))), np.zeros((2, 2)))
