"""Mixtures of one event type: special cases, closed forms, and random ones of extreme shapes."""

import mpmath
import numpy as np
import pytest
import torch

from helpers.distributions import mixtures, single
from lifemix.distribution import MixtureDistribution
from lifemix.primitives import PRIMITIVES, LogLogistic, LogNormal, Mixture, Weibull

ALL = pytest.mark.parametrize("family", PRIMITIVES)
ZERO = torch.zeros(1, 1, dtype=torch.float64)


def alone(family, *parameters):
    return MixtureDistribution(Mixture(ZERO, family(*(ZERO + value for value in parameters))))


@ALL
def test_a_single_component_is_the_primitive(family):
    mixture = mixtures(PRIMITIVES[family], 3, 1)
    d, t, q = MixtureDistribution(mixture), torch.tensor(2.0), torch.tensor(0.3)
    survival = mixture.components.log_survival(t.double()).exp()
    np.testing.assert_allclose(d.survival(2.0), survival)
    np.testing.assert_allclose(d.quantile(0.3), mixture.components.quantile(q.double()), rtol=1e-6)


@ALL
def test_weights_add_up_to_one_also_given_survival(family):
    for d in (single(family), single(family).given(2.0).net(1)):
        np.testing.assert_allclose(d.weights.sum(1), 1, rtol=1e-12)


def test_log_normal_far_in_its_tail():
    d = alone(LogNormal, 0.0, np.log(0.25)).given(20_000.0)
    np.testing.assert_allclose(d.survival(d.median()), 0.5, rtol=1e-9)
    assert len(np.unique(d.sample(100, random_state=0))) == 100


def test_hazard_keeps_its_digits_far_in_the_tail():
    hazard = alone(Weibull, np.log(5.0), 0.0).hazard(20.0)
    np.testing.assert_allclose(hazard, 5 * 20.0**4, rtol=1e-8)
    z = np.log(1.9) / 1e-3
    hazard = alone(LogNormal, 0.0, np.log(1e-3)).hazard(1.9)
    np.testing.assert_allclose(hazard * 1.9 * 1e-3, z * (1 + z**-2), rtol=1e-8)


@pytest.mark.parametrize("log_shape", [-3.0, -0.05, -0.01, 1e-3, 0.04])
def test_means_of_a_heavy_tail_are_closed_forms(log_shape):
    d = alone(LogLogistic, log_shape, 0.0)
    if log_shape <= 0:
        assert d.given(2.0).mean()[0] == d.mean()[0] == np.inf
        return
    # With b the shape: the integral of 1 / (1 + t^b) from 0 on, and from 2 on by t = 1 / u.
    b = mpmath.exp(log_shape)
    mean = mpmath.pi / b / mpmath.sin(mpmath.pi / b)
    beyond = 2 ** (1 - b) / (b - 1) * mpmath.hyp2f1(1, 1 - 1 / b, 2 - 1 / b, -(2**-b))
    np.testing.assert_allclose(d.mean()[0], float(mean), rtol=1e-8)
    np.testing.assert_allclose(d.given(2.0).mean()[0], float(2 + beyond * (1 + 2**b)), rtol=1e-6)


def test_the_mean_is_infinite_if_that_of_a_component_is():
    slow = LogLogistic(torch.tensor([[1.0, -0.1]]).double(), torch.zeros(1, 2).double())
    d = MixtureDistribution(Mixture(torch.log(torch.tensor([[0.9, 0.1]]).double()), slow))
    assert d.mean()[0] == np.inf


def test_means_of_very_wide_distributions_are_closed_forms():
    wide = alone(LogNormal, 0.0, np.log(10.0))
    np.testing.assert_allclose(wide.mean(), np.exp(50.0), rtol=1e-12)
    np.testing.assert_allclose(wide.given(1.0).mean(), 2 * np.exp(50.0), rtol=1e-6)
    slow, factorial = alone(Weibull, np.log(0.05), 0.0), 2432902008176640000.0  # 20!
    np.testing.assert_allclose(slow.mean(), factorial, rtol=1e-10)
    np.testing.assert_allclose(slow.given(1.0).mean(), np.e * factorial, rtol=1e-6)
