import numpy as np

from helpers.distributions import GRID_TIMES, grid
from lifemix.distribution import GridDistribution


def test_net_curves_of_a_grid_are_the_ones_it_was_made_of():
    d = grid(2)
    net = d.net(2).survival(GRID_TIMES)
    assert (np.diff(net, axis=1) <= 0).all()
    np.testing.assert_allclose(d.net(2).net(1).survival(GRID_TIMES), net)


def test_incidences_imply_the_net_survival():
    rates, times = np.array([0.3, 0.8]), np.linspace(0.001, 3.0, 3000)
    share = (rates / rates.sum())[:, None, None]
    d = GridDistribution.of(times, share * -np.expm1(-rates.sum() * times))
    t = np.array([0.5, 2.0, 5.0])  # the last in the tail, of constant hazards
    for event, rate in enumerate(rates, 1):
        np.testing.assert_allclose(d.net(event).survival(t)[0], np.exp(-rate * t), rtol=2e-3)
