import numpy as np
import pytest

from helpers.distributions import competing, single
from lifemix.distribution import AverageDistribution

TIMES = np.array([0.2, 0.5, 0.9, 1.4])


@pytest.mark.parametrize("since", [0.0, 0.3])
def test_net_of_an_average_is_the_mean_of_the_nets_weighted_by_joint_survival(since):
    both, times = [competing("weibull"), competing("weibull", seed=7)], TIMES + since
    weights = [weight * d.survival(since) for weight, d in zip((1, 3), both, strict=True)]
    nets = [d.given(since).net(1).survival(times) for d in both]
    expected = (weights[0] * nets[0] + weights[1] * nets[1]) / sum(weights)
    net = AverageDistribution(both, [1, 3]).given(since).net(1)
    np.testing.assert_allclose(net.survival(times), expected, rtol=1e-9)


def test_an_average_of_one_distribution_is_that_distribution():
    d = single("weibull")
    average = AverageDistribution([d], [2.0])
    np.testing.assert_allclose(average.survival(TIMES), d.survival(TIMES), rtol=1e-12)
    np.testing.assert_allclose(average.quantile([0.1, 0.9]), d.quantile([0.1, 0.9]), rtol=1e-9)
    np.testing.assert_allclose(average.given(0.5).mean(), d.given(0.5).mean(), rtol=1e-9)
