import numpy as np

from lifemix import make_target
from lifemix.baselines import GradientBoosting
from lifemix.baselines.boosting import _person_periods
from lifemix.target import as_target


def test_a_subject_becomes_a_row_for_each_interval_in_which_it_was_at_risk():
    ends = np.array([1.0, 2.0, 4.0])
    target = as_target(make_target([2.0, 3.0, 9.0, 1.5], [2, 0, 0, 1], entry=[0.0, 0.0, 0.0, 0.5]))
    x, weight = np.array([[10.0], [20.0], [30.0], [40.0]]), np.array([1.0, 1.0, 1.0, 2.0])
    rows, label, exposure = _person_periods(x, target, weight, ends)
    assert rows[:, 0].tolist() == [10, 10, 20, 20, 20, 30, 30, 30, 40, 40]
    assert rows[:, 1].tolist() == [0, 1, 0, 1, 2, 0, 1, 2, 0, 1]
    assert label.tolist() == [0, 2, 0, 0, 0, 0, 0, 0, 0, 1]
    # Subject 1 left halfway through the last interval; subject 3 entered halfway through the
    # first and has weight 2.
    assert exposure.tolist() == [1, 1, 1, 1, 0.5, 1, 1, 1, 1, 2]


def test_hazards_may_cross():
    # Group 0 dies at once or late, group 1 in between: no proportional model orders both ends.
    group, start = np.repeat([0, 1, 1, 0], 300), np.repeat([0, 1, 1, 2], 300)
    y = make_target(start + np.random.default_rng(2).uniform(size=1200), np.ones(1200, int))
    model = GradientBoosting(n_intervals=8, max_iter=80, preprocessor=None).fit(group[:, None], y)
    survival = model.predict_survival_function(np.array([[0.0], [1.0]]), [1.0, 2.0])
    np.testing.assert_allclose(survival, [[0.5, 0.5], [1.0, 0.0]], atol=0.08)


def test_an_event_in_every_interval_of_every_subject_is_certain():
    x, y = np.random.default_rng(0).normal(size=(60, 3)), make_target(np.full(60, 2.0), np.ones(60))
    model = GradientBoosting(n_intervals=1, max_iter=10).fit(x, y)
    survival = model.predict_survival_function(x, [1.0, 2.0])
    np.testing.assert_array_equal(survival, np.tile([0.5, 0.0], (60, 1)))


def test_stops_after_patience_and_fits_the_best_number_of_rounds():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 3)), make_target(rng.exponential(size=200), np.ones(200, int))
    model = GradientBoosting(n_intervals=3, max_iter=300, patience=20, learning_rate=0.3).fit(x, y)
    best = int(np.argmin(model.history_))
    assert model.n_iter_ == 10 * (best + 1)
    assert len(model.history_) == best + 1 + 2
