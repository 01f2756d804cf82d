"""Numbers that a user gave: what is masked, a date, a duration or complex is refused, whoever gets it."""

import numpy as np
import pandas as pd
import pytest

from lifemix import make_target, metrics
from lifemix.baselines import CoxPH, ModelAverage
from lifemix.checks import as_numbers
from lifemix.errors import CovariateError, InputError, TargetError

MASKED = np.ma.array([5.0, 999.0, 3.0], mask=[False, True, False])
TIMES = {
    "durations": (
        pd.to_timedelta([100], unit="D"),
        r"timedelta64.*Divide the differences by a unit",
    ),
    "dates": (np.array(["2020-01-01"], dtype="datetime64[D]"), r"datetime64\[D\].*Divide"),
    "complex": ([1 + 2j], "complex128.*real part"),
    "masked": (MASKED, r"masked array with 1 masked"),
    "text": (["a"], "must be numbers; got .*Convert it"),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 2)), make_target(rng.exponential(size=60), rng.integers(0, 2, 60))


@pytest.mark.parametrize(("times", "message"), TIMES.values(), ids=TIMES.keys())
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


def test_missing_values_of_pandas_are_named():
    with pytest.raises(TargetError, match="event must be whole numbers .* got nan at row 1"):
        make_target([1.0, 2.0, 3.0], pd.Series([True, pd.NA, False], dtype="boolean"))
    with pytest.raises(TargetError, match="time must be finite; got nan at row 2"):
        make_target(pd.Series([1.0, 2.0, pd.NA], dtype=object), [1, 0, 1])
    with pytest.raises(TargetError, match="complex128"):
        make_target([1.0, 2.0 + 1j], [1, 0])


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
