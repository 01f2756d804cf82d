"""Which values of an object column are the same level, and which objects are refused."""

from __future__ import annotations

import datetime
import warnings
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifemix import load, make_target, save
from lifemix.baselines import CoxPH
from lifemix.errors import CovariateError, LifemixWarning
from lifemix.histories import Histories
from lifemix.preprocessing import SequencePreprocessor, TableData, TabularPreprocessor


class Colour(str, Enum):  # noqa: UP042  (StrEnum prints its value, this prints its name)
    """Text whose str() is not its value."""

    RED = "red"


MIXED = [True, "unknown", 1, False, 0]
FORBIDDEN = [
    datetime.date(2020, 1, 2),
    datetime.datetime(2020, 1, 2),
    datetime.timedelta(days=3),
    pd.Timestamp("2020-01-02"),
    pd.Timedelta(days=3),
    pd.Period("2020-01"),
    np.datetime64("2020-01-02"),
    Fraction(1, 3),
    1 + 2j,
    b"bytes",
    (1, 2),
    [1, 2],
]
values = st.one_of(
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from(
        [-0.0, 0.5, 1.0, 2.0, float("nan"), Colour.RED, "red", "1", "True", "a", None, pd.NA]
    ),
    st.sampled_from(
        [np.bool_(True), np.int8(1), np.float32(0.1), np.float64(0.1), np.float32(2), np.str_("a")]
    ),
)


def column(cells: list[object]) -> pd.DataFrame:
    cell_array = np.empty(len(cells), dtype=object)
    cell_array[:] = cells
    return pd.DataFrame({"v": pd.Series(cell_array, dtype=object)})


def columns_of(cells: list[object]) -> list[str]:
    return TabularPreprocessor().fit(column(cells)).get_feature_names_out().tolist()


def test_true_and_1_are_two_levels_and_1_and_1_0_are_one() -> None:
    assert columns_of(MIXED) == ["v=0", "v=1", "v=False", "v=True", "v=unknown"]
    assert columns_of([1, 1.0, np.float32(1), "1", "a"]) == ["v=1", "v=a"]


def test_booleans_and_numbers_without_text_are_numbers() -> None:
    fitted = TabularPreprocessor(scale=False).fit(
        column([True, 2, 0.5, np.bool_(False), Decimal("1.5")])
    )
    assert fitted.get_feature_names_out().tolist() == ["v"]
    assert fitted.transform(column([True, 0, Decimal(3)])).ravel().tolist() == [1.0, 0.0, 3.0]


@settings(max_examples=60, deadline=None)
@given(st.lists(values, min_size=2, max_size=40))
def test_a_single_row_equals_its_row_of_the_batch(cells: list[object]) -> None:
    frame = column(cells)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # constant and empty columns
        fitted = TabularPreprocessor().fit(frame)
    batch = fitted.transform(frame)
    assert np.array_equal(fitted.transform(TableData(frame)), batch)
    for row in range(len(frame)):
        single = frame.iloc[[row]]
        assert np.array_equal(fitted.transform(single)[0], batch[row])
        assert np.array_equal(fitted.transform(single.infer_objects())[0], batch[row])


def test_predictions_of_single_rows_equal_the_batch_also_after_loading(tmp_path) -> None:
    rng = np.random.default_rng(0)
    frame = column(MIXED * 20)
    y = make_target(rng.exponential(size=100) + 0.01, rng.random(100) < 0.7)
    model = CoxPH(penalty=0.1).fit(frame, y)
    save(model, tmp_path / "model.lifemix")
    loaded = load(tmp_path / "model.lifemix")
    batch = model.predict_survival_function(frame, [0.5])[:, 0]
    for fitted in (model, loaded):
        singles = [
            fitted.predict_survival_function(frame.iloc[[row]], [0.5])[0, 0] for row in range(5)
        ]
        assert np.allclose(singles, batch[:5], rtol=0, atol=1e-12)
    assert abs(batch[0] - batch[2]) > 1e-6  # True and 1


def test_histories_have_the_same_levels() -> None:
    cells = [*MIXED, None] * 4
    long = column(cells).assign(id=np.repeat(np.arange(12), 2), day=np.tile([0.0, 1.0], 12))
    fitted = SequencePreprocessor().fit(Histories.from_long(long, subject="id", time="day"))
    batch = fitted.transform(Histories.from_long(long, subject="id", time="day"))
    for subject in range(12):
        single = Histories.from_long(long[long["id"] == subject], subject="id", time="day")
        assert np.array_equal(fitted.transform(single)[0], batch[subject])


@pytest.mark.parametrize("value", FORBIDDEN, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("other", ["alone", "text", "numbers"])
def test_an_object_that_is_no_number_boolean_or_text_is_refused(value: object, other: str) -> None:
    rest = {"alone": [value], "text": ["a", "b", None], "numbers": [1, 2.5]}[other]
    message = "column 'v' must hold numbers, booleans or labels; got .* into numbers"
    for length in (2, 20):
        with pytest.raises(CovariateError, match=message):
            TabularPreprocessor().fit(column(([value, *rest] * length)[: 2 * length]))
    for training in (["a", "b", "c"], [1.0, 2.0, 3.0]):
        fitted = TabularPreprocessor().fit(column(training))
        for cells in ([value], [value, *training], [value, *training] * 20):
            with pytest.raises(CovariateError, match=message):
                fitted.transform(column(cells))


def test_a_decimal_is_a_number_but_no_label() -> None:
    with pytest.raises(CovariateError, match="Decimal"):
        TabularPreprocessor().fit(column([Decimal(1), "a", "b"]))
    with pytest.raises(CovariateError, match="Decimal"):
        TabularPreprocessor().fit(column(["a", "b"])).transform(column([Decimal(1)]))


def test_a_datetime_column_is_refused_where_training_had_labels() -> None:
    fitted = TabularPreprocessor().fit(column(["a", "b"]))
    for count in (1, 30):
        dates = pd.DataFrame({"v": pd.to_datetime(["2020-01-02"] * count)})
        with pytest.raises(
            CovariateError, match="must hold numbers, booleans or labels; got datetime64"
        ):
            fitted.transform(dates)
        with pytest.raises(CovariateError, match="must hold numbers, booleans or labels; got"):
            fitted.transform(dates.astype("category"))


def test_intervals_of_pandas_cut_are_labels() -> None:
    groups = pd.DataFrame({"v": pd.cut(pd.Series([1.0, 5.0, 9.0]), [0, 4, 8, 12])})
    names = TabularPreprocessor().fit(groups).get_feature_names_out().tolist()
    assert names == ["v=(0, 4]", "v=(4, 8]", "v=(8, 12]"]
