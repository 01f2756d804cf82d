"""Properties of the distribution object over random mixtures: shapes from 0.2 to 20, scales over six decades."""

import time

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import log_expit, log_ndtr

from helpers.reference_mixtures import FAMILIES, Reference, random_mixtures
from lifemix.distribution import CompetingDistribution, MixtureDistribution
from lifemix.primitives import LogLogistic, LogNormal, Mixture, Weibull

BOUNDED = settings(max_examples=3, deadline=60_000)
EACH = pytest.mark.parametrize("family", FAMILIES)
SEEDS = st.integers(0, 10**6)


def double(values, *shape):
    return torch.tensor(values, dtype=torch.float64).view(*shape)


def pair(family, shapes, scales=(1.0, 1.0)):
    """Two competing events with one component each."""
    zero = torch.zeros(1, 1, 2, 1, dtype=torch.float64)
    first, second = double(np.log(shapes), 1, 1, 2, 1), double(np.log(scales), 1, 1, 2, 1)
    parts = (second, -first) if family is LogNormal else (first, second)
    return CompetingDistribution(Mixture(zero, family(*parts)))


def log_survival_at(distribution, times):
    """``S`` of each row at its own times."""
    return torch.exp(distribution._log_survival(torch.from_numpy(times))).numpy()


@EACH
@BOUNDED
@given(seed=SEEDS)
def test_quantile_inverts_survival_and_rises_with_its_level(family, seed):
    d, _ = random_mixtures(family, seed, rows=60)
    q = np.sort(np.r_[np.random.default_rng(seed).random(8), 1e-12, 1e-6, 0.5, 1 - 1e-6])
    times = d.quantile(q)
    assert (np.diff(times, axis=1) >= 0).all()
    np.testing.assert_allclose(
        log_survival_at(d, times), np.broadcast_to(1 - q, times.shape), atol=1e-9
    )
    alone = np.concatenate([d.quantile(level) for level in q], axis=1)
    np.testing.assert_allclose(
        log_survival_at(d, alone), np.broadcast_to(1 - q, times.shape), atol=1e-9
    )


@EACH
@BOUNDED
@given(seed=SEEDS, since=st.floats(1e-3, 1e3))
def test_quantile_given_survival_inverts_the_conditional_survival(family, seed, since):
    d, _ = random_mixtures(family, seed, rows=15)
    d, q = d[d.survival(since)[:, 0] > 1e-9].given(since), np.array([0.0, 0.01, 0.5, 0.9])
    reached = d.quantile(q)
    for row in range(len(d)):
        np.testing.assert_allclose(np.diag(d[[row] * 4].survival(reached[row])), 1 - q, atol=1e-7)


@EACH
@BOUNDED
@given(seed=SEEDS)
def test_incidences_of_extreme_mixtures_equal_quadrature(family, seed):
    d, references = random_mixtures(family, seed, rows=2)
    if isinstance(d, MixtureDistribution):
        return
    t = 10 ** np.random.default_rng(seed).uniform(-3, 3)
    incidences = d.cumulative_incidences([t / 10, t, 3 * t])[..., 1].T
    for row, reference in enumerate(references):
        np.testing.assert_allclose(incidences[row], reference.incidences(t), atol=1e-5)


@EACH
@BOUNDED
@given(seed=SEEDS)
def test_rmst_at_one_time_equals_quadrature(family, seed):
    d, references = random_mixtures(family, seed, rows=2)
    t = 10 ** np.random.default_rng(seed).uniform(-3, 3)
    exact = np.array([reference.rmst(t) for reference in references])
    np.testing.assert_allclose(d.rmst(t), exact, rtol=1e-8)
    np.testing.assert_allclose(d.given(0.0).rmst(t), exact, rtol=1e-8)
    np.testing.assert_allclose(d.rmst(np.array([t, t / 100, 2 * t]))[:, 0], exact, rtol=1e-8)


@EACH
@BOUNDED
@given(seed=SEEDS)
def test_mean_is_the_limit_of_quadrature_or_infinite(family, seed):
    d, references = random_mixtures(family, seed, rows=3, events=3, k=4)
    started = time.perf_counter()
    means = d.mean()
    assert time.perf_counter() - started < 5
    for mean, reference in zip(means, references, strict=True):
        index = reference.precision.min(-1).sum(-1).min()
        if family == "loglogistic" and index <= 1:
            assert mean == np.inf
        elif family != "loglogistic" or index > 1.2:
            np.testing.assert_allclose(mean, reference.rmst(np.exp(400.0)), rtol=1e-6)


def test_incidence_sees_a_narrow_component_between_its_panels():
    d = pair(Weibull, (14.162, 0.241), (1.3, 997.84))
    reference = Reference(
        "weibull", np.ones((1, 2, 1)), np.log([[[1.3], [997.84]]]), np.array([[[14.162], [0.241]]])
    )
    np.testing.assert_allclose(
        d.cumulative_incidences(400.0)[:, 0, 0], reference.incidences(400.0), atol=1e-6
    )
    assert abs(d.cumulative_incidence(400.0, event=2)[0, 0] - 0.1810707) < 1e-6


def test_hazard_keeps_its_digits_far_in_the_tail():
    zero = torch.zeros(1, 1, dtype=torch.float64)
    weibull = MixtureDistribution(Mixture(zero, Weibull(double(np.log(5.0), 1, 1), zero)))
    np.testing.assert_allclose(weibull.hazard(20.0), 5 * 20.0**4, rtol=1e-8)
    normal = MixtureDistribution(Mixture(zero, LogNormal(zero, double(np.log(1e-3), 1, 1))))
    z = np.log(1.9) / 1e-3
    np.testing.assert_allclose(normal.hazard(1.9) * 1.9 * 1e-3, z * (1 + z**-2), rtol=1e-8)
    np.testing.assert_allclose(
        pair(Weibull, (5.0, 3.0)).hazard(20.0), 5 * 20.0**4 + 3 * 20.0**2, rtol=1e-8
    )


@EACH
def test_hazard_is_density_over_survival_where_both_are_numbers(family):
    d, _ = random_mixtures(family, 5, rows=100, shapes=(0.2, 5.0))
    t = np.array([1e-3, 0.1, 1.0, 30.0])
    survival = d.survival(t)
    there = survival > 1e-8
    np.testing.assert_allclose(
        d.hazard(t)[there], (d.pdf(t) / np.where(there, survival, 1.0))[there], rtol=1e-9
    )


@pytest.mark.parametrize(
    ("d", "mean"),
    [
        (pair(LogLogistic, (0.5, 0.5)), np.inf),
        (pair(LogLogistic, (0.3, 0.2)), np.inf),
        (pair(LogLogistic, (0.6, 0.5)), lambda x: log_expit(-0.6 * x) + log_expit(-0.5 * x)),
        (
            pair(LogLogistic, (0.55, 0.4501)),
            lambda x: log_expit(-0.55 * x) + log_expit(-0.4501 * x),
        ),
        (pair(Weibull, (0.05, 0.05)), 2.0**-20 * 2432902008176640000.0),
        (pair(LogNormal, (0.1, 0.1)), lambda x: 2 * log_ndtr(-0.1 * x)),
    ],
)
def test_means_of_heavy_tails_come_at_once(d, mean):
    started = time.perf_counter()
    found, later = d.mean()[0], d.given(2.0).mean()[0]
    assert time.perf_counter() - started < 5
    if callable(mean):
        log_survival = mean

        def integrand(x):
            return np.exp(x + log_survival(x))

        pieces = np.r_[np.arange(-60.0, 200.0, 20), np.geomspace(200, 1e6, 40)]
        mean = sum(
            integrate.quad(integrand, low, high, limit=200)[0]
            for low, high in zip(pieces[:-1], pieces[1:], strict=True)
        )
    np.testing.assert_allclose(found, mean, rtol=1e-6)
    assert later == np.inf if mean == np.inf else later >= 2.0
    if np.isfinite(mean):
        survived = d.survival(2.0)[0, 0]
        np.testing.assert_allclose(later, 2 + (mean - d.rmst(2.0)[0]) / survived, rtol=1e-6)


@pytest.mark.parametrize("log_shape", [-3.0, -0.05, -0.01, 1e-3, 0.04])
def test_means_given_survival_of_one_heavy_tail_are_its_closed_forms(log_shape):
    zero = torch.zeros(1, 1, dtype=torch.float64)
    d = MixtureDistribution(Mixture(zero, LogLogistic(zero + log_shape, zero)))
    if log_shape <= 0:
        assert d.given(2.0).mean()[0] == d.mean()[0] == np.inf
        return
    # With b the shape: the integral of 1 / (1 + t^b) from 0 on, and from 2 on by t = 1 / u.
    b = mpmath.exp(log_shape)
    mean = mpmath.pi / b / mpmath.sin(mpmath.pi / b)
    beyond = 2 ** (1 - b) / (b - 1) * mpmath.hyp2f1(1, 1 - 1 / b, 2 - 1 / b, -(2**-b))
    np.testing.assert_allclose(d.mean()[0], float(mean), rtol=1e-8)
    np.testing.assert_allclose(d.given(2.0).mean()[0], float(2 + beyond * (1 + 2**b)), rtol=1e-6)


def test_means_of_very_wide_distributions_are_their_closed_forms():
    zero = torch.zeros(1, 1, dtype=torch.float64)
    wide = MixtureDistribution(Mixture(zero, LogNormal(zero, zero + np.log(10.0))))
    np.testing.assert_allclose(wide.mean(), np.exp(50.0), rtol=1e-12)
    np.testing.assert_allclose(wide.given(1.0).mean(), 2 * np.exp(50.0), rtol=1e-6)
    slow = MixtureDistribution(Mixture(zero, Weibull(zero + np.log(0.05), zero)))
    np.testing.assert_allclose(slow.mean(), 2432902008176640000.0, rtol=1e-10)
    np.testing.assert_allclose(slow.given(1.0).mean(), np.e * 2432902008176640000.0, rtol=1e-6)
