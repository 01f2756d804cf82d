"""The Brier score relative to the marginal curve, and calibration as one number: values that are known."""

import numpy as np
import pytest

from lifemix import make_target, metrics
from lifemix.metrics.evaluation import marginal_risk
from lifemix.target import as_target

HORIZONS = np.array([0.5, 1.0])
GRID = np.linspace(0, 1, 11)


def draw(seed=0, n=300, n_events=2):
    rng = np.random.default_rng(seed)
    return as_target(make_target(rng.exponential(1.0, n), rng.integers(0, n_events + 1, n)))


def value(name, *arguments):
    return metrics.measure_named(name).function(*arguments)


@pytest.mark.parametrize("event", [1, 2])
def test_scaled_score_is_one_minus_the_ratio(event):
    train, test = draw(0), draw(1)
    risk = np.random.default_rng(2).uniform(0, 0.5, (300, 2))
    own = metrics.brier_score(train, test, 1 - risk, HORIZONS, event)
    null = metrics.brier_score(
        train, test, np.tile(1 - marginal_risk(train, HORIZONS, event), (300, 1)), HORIZONS, event
    )
    np.testing.assert_allclose(
        value("scaled_brier", train, test, risk, HORIZONS, event), 1 - own / null
    )
    np.testing.assert_allclose(value("marginal_brier", train, test, risk, HORIZONS, event), null)


@pytest.mark.parametrize("event", [1, 2])
def test_the_marginal_curve_scales_to_zero(event):
    train, test = draw(0), draw(1)
    risk = np.tile(marginal_risk(train, GRID, event), (300, 1))
    assert value("integrated_scaled_brier", train, test, risk, GRID, event) == pytest.approx(0)
    expected = metrics.integrated_brier_score(train, test, 1 - risk, GRID, event)
    assert value("integrated_marginal_brier", train, test, risk, GRID, event) == pytest.approx(
        expected
    )


def test_the_marginal_curve_is_one_minus_kaplan_meier_and_stays_after_its_end():
    train = draw(n_events=1)
    last = train.time.max()
    expected = 1 - metrics.kaplan_meier(train).at([0.5, last])
    np.testing.assert_allclose(marginal_risk(train, np.array([0.5, 10 * last]), 1), expected)


def test_observed_over_expected():
    test = as_target(make_target([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1]))
    risk = np.full((4, 3), 0.25)
    found = value("observed_expected", test, test, risk, np.array([1.5, 2.5, 9.0]), 1)
    np.testing.assert_allclose(found, [1.0, 2.0, np.nan])
    assert np.isnan(
        value("observed_expected", test, test, 0 * risk, np.array([1.5, 2.5, 3.0]), 1)
    ).all()


def test_ici_is_that_of_the_metric():
    test, risk = draw(n_events=1), np.random.default_rng(3).uniform(0.1, 0.9, (300, 2))
    expected = [
        metrics.integrated_calibration_index(test, risk[:, i], t) for i, t in enumerate(HORIZONS)
    ]
    np.testing.assert_allclose(value("ici", test, test, risk, HORIZONS, 1), expected)


def test_they_are_given_only_where_asked_for():
    names = {m.name for m in metrics.registered_measures() if not m.standard}
    assert {"scaled_brier", "marginal_brier", "observed_expected", "ici"} <= names
