import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifemix import baselines, make_target
from lifemix.baselines import CoxPH, KaplanMeier
from lifemix.baselines.base import interpolate, step_values
from lifemix.errors import CovariateError, InputError, LifemixWarning, TargetError

TIMES = st.lists(st.floats(0, 10), min_size=1, max_size=6)


def test_public_names_are_sorted_and_exist():
    assert sorted(baselines.__all__) == sorted(baselines._HOMES) == dir(baselines)
    for name in baselines.__all__:
        assert getattr(baselines, name).__module__ == f"lifemix.baselines.{baselines._HOMES[name]}"
    with pytest.raises(AttributeError, match="no attribute 'Cox'"):
        _ = baselines.Cox


def test_events_at_the_origin_move_to_the_first_positive_event_time():
    x = np.zeros((5, 1))
    model = KaplanMeier().fit(x, make_target([0.0, 0.0, 0.5, 2.0, 3.0], [1, 0, 0, 1, 1]))
    moved = KaplanMeier().fit(x, make_target([2.0, 0.0, 0.5, 2.0, 3.0], [1, 0, 0, 1, 1]))
    assert model.event_times_.tolist() == [2.0, 3.0]
    np.testing.assert_array_equal(model.survival_, moved.survival_)
    with pytest.raises(TargetError, match="some event must happen after time 0; got 2 events"):
        KaplanMeier().fit(x[:3], make_target([0.0, 0.0, 5.0], [1, 1, 0]))


def test_rows_without_weight_and_censored_at_the_origin_change_nothing():
    x, times = np.arange(6.0)[:, None], [1, 3, 4]
    y = make_target([1, 2, 3, 4, 5, 0], [1, 0, 1, 1, 0, 0])
    weighted = KaplanMeier().fit(x, y, sample_weight=[1, 1, 1, 1, 0, 1])
    reduced = KaplanMeier().fit(x[:4], y[:4])
    np.testing.assert_array_equal(
        weighted.predict_survival_function(x, times), reduced.predict_survival_function(x, times)
    )
    with pytest.raises(InputError, match="in some row with an event; got 1 rows of positive"):
        KaplanMeier().fit(x[:2], make_target([1, 2], [1, 0]), sample_weight=[0, 1])


def test_columns_are_matched_by_name_also_without_a_preprocessor():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    y = make_target(rng.exponential(np.exp(-X["a"])), np.ones(50, int))
    model = CoxPH(preprocessor=None).fit(X, y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.predict(X[["b", "a"]]), model.predict(X))
    with pytest.raises(CovariateError, match=r"missing \['b'\]"):
        model.predict(X[["a"]])
    model.fit(X.to_numpy(), y)
    assert not hasattr(model, "feature_names_in_")
    with pytest.raises(CovariateError, match="X must hold numbers"):
        model.fit(X.assign(b="text"), y)
    with (
        pytest.warns(LifemixWarning, match="no column varies"),
        pytest.raises(CovariateError, match="one column that varies"),
    ):
        CoxPH().fit(X * 0, y)


@given(TIMES)
def test_steps_hold_from_their_time_on(times):
    ends, values = np.array([1.0, 2.0, 5.0]), np.array([0.9, 0.4, 0.1])
    expected = np.array([1.0, *values])[[sum(t >= ends) for t in times]]
    np.testing.assert_array_equal(step_values(ends, values, np.array(times), 1.0), expected)


@given(TIMES)
def test_interpolation_equals_numpy(times):
    ends = np.array([0.0, 1.0, 2.5, 6.0])
    values = np.array([[0.0, 0.3, 0.3, 0.8], [0.0, 0.1, 0.6, 1.0]])
    expected = [np.interp(times, ends, row) for row in values]
    got = interpolate(ends[1:], values[:, 1:], np.array(times))
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_the_risk_score_is_minus_the_restricted_mean():
    model = KaplanMeier().fit(np.zeros((3, 1)), make_target([1.0, 2.0, 4.0], [1, 1, 1]))
    # Survival 1, 2/3, 1/3, 0 at 0, 1, 2, 4; trapezoids between them.
    expected = -(5 / 3 / 2 + 1 / 2 + 1 / 3)
    assert model.predict(np.zeros((1, 1)))[0] == pytest.approx(expected)
    # With more event times than the rule takes, quantiles of them.
    time = np.sort(np.random.default_rng(0).weibull(1.3, 3000) * 10)
    model = KaplanMeier().fit(np.zeros((3000, 1)), make_target(time, np.ones(3000)))
    assert model.predict(np.zeros((2, 1))) == pytest.approx([-time.mean()] * 2, rel=2e-3)
