import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifemix import baselines, make_target
from lifemix.baselines import CoxPH, KaplanMeier
from lifemix.baselines.base import interpolate, step_values
from lifemix.errors import CovariateError, InputError, LifemixWarning, TargetError


def test_public_names_are_sorted_and_exist():
    assert sorted(baselines.__all__) == sorted(baselines._HOMES) == dir(baselines)
    for name in baselines.__all__:
        assert getattr(baselines, name).__module__ == f"lifemix.baselines.{baselines._HOMES[name]}"
    with pytest.raises(AttributeError, match="no attribute 'Cox'"):
        _ = baselines.Cox


def test_cox_needs_neither_pytorch_nor_the_optional_packages():
    code = "import sys; from lifemix.baselines import CoxPH; print({'torch', 'pycox', 'sksurv'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert result.stdout.strip() == "set()", result.stderr


def test_events_at_the_origin_move_to_the_first_positive_event_time():
    x = np.zeros((5, 1))
    model = KaplanMeier().fit(x, make_target([0.0, 0.0, 0.5, 2.0, 3.0], [1, 0, 0, 1, 1]))
    moved = KaplanMeier().fit(x, make_target([2.0, 0.0, 0.5, 2.0, 3.0], [1, 0, 0, 1, 1]))
    assert model.event_times_.tolist() == [2.0, 3.0]
    np.testing.assert_array_equal(model.survival_, moved.survival_)
    with pytest.raises(
        TargetError, match="some event must happen after time 0; got 2 events, all at 0"
    ):
        KaplanMeier().fit(x[:3], make_target([0.0, 0.0, 5.0], [1, 1, 0]))


def test_rows_that_carry_nothing_change_nothing():
    x = np.arange(6.0)[:, None]
    one = KaplanMeier().fit(
        x, make_target([1, 2, 3, 4, 5, 0], [1, 0, 1, 1, 0, 0]), sample_weight=[1, 1, 1, 1, 0, 1]
    )
    other = KaplanMeier().fit(x[:4], make_target([1, 2, 3, 4], [1, 0, 1, 1]))
    np.testing.assert_array_equal(
        one.predict_survival_function(x, [1, 3, 4]), other.predict_survival_function(x, [1, 3, 4])
    )
    with pytest.raises(
        InputError, match="in some row with an event; got 1 rows of positive weight"
    ):
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


def test_a_table_without_a_column_that_varies_is_refused():
    X = pd.DataFrame({"a": np.ones(5)})
    with (
        pytest.warns(LifemixWarning, match="no column varies"),
        pytest.raises(CovariateError, match="one column that varies"),
    ):
        CoxPH().fit(X, make_target(np.arange(1.0, 6.0), np.ones(5, int)))


@given(st.lists(st.floats(0, 10), min_size=1, max_size=6))
def test_steps_hold_from_their_time_on(times):
    at, values = np.array([1.0, 2.0, 5.0]), np.array([0.9, 0.4, 0.1])
    expected = [1.0 if t < 1 else 0.9 if t < 2 else 0.4 if t < 5 else 0.1 for t in times]
    np.testing.assert_array_equal(step_values(at, values, np.array(times), 1.0), expected)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=6))
def test_interpolation_is_that_of_numpy(times):
    at, values = (
        np.array([0.0, 1.0, 2.5, 6.0]),
        np.array([[0.0, 0.3, 0.3, 0.8], [0.0, 0.1, 0.6, 1.0]]),
    )
    expected = [np.interp(times, at, row) for row in values]
    np.testing.assert_allclose(
        interpolate(at[1:], values[:, 1:], np.array(times)), expected, atol=1e-12
    )


def test_the_risk_score_is_minus_the_restricted_mean():
    model = KaplanMeier().fit(np.zeros((3, 1)), make_target([1.0, 2.0, 4.0], [1, 1, 1]))
    steps = np.array([1.0, 2 / 3, 1 / 3, 0.0])  # at 0, 1, 2, 4; trapezoids between them
    expected = -(
        (steps[0] + steps[1]) / 2 + (steps[1] + steps[2]) / 2 + (steps[2] + steps[3]) / 2 * 2
    )
    assert model.predict(np.zeros((1, 1)))[0] == pytest.approx(expected)


def test_the_risk_score_of_many_event_times_is_minus_the_restricted_mean_nearly():
    """More event times than the rule takes: quantiles of them stand for all, from the first to the last."""
    rng = np.random.default_rng(0)
    time = np.sort(rng.weibull(1.3, 3000) * 10)
    model = KaplanMeier().fit(np.zeros((3000, 1)), make_target(time, np.ones(3000)))
    assert model.predict(np.zeros((2, 1))) == pytest.approx([-time.mean()] * 2, rel=2e-3)
