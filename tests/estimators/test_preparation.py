"""What is done before training: held-out rows, rounded times, preprocessors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import FunctionTransformer

from lifemix import DeepSurvivalMachines, make_target
from lifemix.errors import SettingError
from lifemix.estimators.fleet_groups import FitRequest, fit_many
from lifemix.estimators.preparation import events_as_intervals, split_rows
from lifemix.streaming import TableSource
from lifemix.target import as_target

SMALL = {"hidden": (8,), "k": 2, "max_epochs": 2, "n_members": 2}
TIMES = [0.5, 2.0, 5.0]


def rounded(n=2000):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    time = 4 * rng.weibull(1.4, n) * np.exp(0.4 * X[:, 0])
    return X, make_target(np.clip(np.round(time), 1, 8), rng.integers(0, 2, n))


@given(
    st.lists(st.tuples(st.integers(0, 2), st.floats(0, 9)), min_size=30, max_size=80),
    st.integers(0, 2**31),
)
def test_held_out_rows_never_overlap_training_rows(rows, seed):
    event, time = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    event[:12], time[0] = [1, 2] * 6, 2.5  # with 0 and 1 alone, the columns look exchanged
    train, held_out = split_rows(as_target((time, event)), 0.3, seed)
    usable = np.flatnonzero((time > 0) | (event > 0))
    assert sorted([*train, *held_out]) == usable.tolist()
    assert len(held_out) == round(0.3 * len(usable))
    assert {1, 2} <= set(event[train]) & set(event[held_out])


def test_an_event_counts_as_one_in_the_step_around_its_time():
    upper = [np.nan] * 4 + [7]
    entry = [0, 0, 0, 3.5, 0]
    y = as_target(make_target([0.0, 2.0, 4.0, 4.0, 6.0], [1, 1, 0, 1, 1], entry, upper))
    intervals = events_as_intervals(y, 2.0)
    np.testing.assert_array_equal(intervals.time, [0, 1, 4, 3.5, 6])
    np.testing.assert_array_equal(intervals.upper, [1, 3, np.nan, 5, 7])
    np.testing.assert_array_equal(intervals.event, y.event)
    assert events_as_intervals(y, 0.0) is y


def test_rounded_times_are_learned_as_intervals():
    X, y = rounded()
    is_event = y["event"] > 0
    upper = np.where(is_event, y["time"] + 0.5, np.nan)
    intervals = make_target(y["time"] - 0.5 * is_event, y["event"], upper=upper)
    model = DeepSurvivalMachines(**SMALL, rounding=1.0).fit(X, y)
    expected = DeepSurvivalMachines(**SMALL).fit(X, intervals)
    automatic = DeepSurvivalMachines(**SMALL, rounding=None).fit(X, y)
    assert model.history_ == expected.history_ == automatic.history_
    assert automatic.settings_["rounding"] == 1.0
    survival = model.predict_survival_function(X, TIMES)
    np.testing.assert_array_equal(survival, expected.predict_survival_function(X, TIMES))
    assert not model.training_target_.interval.any()
    assert model.last_event_time_ == y["time"][is_event].max()


def test_the_distribution_of_the_times_before_rounding_is_found():
    rng = np.random.default_rng(1)
    n, shape, scale = 20_000, 1.6, 1.5
    time = np.round(scale * rng.weibull(shape, n))  # a fifth is 0
    y, X = make_target(time, np.ones(n, dtype=int)), np.zeros((n, 1))
    times = np.linspace(0.3, 4, 30)
    truth = np.exp(-((times / scale) ** shape))
    errors = []
    for rounding in (None, 0.0):
        model = DeepSurvivalMachines(k=1, rounding=rounding, preprocessor=None).fit(X, y)
        survival = model.predict_survival_function(X[:1], times)[0]
        errors.append(np.abs(survival - truth).max())
    assert errors[0] < 1.5 / np.sqrt(n)
    assert errors[1] > 0.05


def test_models_with_and_without_rounding_train_together():
    X, y = rounded(400)
    steps = (0.0, 1.0)
    requests = [FitRequest(DeepSurvivalMachines(**SMALL, rounding=step), X, y) for step in steps]
    for fitted in fit_many(requests):
        alone = DeepSurvivalMachines(**SMALL, rounding=steps[fitted.number]).fit(X, y)
        np.testing.assert_allclose(fitted.model.predict(X), alone.predict(X), rtol=1e-6)


def test_rounding_of_competing_risks_is_used_on_request():
    X, y = rounded(120)
    causes = make_target(y["time"], y["event"] * (1 + (X[:, 1] > 0)))
    automatic, requested = (
        DeepSurvivalMachines(**SMALL, rounding=rounding).fit(X, causes) for rounding in (None, 1.0)
    )
    assert automatic.settings_["rounding"] == 0
    with pytest.raises(SettingError, match="rounding must be at most the last time, 8; got 9"):
        DeepSurvivalMachines(**SMALL, rounding=9.0).fit(X, causes)
    assert requested.history_[0]["train_loss"] != automatic.history_[0]["train_loss"]


def test_rounding_of_a_table_on_disk(tmp_path):
    X, y = rounded()
    path = tmp_path / "table.csv"
    columns = np.column_stack([X, y["time"], y["event"]])
    np.savetxt(path, columns, delimiter=",", header="a,b,time,event", comments="")
    source = TableSource(path, time="time", event="event")
    automatic, requested = (
        DeepSurvivalMachines(**SMALL, rounding=rounding).fit(source) for rounding in (None, 1.0)
    )
    assert automatic.settings_["rounding"] == 1
    assert automatic.history_ == requested.history_


def test_a_preprocessor_that_cannot_be_pickled_is_used():
    X, y = rounded(200)
    doubled = DeepSurvivalMachines(preprocessor=FunctionTransformer(lambda X: 2 * X), **SMALL)
    plain = DeepSurvivalMachines(preprocessor=None, **SMALL).fit(2 * X, y)
    np.testing.assert_array_equal(doubled.fit(X, y).predict(X), plain.predict(2 * X))
    with pytest.raises(SettingError, match="preprocessor must be 'auto', None or"):
        DeepSurvivalMachines(preprocessor=np.ma.masked).fit(X, y)
