"""Checks of arguments: times, weights, events, options, arrays."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import torch

from lifemix import make_target, metrics
from lifemix.baselines import CoxPH, ModelAverage
from lifemix.checks import (
    Check,
    Choice,
    Flag,
    Number,
    Seed,
    Whole,
    Widths,
    as_numbers,
    check_event,
    check_settings,
    check_shares,
    check_times,
)
from lifemix.errors import CovariateError, InputError, LifemixWarning, SettingError, TargetError
from lifemix.histories import as_input


@pytest.mark.parametrize("event", [1, 1.0, np.int64(1), np.float32(1)])
def test_a_whole_number_is_an_event_whatever_its_type(event):
    assert check_event(event, 2) == 1
    assert type(check_event(event)) is int


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (-1, r"times must be finite and >= 0; got -1\.0 \(1 such values\)"),
        ([1, float("nan")], "got nan"),
        ("soon", "times must be numbers; got 'soon'"),
        ([[1, 2]], r"number or a vector of at least one; got shape \(1, 2\)"),
        ([], r"got shape \(0,\)"),
    ],
)
def test_times_that_cannot_be_used_are_refused(times, message):
    with pytest.raises(InputError, match=message):
        check_times(times)


def test_times_become_a_vector_and_only_grids_warn():
    assert check_times(2).tolist() == [2.0]
    assert check_times([3, 1]).tolist() == [3.0, 1.0]
    assert check_times([1, 1, 3], warn_unsorted=True).tolist() == [
        1.0,
        1.0,
        3.0,
    ]  # twice the same is sorted
    with pytest.warns(LifemixWarning, match="times are not sorted"):
        check_times([3, 1], warn_unsorted=True)


@pytest.mark.parametrize("shares", ["a", -0.1, 1.1, [[0.5]], [], float("nan")])
def test_shares_lie_between_0_and_1(shares):
    with pytest.raises(InputError, match="q must be"):
        check_shares(shares, "q")
    assert check_shares(0.5, "q").tolist() == [0.5]


RULES = {
    "below": (Whole(1), 0, "at least 1; got 0"),
    "fraction": (Whole(1), 1.5, "got 1.5"),
    "boolean": (Whole(0), True, "got True"),
    "not optional": (Whole(1), None, "got None"),
    "too large": (Number(0, 0.95), 2, "from 0 to 0.95; got 2"),
    "text": (Number(0, 1), "half", "got 'half'"),
    "at the open end": (Number(above=0, most=1), 0, "above 0 and at most 1; got 0"),
    "not a number": (Number(0, 1), float("nan"), "got nan"),
    "choice": (Choice("a", "b"), "c", "one of 'a', 'b'; got 'c'"),
    "array as choice": (Choice("a"), np.zeros(2), "one of 'a'"),
    "flag": (Flag(), 1, "True or False; got 1"),
    "widths": (Widths(), 5, "sequence of widths such as"),
    "width": (Widths(), (5, 0), r"sequence of widths such as .*; got \(5, 0\)"),
    "seed": (Seed(), -1, "whole number >= 0, a generator or None; got -1"),
}


@pytest.mark.parametrize(("rule", "value", "message"), RULES.values(), ids=RULES)
def test_rules_say_what_was_got_and_what_is_expected(rule, value, message):
    with pytest.raises(SettingError, match=message):
        rule("option", value)


def test_rules_pass_what_is_allowed():
    assert Whole(1, optional=True)("option", None) is None
    assert Number(0, 1)("option", np.float32(0.5)) == 0.5
    assert Choice("a", None)("option", None) is None
    assert Widths()("option", (3, np.int64(4))) == (3, 4)
    assert Seed()("option", np.int64(7)) == 7


def test_the_rules_of_an_estimator_are_all_applied():
    seen = []

    class Estimator:
        _rules = {"a": Check(seen.append), "b": Whole(1)}
        a, b = "x", 0

    with pytest.raises(SettingError, match="b must be a whole number"):
        check_settings(Estimator())
    assert seen == ["x"]


@pytest.mark.parametrize("rule", [Whole(1), Number(0.0), Number(above=0.0), Number(0.0, 1.0)])
@pytest.mark.parametrize(
    "value",
    [10**400, 10**5000, -(10**400), -(10**5000)],
    ids=["many", "thousands", "minus many", "minus thousands"],
)
def test_whole_numbers_beyond_all_bounds_are_refused_in_words(rule, value):
    with pytest.raises(SettingError, match=r"k must be a .*; got .{1,70}\.$"):
        rule("k", value)


MASKED = np.ma.array([5.0, 999.0, 3.0], mask=[False, True, False])
NO_NUMBERS = {
    "durations": (
        pd.to_timedelta([100], unit="D"),
        r"timedelta64.*divide durations by a unit",
    ),
    "dates": (np.array(["2020-01-01"], dtype="datetime64[D]"), r"datetime64\[D\].*divide"),
    "complex": ([1 + 2j], "complex128.*real part"),
    "masked": (MASKED, r"masked array with 1 masked"),
    "text": (["a"], "must be numbers; got .*Convert it"),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 2)), make_target(rng.exponential(size=60), rng.integers(0, 2, 60))


@pytest.mark.parametrize(("times", "message"), NO_NUMBERS.values(), ids=NO_NUMBERS.keys())
def test_times_that_are_no_numbers_are_refused(times, message, rows):
    X, y = rows
    with pytest.raises(InputError, match=message):
        CoxPH().fit(X, y).predict_survival_function(X, times)
    with pytest.raises(InputError, match=message):
        metrics.brier_score(y, y, np.full((60, len(times)), 0.5), times)


@pytest.mark.parametrize("few", [1, 60])
@pytest.mark.parametrize("model", [CoxPH(), ModelAverage([CoxPH()])], ids=["one", "wrapping"])
def test_a_masked_table_is_refused(few, model, rows):
    X, y = rows
    masked = np.ma.array(X, mask=np.zeros_like(X, dtype=bool))
    model.fit(X, y)
    plain = model.predict_survival_function(X[:few], [1.0])
    np.testing.assert_array_equal(
        model.predict_survival_function(masked[:few], [1.0]), plain
    )  # nothing is masked
    masked[0, 0] = np.ma.masked
    for ask in (
        lambda: model.fit(masked, y),
        lambda: model.predict_survival_function(masked[:few], [1.0]),
        lambda: metrics.survival_at_own_time(model, masked, y),
    ):
        with pytest.raises(
            CovariateError, match=r"masked array with 1 masked values. Write X.filled\(np.nan\)"
        ):
            ask()


def test_masked_targets_and_weights_are_refused(rows):
    with pytest.raises(TargetError, match="time must not be masked"):
        make_target(MASKED, [1, 0, 1])
    with pytest.raises(TargetError, match="event must not be masked"):
        make_target([1.0, 2.0, 3.0], np.ma.array([1, 0, 1], mask=[True, False, False]))
    with pytest.raises(InputError, match="sample_weight must not be masked"):
        CoxPH().fit(*rows, sample_weight=np.ma.array(np.ones(60), mask=np.arange(60) == 3))


def test_numbers_are_returned_in_double_precision():
    found = as_numbers([[1, 2], [3, None]], "values")
    np.testing.assert_array_equal(found, [[1.0, 2.0], [3.0, np.nan]])
    assert found.dtype == np.float64


def test_numbers_beside_texts_in_a_nested_list_stay_numbers(rows):
    numbers, y = rows
    labels = np.where(numbers[:, 1] > 0, "high", "low")
    frame = pd.DataFrame({"x0": numbers[:, 0], "x1": labels})
    expected = CoxPH().fit(frame, y)
    nested = [
        [float(number), str(label)] for number, label in zip(numbers[:, 0], labels, strict=True)
    ]
    for table in (nested, [tuple(row) for row in nested]):
        model = CoxPH().fit(table, y)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        np.testing.assert_array_equal(model.predict(table[:3]), expected.predict(frame[:3]))
    texts = [[str(label)] for label in labels]
    assert CoxPH().fit(texts, y).preprocessor_.get_feature_names_out().tolist() == [
        "x0=high",
        "x0=low",
    ]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_tensors_count_as_arrays(dtype):
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.standard_normal((40, 2)), dtype=dtype, requires_grad=True)
    time = torch.tensor(rng.integers(1, 9, 40), dtype=dtype, requires_grad=True)
    event = torch.arange(40) % 2
    X, times = x.detach().double().numpy(), time.detach().double().numpy()
    of_tensors = CoxPH().fit(x, (time, event), sample_weight=time)
    of_arrays = CoxPH().fit(X, (times, event.numpy()), sample_weight=times)
    expected = of_arrays.predict_survival_function(X, [1.0, 4.0])
    result = of_tensors.predict_survival_function(x, time.new_tensor([1.0, 4.0]))
    np.testing.assert_array_equal(result, expected)
    subjects = event.numpy()
    np.testing.assert_array_equal(
        make_target(time, event, subject=event), make_target(times, subjects, subject=subjects)
    )
    images = torch.ones(3, 4, 4, dtype=dtype, requires_grad=True)
    np.testing.assert_array_equal(as_input(images).values, np.ones((3, 4, 4)))


@pytest.mark.parametrize("value", [Decimal("sNaN"), 10**400, -(10**400)])
def test_numbers_without_a_double_are_refused(value):
    with pytest.raises(InputError, match="times must be numbers; got"):
        check_times([1.0, value])
    with pytest.raises(TargetError, match="time must be numbers; got"):
        make_target([1.0, value], [1, 0])
