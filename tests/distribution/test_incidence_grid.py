"""The fast rule for incidences: against quadrature, on trained and on random extreme distributions."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lifemix import DeepSurvivalMachines, make_target
from lifemix.distribution import CompetingDistribution
from lifemix.primitives import Mixture
from reference_mixtures import FAMILIES, random_mixtures

EACH = pytest.mark.parametrize("family", FAMILIES)
BOUNDED = settings(max_examples=3, deadline=60_000)
TIMES = {
    "one": np.array([2.0]),
    "few": np.geomspace(1e-3, 1e3, 5),
    "dense": np.linspace(0.05, 50, 60),
    "unordered": np.array([3.0, 0.0, 1e-8, 3.0, 7.5]),
}


@EACH
@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
@BOUNDED
@given(seed=st.integers(0, 10**6))
def test_equals_quadrature_adds_up_and_never_falls(family, times, seed):
    d, _ = random_mixtures(family, seed, rows=6)
    if not isinstance(d, CompetingDistribution):
        return
    found = d.cumulative_incidences(times)
    exact = d._adaptive_incidences(torch.from_numpy(times)).numpy()
    np.testing.assert_allclose(found, exact, atol=1e-6)
    np.testing.assert_allclose(found.sum(0) + d.survival(times), 1, atol=1e-12)
    assert (np.diff(found[..., np.argsort(times)], axis=-1) >= 0).all()
    assert (found[..., times == 0] == 0).all()


@pytest.mark.parametrize(
    "times", [[0.3, 0.7, 1.3], np.linspace(0.1, 3, 10), np.linspace(0.01, 3, 100)]
)
def test_equals_quadrature_for_a_trained_model(times):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    latent = np.stack(
        [rng.exponential(size=400), *(np.exp(X[:, i]) * rng.weibull(1.5, 400) for i in (0, 1))]
    )
    y = make_target(latent.min(0), latent.argmin(0))
    d = (
        DeepSurvivalMachines(max_epochs=15, n_members=2, preprocessor=None)
        .fit(X, y)
        .predict_distribution(X)
    )
    exact = d._adaptive_incidences(torch.as_tensor(times, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(d.cumulative_incidences(times), exact, atol=1e-7)


def test_a_sharp_event_beside_a_slow_one_is_refined():
    """Shapes 20 and 0.2: the difference of two coarse rules says nothing of their error."""
    shapes, scales = np.log([20.0, 0.2]), np.log([1.0, 1.0])
    components = FAMILIES["weibull"](
        *(torch.from_numpy(part).view(1, 1, 2, 1) for part in (shapes, scales))
    )
    d = CompetingDistribution(Mixture(torch.zeros(1, 1, 2, 1, dtype=torch.float64), components))
    for times in (
        np.array([0.9]),
        np.array([1.3]),
        np.linspace(0.01, 3, 100),
        np.linspace(0.3, 30, 16),
    ):
        exact = d._adaptive_incidences(torch.from_numpy(times)).numpy()
        np.testing.assert_allclose(d.cumulative_incidences(times), exact, atol=1e-7)


def test_a_row_has_the_same_incidence_in_any_company():
    d, _ = random_mixtures("weibull", 3, rows=40, shapes=(0.5, 5.0))
    whole = d.cumulative_incidences(TIMES["few"])
    np.testing.assert_allclose(
        d[[7]].cumulative_incidences(TIMES["few"])[:, 0], whole[:, 7], rtol=0, atol=1e-14
    )


@EACH
def test_survival_is_the_product_of_the_net_survivals(family):
    d, references = random_mixtures(family, 11, rows=30, members=3)
    times = np.r_[0.0, np.geomspace(1e-4, 1e4, 30)]
    expected = [reference.survival(np.log(times[1:])) for reference in references]
    np.testing.assert_allclose(d.survival(times)[:, 1:], expected, atol=1e-14)
    assert (d.survival(times)[:, 0] == 1).all()
