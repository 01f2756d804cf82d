import numpy as np
import pytest

from helpers.simulations import two_causes
from lifemix import make_target
from lifemix.baselines import AalenJohansen, GradientBoosting
from lifemix.baselines.boosting import _person_periods
from lifemix.errors import SettingError
from lifemix.metrics import concordance_td
from lifemix.target import as_target


def test_a_subject_becomes_one_row_for_each_interval_it_was_at_risk_in():
    ends = np.array([1.0, 2.0, 4.0])
    target = as_target(make_target([2.0, 3.0, 9.0, 1.5], [2, 0, 0, 1], entry=[0.0, 0.0, 0.0, 0.5]))
    x, weight = np.array([[10.0], [20.0], [30.0], [40.0]]), np.array([1.0, 1.0, 1.0, 2.0])
    rows, label, exposure = _person_periods(x, target, weight, ends)
    assert rows.tolist() == [
        [10, 0],
        [10, 1],
        [20, 0],
        [20, 1],
        [20, 2],
        [30, 0],
        [30, 1],
        [30, 2],
        [40, 0],
        [40, 1],
    ]
    assert label.tolist() == [0, 2, 0, 0, 0, 0, 0, 0, 0, 1]
    # Subject 1 left halfway through the last interval; subject 3 came halfway through the first and weighs 2.
    assert exposure.tolist() == [1, 1, 1, 1, 0.5, 1, 1, 1, 1, 2]


def test_learns_effects_and_stays_calibrated_on_the_whole():
    x, y = two_causes(1500, 0)
    new, truth = two_causes(1500, 1)
    model = GradientBoosting(n_intervals=8, preprocessor=None).fit(x, y)
    assert 1 <= model.n_iter_ <= model.max_iter
    assert min(model.history_) < model.history_[0]
    floor = AalenJohansen().fit(x, y)
    at = np.array([0.1, 0.3, 0.7])
    for event in (1, 2):
        incidence = model.predict_cumulative_incidence(new, at, event)
        expected = floor.predict_cumulative_incidence(new[:1], at, event)[0]
        np.testing.assert_allclose(incidence.mean(axis=0), expected, atol=0.04)
        assert concordance_td(y, truth, incidence[:, 1], 0.3, event) > 0.62


def test_hazards_may_cross():
    # Group 0 dies at once or late, group 1 in between: no proportional model can order both ends.
    rng = np.random.default_rng(2)
    group = rng.integers(0, 2, 3000)
    early = rng.random(3000) < 0.5
    time = np.where(
        group == 1,
        rng.uniform(1, 2, 3000),
        np.where(early, rng.uniform(0, 1, 3000), rng.uniform(2, 3, 3000)),
    )
    model = GradientBoosting(preprocessor=None).fit(
        group[:, None], make_target(time, np.ones(3000, int))
    )
    survival = model.predict_survival_function(np.array([[0.0], [1.0]]), [1.0, 2.0])
    np.testing.assert_allclose(survival, [[0.5, 0.5], [1.0, 0.0]], atol=0.08)


def test_an_event_in_every_interval_of_every_subject_is_certain():
    x, _ = two_causes(60, 0)
    model = GradientBoosting(n_intervals=1, max_iter=10).fit(
        x, make_target(np.full(60, 2.0), np.ones(60, int))
    )
    np.testing.assert_array_equal(
        model.predict_survival_function(x, [1.0, 2.0]), np.tile([0.5, 0.0], (60, 1))
    )


def test_weights_move_the_hazard():
    x, y = two_causes(600, 3)
    heavy = np.where(y["event"] == 1, 5.0, 1.0)
    at = [0.5]
    plain, weighted = (
        GradientBoosting(max_iter=10, preprocessor=None)
        .fit(x, y, sample_weight=w)
        .predict_cumulative_incidence(x, at)
        for w in (None, heavy)
    )
    assert weighted.mean() > plain.mean() + 0.1


@pytest.mark.parametrize("name", ["n_intervals", "max_iter", "patience"])
def test_bad_settings_are_refused(name):
    with pytest.raises(SettingError, match=f"{name} must be a whole number of at least 1; got 0"):
        GradientBoosting(**{name: 0}).fit(*two_causes(50, 0))


def test_at_the_ends_of_intervals_survival_is_the_product_of_the_net_ones():
    x, y = two_causes(400, 0)
    model = GradientBoosting(n_intervals=5, max_iter=20).fit(x, y)
    product = np.prod(
        [model.predict_net_survival(x, model.grid_, event) for event in (1, 2)], axis=0
    )
    np.testing.assert_allclose(product, model.predict_survival_function(x, model.grid_), atol=1e-9)
