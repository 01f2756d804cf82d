"""Why the exact likelihood is the default: with the bound, a gate that cannot tell the modes apart averages them."""

import numpy as np
import pytest

from lifemix import DeepSurvivalMachines, make_target


@pytest.fixture(scope="module")
def bimodal():
    rng = np.random.default_rng(2)
    early = rng.random(6000) < 0.4
    time = np.where(early, 1.0, 20.0) * rng.weibull(4.0, 6000)
    X = rng.normal(size=(6000, 3))  # says nothing about the time
    return (X[:4000], make_target(time[:4000], np.ones(4000, int))), (
        X[4000:],
        make_target(time[4000:], np.ones(2000, int)),
    )


def held_out(bimodal, objective, k):
    (X, y), (X_new, y_new) = bimodal
    model = DeepSurvivalMachines(
        k=k, objective=objective, hidden=(20,), learning_rate=3e-3, max_epochs=60
    ).fit(X, y)
    return model, model.log_likelihood(X_new, y_new) / len(y_new)


def test_exact_finds_both_modes_and_the_bound_does_not(bimodal):
    X_new = bimodal[1][0]
    one, single = held_out(bimodal, "exact", 1)
    exact, both = held_out(bimodal, "exact", 2)
    elbo, bound = held_out(bimodal, "elbo", 2)
    assert both > single + 0.5
    assert bound < single + 0.05
    density = exact.predict_distribution(X_new).pdf([0.9, 5.0, 19.0]).mean(0)
    assert density[0] > 5 * density[1]
    assert density[2] > 5 * density[1]
    averaged = elbo.predict_distribution(X_new).pdf([0.9, 5.0]).mean(0)
    assert averaged[0] < 10 * averaged[1]
    weights = exact.predict_distribution(X_new).weights.mean(0)
    np.testing.assert_allclose(np.sort(weights), [0.4, 0.6], atol=0.05)
