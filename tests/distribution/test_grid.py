"""Curves given at some times, and averages of distributions: the identities of every distribution."""

import numpy as np
import pytest
import torch

from helpers.quadrature import integral_of_survival
from lifemix.distribution import (
    AverageDistribution,
    CompetingDistribution,
    GridDistribution,
    MixtureDistribution,
)
from lifemix.primitives import LogNormal, Mixture, Weibull

ROWS = 3


def tensor(*shape, seed, spread=0.4):
    return torch.as_tensor(np.random.default_rng(seed).normal(0, spread, shape))


def mixture(family=Weibull, seed=0):
    weights = torch.log_softmax(tensor(ROWS, 2, seed=seed), dim=-1)
    return MixtureDistribution(
        Mixture(weights, family(tensor(ROWS, 2, seed=seed + 1), tensor(ROWS, 2, seed=seed + 2)))
    )


def competing(seed=0):
    shape = (2, ROWS, 2, 2)
    weights = torch.log_softmax(tensor(*shape, seed=seed), dim=-1)
    return CompetingDistribution(
        Mixture(weights, Weibull(tensor(*shape, seed=seed + 1), tensor(*shape, seed=seed + 2)))
    )


TIMES = np.array([0.2, 0.5, 0.9, 1.4])


def grid(events, tail=True):
    rng = np.random.default_rng(5)
    steps = rng.dirichlet(np.ones(len(TIMES) * events + 2), size=ROWS)[:, : len(TIMES) * events]
    incidences = np.moveaxis(steps.reshape(ROWS, events, -1), 1, 0).cumsum(-1)
    nets = None if events == 1 else 1 - 0.9 * incidences / incidences.sum(0).max()
    rest = (mixture() if events == 1 else competing()) if tail else None
    return GridDistribution.of(TIMES, incidences, nets, rest)


def average(events):
    parts = [mixture(), mixture(LogNormal, 7)] if events == 1 else [competing(), competing(7)]
    return AverageDistribution([*parts, grid(events)], [1.0, 2.0, 1.5])


CASES = {
    "grid": lambda: grid(1),
    "grid, constant hazard": lambda: grid(1, tail=False),
    "grid, two types": lambda: grid(2),
    "grid, two types, constant hazards": lambda: grid(2, tail=False),
    "average": lambda: average(1),
    "average, two types": lambda: average(2),
}
over_cases = pytest.mark.parametrize("make", CASES.values(), ids=CASES)
with_since = pytest.mark.parametrize("since", [None, 0.3, 3.0])


def conditional(make, since):
    return make() if since is None else make().given(since)


@over_cases
@with_since
def test_quantile_inverts_survival(make, since):
    distribution = conditional(make, since)
    levels = np.array([0.05, 0.3, 0.5, 0.8, 0.99])
    times = distribution.quantile(levels)
    for row in range(ROWS):
        np.testing.assert_allclose(distribution[row].survival(times[row])[0], 1 - levels, atol=1e-9)


@over_cases
@with_since
def test_density_is_minus_the_slope_of_survival(make, since):
    distribution = conditional(make, since)
    for t in (0.35, 0.7, 1.1, 2.0, 4.0):
        h = 1e-6
        slope = (distribution.survival(t - h) - distribution.survival(t + h))[:, 0] / (2 * h)
        np.testing.assert_allclose(distribution.pdf(t)[:, 0], slope, rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(
            distribution.hazard(t) * distribution.survival(t),
            distribution.pdf(t),
            rtol=1e-9,
            atol=1e-12,
        )


@over_cases
@with_since
def test_restricted_mean_is_the_integral_of_survival(make, since):
    distribution = conditional(make, since)
    for t in (0.1, 0.7, 5.0):
        exact = integral_of_survival(distribution.survival, t, [0.2, 0.3, 0.5, 0.9, 1.4, 3.0])
        for row in range(ROWS):
            assert distribution[row].rmst(t)[0] == pytest.approx(exact[row], abs=1e-8)


@over_cases
@with_since
def test_mean_is_the_limit_of_restricted_means(make, since):
    distribution = conditional(make, since)
    np.testing.assert_allclose(distribution.mean(), distribution.rmst(1e6), rtol=1e-6)


@over_cases
@with_since
def test_incidences_and_survival_add_up_to_1(make, since):
    distribution = conditional(make, since)
    times = [0.0, 0.1, 0.6, 1.4, 2.0, 9.0]
    total = distribution.cumulative_incidences(times).sum(0) + distribution.survival(times)
    np.testing.assert_allclose(total, 1.0, atol=1e-10)


@over_cases
def test_conditioning_divides_by_survival(make):
    distribution = make()
    times = [0.8, 1.2, 3.5, 6.0]
    for s in (0.4, 2.0):
        given = distribution.given(s)
        late = [t for t in times if t > s]
        np.testing.assert_allclose(
            given.survival(late), distribution.survival(late) / distribution.survival(s), rtol=1e-10
        )
        for event in range(1, distribution.n_events + 1):
            gained = distribution.cumulative_incidence(
                late, event
            ) - distribution.cumulative_incidence(s, event)
            np.testing.assert_allclose(
                given.cumulative_incidence(late, event),
                gained / distribution.survival(s),
                rtol=1e-6,
                atol=1e-9,
            )


@over_cases
@pytest.mark.parametrize("since", [None, 0.3])
def test_samples_follow_the_distribution(make, since):
    distribution = conditional(make, since)
    drawn = distribution.sample(4000, random_state=0)
    again = distribution.sample(4000, random_state=0)
    times = drawn if distribution.n_events == 1 else drawn[0]
    np.testing.assert_array_equal(times, again if distribution.n_events == 1 else again[0])
    for t in (0.6, 1.2, 2.5):
        share = np.mean(times > t, axis=1)
        np.testing.assert_allclose(share, distribution.survival(t)[:, 0], atol=0.04)
        for event in range(1, distribution.n_events + 1):
            happened = (
                (times <= t) if distribution.n_events == 1 else (times <= t) & (drawn[1] == event)
            )
            np.testing.assert_allclose(
                happened.mean(1), distribution.cumulative_incidence(t, event)[:, 0], atol=0.04
            )


def test_net_curves_of_a_grid_are_those_given():
    distribution = grid(2)
    at = distribution.net(2).survival(TIMES)
    assert (np.diff(at, axis=1) <= 0).all()
    np.testing.assert_allclose(distribution.net(2).net(1).survival(TIMES), at)


def test_net_of_an_average_is_the_mean_of_the_nets():
    parts = [competing(), competing(7)]
    mean = (parts[0].net(1).survival(TIMES) + 3 * parts[1].net(1).survival(TIMES)) / 4
    np.testing.assert_allclose(
        AverageDistribution(parts, [1, 3]).net(1).survival(TIMES), mean, rtol=1e-12
    )


def test_an_average_of_one_distribution_is_that_distribution():
    single = mixture()
    one = AverageDistribution([single], [2.0])
    np.testing.assert_allclose(one.survival(TIMES), single.survival(TIMES), rtol=1e-12)
    np.testing.assert_allclose(one.quantile([0.1, 0.9]), single.quantile([0.1, 0.9]), rtol=1e-9)
    np.testing.assert_allclose(one.given(0.5).mean(), single.given(0.5).mean(), rtol=1e-9)


@over_cases
def test_rows_can_be_chosen(make):
    distribution = make()
    np.testing.assert_allclose(
        distribution[[2, 0]].survival(TIMES), distribution.survival(TIMES)[[2, 0]]
    )
    assert len(distribution[1]) == 1


def test_incidences_imply_the_net_survival():
    rates, times = np.array([0.3, 0.8]), np.linspace(0.001, 3.0, 3000)
    incidences = (rates / rates.sum())[:, None, None] * -np.expm1(-rates.sum() * times)
    implied = GridDistribution.of(times, incidences)
    for event, rate in enumerate(rates, 1):
        at = [0.5, 2.0, 5.0]  # the last one in the tail, of constant hazards
        np.testing.assert_allclose(
            implied.net(event).survival(at)[0], np.exp(-rate * np.array(at)), rtol=2e-3
        )
