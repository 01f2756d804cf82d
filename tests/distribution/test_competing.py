"""Competing risks: closed forms, quadrature, and random mixtures of extreme shapes and scales."""

import time

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import log_expit, log_ndtr

from helpers.distributions import BUILT_IN, competing, mixtures
from helpers.quadrature import integral_of_survival
from helpers.reference_mixtures import FAMILIES, Reference, random_mixtures
from lifemix.distribution import CompetingDistribution, MixtureDistribution
from lifemix.primitives import PRIMITIVES, LogLogistic, LogNormal, Mixture, Weibull

ALL = pytest.mark.parametrize("family", PRIMITIVES)
T = np.array([0.0, 0.05, 0.4, 1.0, 2.5, 8.0, 30.0])


def one_component_each(family, shapes, scales):
    """Return the distribution of events with one component each."""
    shape = (1, 1, len(shapes), 1)
    log_shape, log_scale = (torch.from_numpy(np.log(v)).view(shape) for v in (shapes, scales))
    parameters = (log_scale, -log_shape) if family is LogNormal else (log_shape, log_scale)
    zero = torch.zeros(shape, dtype=torch.float64)
    return CompetingDistribution(Mixture(zero, family(*parameters)))


def pair(family, *shapes):
    return one_component_each(family, shapes, np.ones(2))


@ALL
def test_a_single_event_type_equals_single_risk(family):
    mixture = mixtures(PRIMITIVES[family], 1, 3, 1, 2)
    joint = CompetingDistribution(mixture)
    alone = MixtureDistribution(mixture.map(lambda values: values[0, :, 0]))
    for name in ("survival", "pdf", "hazard", "rmst"):
        expected = getattr(alone, name)(T[1:])
        np.testing.assert_allclose(getattr(joint, name)(T[1:]), expected, rtol=1e-8)
    incidence = joint.cumulative_incidence(T)
    np.testing.assert_allclose(incidence, alone.cumulative_incidence(T), atol=1e-9)
    np.testing.assert_allclose(joint.quantile([0.2, 0.8]), alone.quantile([0.2, 0.8]), rtol=1e-9)


@given(
    family=st.sampled_from(BUILT_IN),
    seed=st.integers(0, 10_000),
    since=st.none() | st.floats(0.1, 3),
)
def test_incidences_and_survival_add_up_to_one(family, seed, since):
    d = competing(family, n_events=3, seed=seed, log_precision=(-1.6, 3.0))
    d = d if since is None else d.given(since)
    np.testing.assert_allclose(d.cumulative_incidences(T).sum(0) + d.survival(T), 1, atol=1e-6)


@pytest.mark.parametrize("shape", [0.2, 0.7, 1.0, 3.0, 20.0])
def test_incidences_of_weibulls_of_equal_shape_are_closed_forms(shape):
    scales = np.array([0.5, 2.0, 9.0])
    d, rates = one_component_each(Weibull, [shape] * 3, scales), scales**-shape
    expected = rates[:, None] / rates.sum() * -np.expm1(-rates.sum() * T**shape)
    np.testing.assert_allclose(d.cumulative_incidences(T)[:, 0], expected, atol=1e-8)


@pytest.mark.parametrize(
    ("shapes", "scales", "times"),
    [
        *(
            (shapes, np.exp([0.3, 0.1]), (0.02, 0.9, 1.2, 3.0))
            for shapes in ((0.2, 20.0), (20.0, 0.2), (0.5, 2.0), (7.0, 7.5), (0.2, 0.3))
        ),
        ((14.162, 0.241), np.array([1.3, 997.84]), (400.0,)),  # a narrow component between panels
    ],
)
def test_each_incidence_equals_quadrature(shapes, scales, times):
    d = one_component_each(Weibull, shapes, scales)
    location, precision = (np.array(v)[None, :, None] for v in (np.log(scales), shapes))
    reference = Reference("weibull", np.ones((1, 2, 1)), location, precision)
    for t in times:
        incidences = d.cumulative_incidences(t)[:, 0, 0]
        np.testing.assert_allclose(incidences, reference.incidences(t), atol=1e-6)


def test_an_ensemble_is_the_mean_of_its_members_weighted_by_survival():
    d = competing("weibull", n_members=3)
    members = [
        CompetingDistribution(d._mixtures.map(lambda values, i=i: values[i : i + 1]))
        for i in range(3)
    ]
    for since in (0.0, 1.3):
        weights = np.stack([member.survival(since) for member in members])
        weights /= weights.sum(0)
        for function in (
            lambda m: m.survival(T),
            lambda m: m.net(2).survival(T),
            lambda m: m.cumulative_incidence(T, 2),
        ):
            values = np.stack([function(member.given(since)) for member in members])
            expected = (weights * values).sum(0)
            np.testing.assert_allclose(function(d.given(since)), expected, atol=1e-8)
    np.testing.assert_allclose(d.given(1.0).net(1).weights.sum(1), 1, rtol=1e-12)


class TestRandomMixtures:
    """Shapes from 0.2 to 20, scales over six decades."""

    pytestmark = pytest.mark.parametrize("family", FAMILIES)
    few = settings(max_examples=2)
    seeds = st.integers(0, 10**6)

    @few
    @given(seed=seeds)
    def test_quantile_inverts_survival_and_rises_with_its_level(self, family, seed):
        d, _ = random_mixtures(family, seed, rows=60)
        q = np.sort(np.r_[np.random.default_rng(seed).random(8), 1e-12, 1e-6, 0.5, 1 - 1e-6])
        times = d.quantile(q)
        assert (np.diff(times, axis=1) >= 0).all()
        expected = np.tile(1 - q, (60, 1))
        for solution in (times, np.hstack([d.quantile(level) for level in q])):
            survival = torch.exp(d._log_survival(torch.from_numpy(solution)))
            np.testing.assert_allclose(survival, expected, atol=1e-9)

    @few
    @given(seed=seeds, since=st.floats(1e-3, 1e3))
    def test_quantile_inverts_the_conditional_survival(self, family, seed, since):
        d, _ = random_mixtures(family, seed, rows=15)
        d, q = d[d.survival(since)[:, 0] > 1e-9].given(since), np.array([0.0, 0.01, 0.5, 0.9])
        for row, times in enumerate(d.quantile(q)):
            np.testing.assert_allclose(d[[row]].survival(times)[0], 1 - q, atol=1e-7)

    @few
    @given(seed=seeds)
    def test_incidences_and_rmst_equal_quadrature(self, family, seed):
        d, references = random_mixtures(family, seed, rows=2)
        t = 10 ** np.random.default_rng(seed).uniform(-3, 3)
        incidences = d.cumulative_incidences([t / 10, t, 3 * t])[..., 1]
        restricted = np.array([reference.rmst(t) for reference in references])
        for row, reference in enumerate(references):
            if isinstance(d, CompetingDistribution):
                expected = reference.incidences(t)
                np.testing.assert_allclose(incidences[:, row], expected, atol=1e-5)
        for rmst in (d.rmst(t), d.given(0.0).rmst(t), d.rmst(np.array([t, t / 100, 2 * t]))[:, 0]):
            np.testing.assert_allclose(rmst, restricted, rtol=1e-8)

    @few
    @given(seed=seeds)
    def test_mean_is_the_limit_of_quadrature_or_infinite(self, family, seed):
        d, references = random_mixtures(family, seed, rows=3, events=3, k=4)
        start = time.process_time()
        means = d.mean()
        assert time.process_time() - start < 5
        for mean, reference in zip(means, references, strict=True):
            index = reference.precision.min(-1).sum(-1).min()
            if family == "loglogistic" and index <= 1:
                assert mean == np.inf
            elif family != "loglogistic" or index > 1.2:
                np.testing.assert_allclose(mean, reference.rmst(np.exp(400.0)), rtol=1e-6)

    def test_hazard_is_density_over_survival(self, family):
        d, _ = random_mixtures(family, 5, rows=100, shapes=(0.2, 5.0))
        t = np.array([1e-3, 0.1, 1.0, 30.0])
        survival = d.survival(t)
        is_large = survival > 1e-8
        expected = d.pdf(t)[is_large] / survival[is_large]
        np.testing.assert_allclose(d.hazard(t)[is_large], expected, rtol=1e-9)


def test_hazard_keeps_its_digits_far_in_the_tail():
    hazard = pair(Weibull, 5.0, 3.0).hazard(20.0)
    np.testing.assert_allclose(hazard, 5 * 20.0**4 + 3 * 20.0**2, rtol=1e-8)


@pytest.mark.parametrize("since", [0.5, 15.0, 36.0, 200.0, 800.0])
def test_exponentials_have_no_memory(since):
    for d, rate in ((competing_exponentials(1), 1.0), (competing_exponentials(2), 2.0)):
        later = d.given(since)
        np.testing.assert_allclose(later.mean() - since, 1 / rate, rtol=1e-6)
        restricted = later.rmst(since + 1) - since
        np.testing.assert_allclose(restricted, -np.expm1(-rate) / rate, rtol=1e-6)
        np.testing.assert_allclose(later.median() - since, np.log(2) / rate, rtol=1e-6)


def competing_exponentials(n_events):
    if n_events == 2:
        return pair(Weibull, 1.0, 1.0)
    zero = torch.zeros(1, 1, dtype=torch.float64)
    return MixtureDistribution(Mixture(zero, Weibull(zero, zero)))


@pytest.mark.parametrize("log_precision", [0.3, 1.0, 1.5, 2.0, 2.5])
def test_mean_holds_for_tails_that_fall_as_any_power(log_precision):
    d = competing("loglogistic", log_precision=(log_precision, log_precision + 0.1))
    expected, beyond = integral_of_survival(d.survival, 1e3), 1e3 * d.survival(1e3)[:, 0]
    assert (np.abs(d.mean() - expected) <= 1e-7 * expected + 1.2 * beyond).all()


@pytest.mark.parametrize(
    ("d", "mean"),
    [
        (pair(LogLogistic, 0.5, 0.5), np.inf),
        (pair(LogLogistic, 0.3, 0.2), np.inf),
        (pair(LogLogistic, 0.6, 0.5), lambda x: log_expit(-0.6 * x) + log_expit(-0.5 * x)),
        (pair(LogLogistic, 0.8, 0.8), lambda x: 2 * log_expit(-0.8 * x)),
        (pair(LogLogistic, 0.55, 0.4501), lambda x: log_expit(-0.55 * x) + log_expit(-0.4501 * x)),
        (pair(Weibull, 0.05, 0.05), 2.0**-20 * 2432902008176640000.0),
        (pair(LogNormal, 0.1, 0.1), lambda x: 2 * log_ndtr(-0.1 * x)),
    ],
)
def test_means_of_heavy_tails_take_seconds(d, mean):
    start = time.process_time()
    means = d.mean()[0], d.given(2.0).mean()[0]
    assert time.process_time() - start < 5
    if callable(mean):
        log_survival, edges = mean, np.r_[np.arange(-60.0, 200.0, 20), np.geomspace(200, 1e6, 40)]
        mean = sum(
            integrate.quad(lambda x: np.exp(x + log_survival(x)), low, high, limit=200)[0]
            for low, high in zip(edges[:-1], edges[1:], strict=True)
        )
    conditional = np.inf
    if np.isfinite(mean):
        conditional = 2 + (mean - d.rmst(2.0)[0]) / d.survival(2.0)[0, 0]
    np.testing.assert_allclose(means, [mean, conditional], rtol=1e-6)
