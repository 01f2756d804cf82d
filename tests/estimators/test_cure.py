"""Cured fractions: found where they are, absent where not, refused where they cannot be told."""

import numpy as np
import pytest

from lifemix import DeepSurvivalMachines, make_target
from lifemix.errors import SettingError


def follow_up(n, share, seed=0, longest=64.0, n_events=1):
    """Draw Weibull times of those who are not cured, with effects on both, and a follow-up up to ``longest``.

    99 % of those who are not cured have the event by 31.4; everybody is followed for half of ``longest`` at least.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    odds = np.log(share / (1 - share)) + X[:, 1] if share else np.full(n, -np.inf)
    cured = rng.random(n) < 1 / (1 + np.exp(-odds))
    time = np.where(cured, np.inf, rng.weibull(1.5, n) * 8 * np.exp(0.4 * X[:, 0]))
    end = rng.uniform(longest / 2, longest, n)
    kind = rng.integers(1, n_events + 1, n)
    return X, make_target(np.minimum(time, end), np.where(time <= end, kind, 0)), cured, odds


def model(**settings):
    usual = {"k": 1, "hidden": (), "cure": True, "max_epochs": 60, "learning_rate": 0.01}
    return DeepSurvivalMachines(**(usual | settings))


def test_the_cured_are_found_with_the_effects_of_the_covariates():
    X, y, _, odds = follow_up(5000, 0.4)
    found = model().fit(X, y).predict_distribution(X).cure_fraction()
    truth = 1 / (1 + np.exp(-odds))
    assert abs(found.mean() - truth.mean()) < 0.02
    assert np.corrcoef(found, truth)[0, 1] > 0.98


def test_where_nobody_is_cured_hardly_anybody_is_found_to_be():
    X, y, _, _ = follow_up(5000, 0.0)
    assert model().fit(X, y).predict_distribution(X).cure_fraction().mean() < 0.02


def test_warm_start_without_covariates_is_the_maximum_likelihood():
    X, y, _, _ = follow_up(2000, 0.3)
    start = model(max_epochs=0).fit(X, y)
    longer = model(max_epochs=40, learning_rate=1e-3, validation_fraction=0, preprocessor=None)
    longer.fit(np.zeros((2000, 1)), y)
    first = start.log_likelihood(X, y) / 2000
    assert abs(longer.log_likelihood(np.zeros((2000, 1)), y) / 2000 - first) < 1e-3
    shares = [
        one.predict_distribution(np.zeros((1, one.n_features_in_))).cure_fraction()
        for one in (start, longer)
    ]
    np.testing.assert_allclose(*shares, atol=0.02)


def test_what_a_distribution_with_cured_rows_says():
    X, y, _, _ = follow_up(600, 0.4, n_events=2)
    for target, n_events in ((make_target(y["time"], y["event"] > 0), 1), (y, 2)):
        distribution = model(max_epochs=5).fit(X, target).predict_distribution(X[:50])
        cured = distribution.cure_fraction()
        np.testing.assert_allclose(distribution.survival([1e12])[:, 0], cured, rtol=1e-9)
        assert (distribution.mean() == np.inf).all()
        levels = distribution.quantile(1 - cured[0] + np.array([-1e-3, 1e-3]))[0]
        assert np.isfinite(levels[0])
        assert levels[1] == np.inf
        rmst = distribution.rmst(100.0)
        assert ((rmst > 100 * cured) & (rmst < 100)).all()
        later = distribution.given(20.0)
        np.testing.assert_allclose(
            later.cure_fraction(), cured / distribution.survival([20.0])[:, 0], rtol=1e-9
        )
        nets = np.prod(
            [distribution.net(event).cure_fraction() for event in range(1, n_events + 1)], axis=0
        )
        np.testing.assert_allclose(nets, cured, rtol=1e-12)
        draws = distribution.sample(400, random_state=1)
        infinite = np.isinf(draws if n_events == 1 else draws[0])
        np.testing.assert_allclose(infinite.mean(), cured.mean(), atol=0.02)


def test_without_cure_the_fraction_is_zero_and_with_a_falling_gompertz_it_is_not():
    X, y, _, _ = follow_up(400, 0.4)
    plain = DeepSurvivalMachines(k=2, hidden=(), max_epochs=2).fit(X, y).predict_distribution(X)
    assert (plain.cure_fraction() == 0).all()
    falling = (
        DeepSurvivalMachines("gompertz", k=1, hidden=(), max_epochs=2)
        .fit(X, y)
        .predict_distribution(X)
    )
    assert (falling.cure_fraction() > 0.1).all()


def test_the_bound_is_refused_with_the_reason():
    X, y, _, _ = follow_up(100, 0.4)
    with pytest.raises(
        SettingError, match="cure=True needs objective='exact'; got 'elbo'.*minus infinity"
    ):
        model(objective="elbo").fit(X, y)
