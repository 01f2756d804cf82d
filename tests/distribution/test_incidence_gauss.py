"""Rules of Gauss's kind for incidences: their worst errors, rows that they leave to the grid, own times."""

import numpy as np
import pytest
import torch
from benchmarks.rules import early_error, error_between, error_of_own

from lifemix.distribution import CompetingDistribution
from lifemix.distribution.exponential import exp_
from lifemix.distribution.gauss_nodes import lobatto
from lifemix.distribution.incidence_gauss import LEVELS, WIDTHS, incidences_by_gauss
from lifemix.distribution.own_incidence import OWN_WIDTH
from lifemix.errors import InputError
from lifemix.primitives import Mixture, Weibull
from reference_mixtures import random_mixtures

WORST = 1.5e-7  # of an interval; a whole curve is within 1e-6


def weibull(shapes, scales, weights=None):
    """Return one row of one member: shapes and scales ``[events, k]``."""
    shapes, scales = (
        torch.log(torch.tensor(part, dtype=torch.float64))[None, None] for part in (shapes, scales)
    )
    weights = (
        torch.full_like(shapes, 1 / shapes.shape[-1])
        if weights is None
        else torch.tensor(weights)[None, None]
    )
    return CompetingDistribution(Mixture(torch.log(weights.double()), Weibull(shapes, scales)))


@pytest.mark.parametrize("inner", [0, 1, 4, 9])
def test_lobatto_is_exact_for_polynomials(inner):
    nodes, weights = lobatto(inner)
    for power in range(2 * inner + 2):
        assert weights @ nodes**power == pytest.approx(1 / (power + 1), rel=1e-13)


@pytest.mark.parametrize("inner", WIDTHS)
def test_worst_error_between_two_times(inner):
    assert error_between(inner, WIDTHS[inner], draws=2000, seed=1) < WORST


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: f"{level.nodes} nodes")
def test_worst_error_up_to_the_first_time(level):
    for hazard, ratio in level.limits:
        assert early_error(level.nodes, hazard, ratio, draws=2000, seed=1) < WORST


def test_worst_error_at_own_times():
    assert error_of_own(OWN_WIDTH, draws=2000, seed=1) < WORST


@pytest.mark.parametrize("seed", range(12))
def test_equals_quadrature_at_every_level(seed):
    """Shapes around the limits, one to four events, times that are early, late and both."""
    rng = np.random.default_rng(seed)
    d, _ = random_mixtures("weibull", seed, rows=8, shapes=(0.5, (1.5, 3.0, 7.0)[seed % 3]))
    if not isinstance(d, CompetingDistribution):
        return
    times = np.sort(np.exp(rng.normal(0, 2, (1, 3, 30)[seed // 3 % 3])))
    exact = d._adaptive_incidences(torch.from_numpy(times)).numpy()
    found = d.cumulative_incidences(times)
    np.testing.assert_allclose(found, exact, atol=1e-6)
    np.testing.assert_allclose(found.sum(0) + d.survival(times), 1, atol=1e-12)
    assert (np.diff(found, axis=-1) >= 0).all()


def test_every_level_and_the_grid_have_rows():
    shapes = [1.5, 3.0, 6.0, 15.0]
    parts = torch.log(torch.tensor(shapes, dtype=torch.float64)).view(1, 4, 1).expand(2, 4, 1)
    mixtures = Mixture(
        torch.zeros(2, 4, 1, dtype=torch.float64), Weibull(parts, torch.zeros_like(parts))
    )
    times = np.array([0.5, 1.5])
    left = incidences_by_gauss(mixtures, times, torch.empty(2, 4, 2, dtype=torch.float64))
    assert left.tolist() == [3]
    d = CompetingDistribution(mixtures.map(lambda values: values.transpose(0, 1)[None]))
    proportional = np.broadcast_to(
        (1 - d.survival(times)) / 2, (2, 4, 2)
    )  # equal hazards: half of all each
    np.testing.assert_allclose(d.cumulative_incidences(times), proportional, atol=1e-7)


def test_parameters_are_not_written_to():
    d = weibull([[1.5], [0.7]], [[1.0], [2.0]])
    before = [part.clone() for part in d._mixtures.components.parameters]
    d.cumulative_incidences([0.5, 2.0])
    for part, kept in zip(d._mixtures.components.parameters, before, strict=True):
        assert torch.equal(part, kept)


def test_fifty_events_add_up_and_equal_quadrature():
    rng = np.random.default_rng(0)
    d = weibull(rng.uniform(0.8, 2.4, (50, 2)), rng.uniform(5, 30, (50, 2)))
    times = np.array([0.2, 0.5, 1.0, 3.0])
    found = d.cumulative_incidences(times)
    np.testing.assert_allclose(
        found, d._adaptive_incidences(torch.from_numpy(times)).numpy(), atol=1e-7
    )
    np.testing.assert_allclose(found.sum(0) + d.survival(times), 1, atol=1e-12)


@pytest.mark.parametrize("family", ["weibull", "lognormal"])
@pytest.mark.parametrize("shapes", [(0.5, 2.5), (0.2, 20.0)])
def test_own_times_give_the_incidences_at_all_times(family, shapes):
    d, _ = random_mixtures(family, 5, rows=10, shapes=shapes, members=2)
    rng = np.random.default_rng(3)
    times = np.exp(rng.normal(0, 1, (d.n_events, 3)))
    times[0, 0] = 0.0
    distinct = np.unique(times)
    everywhere = d.cumulative_incidences(distinct)
    expected = [
        all_rows[:, np.searchsorted(distinct, own)]
        for all_rows, own in zip(everywhere, times, strict=True)
    ]
    np.testing.assert_allclose(d.own_incidences(times), expected, atol=1e-6)
    later = d.given(0.5)
    expected = [later.cumulative_incidence(own, event) for event, own in enumerate(times, 1)]
    np.testing.assert_allclose(later.own_incidences(times), expected, atol=1e-12)


def test_one_common_own_time():
    d, _ = random_mixtures("weibull", 5, rows=10, shapes=(0.5, 2.5))
    np.testing.assert_allclose(
        d.own_incidences(np.ones((d.n_events, 2)))[..., :1],
        d.cumulative_incidences([1.0]),
        atol=1e-7,
    )


def test_own_times_of_another_shape_are_refused():
    with pytest.raises(InputError, match=r"shape \(2, n_times\).*got \(3,\)"):
        weibull([[1.0], [1.0]], [[1.0], [2.0]]).own_incidences([1.0, 2.0, 3.0])


def test_exponential_function_is_in_place_and_right():
    values = torch.tensor([-800.0, -1.0, 0.0, 1.0, 709.0], dtype=torch.float64)
    expected = torch.exp(values)
    assert exp_(values) is values
    np.testing.assert_allclose(values, expected, rtol=1e-14)
