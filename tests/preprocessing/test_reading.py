"""Columns that are read once: what they hold, and parts of a table that read nothing again."""

import pickle
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from lifemix import DeepSurvivalMachines, baselines, make_target
from lifemix.errors import CovariateError
from lifemix.preprocessing import (
    TableData,
    TabularPreprocessor,
    apply_preprocessor,
    learn_preprocessor,
    reading,
)
from lifemix.preprocessing.reading import ColumnData


def table():
    return pd.DataFrame(
        {
            "age": [50.0, 61.5, np.nan, 70.0, 50.0],
            "sex": ["m", "f", None, "f", "m"],
            "stage": pd.Categorical([2, 10, 2, 1, None], categories=[10, 2, 1, 99]),
            "smoker": [True, False, True, True, False],
            "visits": pd.array([1, None, 3, 4, 4], dtype="Int64"),
            "mixed": [1, "1", 1.0, "x", "x"],
            "nothing": [None] * 5,
        },
        index=[10, 11, 12, 13, 13],
    )


def facts(column):
    return column.kind, column.missing.tolist(), column.distinct, column.levels, column.whole


def test_every_type_of_column_by_hand():
    found = {
        column.name: facts(column)[0:1] + facts(column)[2:] for column in TableData(table()).data
    }
    assert found == {
        "age": ("numeric", 3, (), False),
        "sex": ("categorical", 2, ("m", "f"), False),
        "stage": ("categorical", 3, ("2", "10", "1"), False),
        "smoker": ("numeric", 2, (), True),
        "visits": ("numeric", 3, (), True),
        "mixed": ("categorical", 2, ("1", "x"), False),  # 1, 1.0 and "1" are one level
        "nothing": ("numeric", 0, (), True),
    }
    assert TableData(table()).data[5].codes.tolist() == [0, 0, 0, 1, 1]


ROWS = st.lists(st.integers(0, 4), min_size=1, max_size=8).map(np.array) | st.builds(
    slice, st.integers(0, 2), st.just(5)
)


@settings(deadline=None, max_examples=50)
@given(ROWS, ROWS, st.booleans())
def test_a_part_reads_as_the_part_of_the_frame(rows, more, read_before):
    frame = table().drop(columns="mixed")  # a part of it may hold numbers only
    whole = TableData(frame)
    if read_before:
        assert [facts(column) for column in whole.data]
    part, frame = whole.iloc[rows], frame.iloc[rows]
    more = more if isinstance(more, slice) else more % len(frame)
    part, frame = part.iloc[more], frame.iloc[more]
    assert part.shape == frame.shape
    assert len(part) == len(frame)
    pd.testing.assert_frame_equal(part.frame, frame)
    for column, expected in zip(part.data, TableData(frame).data, strict=True):
        assert column.missing.tolist() == expected.missing.tolist()
        assert column.distinct == expected.distinct
        if not column.missing.all():
            assert set(column.levels) == set(expected.levels)
        if column.numbers is not None and expected.numbers is not None:
            np.testing.assert_array_equal(column.numbers, expected.numbers)


def test_parts_read_nothing_again(monkeypatch):
    read = Counter()

    def counted(function):
        return lambda name, values: read.update([name]) or function(name, values)

    for name in ("to_floats", "_factorize"):
        monkeypatch.setattr(reading, name, counted(getattr(reading, name)))
    whole = TableData(table().drop(columns="nothing"))
    fitted = TabularPreprocessor().fit(whole.iloc[[0, 1, 3]])
    fitted.transform(whole.iloc[3:])
    TabularPreprocessor().fit(whole[["age", "sex"]])
    assert read == Counter(whole.columns)


def test_models_are_the_same_as_from_a_frame():
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": np.where(rng.random(n) < 0.2, None, rng.choice(["u", "v", "w"], n)),
            "c": 1,
        }
    )
    y = make_target(rng.exponential(size=n), rng.integers(0, 2, n))
    train, test = np.arange(90), np.arange(90, n)
    for make in (
        lambda: DeepSurvivalMachines(max_epochs=3, hidden=(5,)),
        baselines.CoxPH,
        baselines.KaplanMeier,
    ):
        plain = make().fit(X.iloc[train], y[train])
        read = TableData(X)
        other = make().fit(read.iloc[train], y[train])
        expected = plain.predict_survival_function(X.iloc[test], [0.5, 1.0])
        np.testing.assert_array_equal(
            other.predict_survival_function(read.iloc[test], [0.5, 1.0]), expected
        )
        np.testing.assert_array_equal(
            other.predict_survival_function(X.iloc[test], [0.5, 1.0]), expected
        )
        assert list(other.feature_names_in_) == ["a", "b", "c"]


@pytest.mark.parametrize("preprocessor", [None, StandardScaler()])
def test_transformers_of_others_get_a_frame(preprocessor):
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 0.0]})
    fitted = learn_preprocessor(preprocessor, TableData(X))
    expected = apply_preprocessor(learn_preprocessor(preprocessor, X), X)
    np.testing.assert_array_equal(apply_preprocessor(fitted, TableData(X)), expected)


def test_columns_can_be_chosen_and_pickled():
    chosen = TableData(table())[["sex", "age"]]
    assert chosen.columns == ["sex", "age"]
    assert chosen.shape == (5, 2)
    back = pickle.loads(pickle.dumps(chosen.iloc[[1, 2]]))
    assert back.data[0].levels == ("f",)
    with pytest.raises(NotImplementedError, match="by name"):
        chosen.take([0], axis=1)


def test_what_no_model_can_read_is_refused_by_name():
    with pytest.raises(CovariateError, match="column 'd' must hold numbers, booleans or labels"):
        assert ColumnData("d", pd.Series(pd.to_datetime(["2020-01-01"]))).kind
    with pytest.raises(CovariateError, match="must be finite; got infinity"):
        assert ColumnData("d", pd.Series([1.0, np.inf])).numbers
    with pytest.raises(
        CovariateError, match="held numbers in training; got object values such as 'x'"
    ):
        ColumnData("d", pd.Series([1.0, "x"], dtype=object)).as_numbers()
