"""Statistics that are added block by block give the preprocessor of the whole table."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from helpers.disk_tables import make_table
from lifemix.errors import CovariateError, SettingError
from lifemix.preprocessing import TableData, TabularPreprocessor, learn_preprocessor
from lifemix.preprocessing.running_statistics import RunningStatistics


@pytest.fixture(scope="module")
def table():
    return make_table()[["a", "site", "b", "count", "flag"]]


def learn(X, n_blocks, sample=slice(None), max_levels=1000, **options):
    statistics = RunningStatistics(max_levels)
    X = X.astype({name: "category" if name == "site" else float for name in X})
    for rows in np.array_split(np.arange(len(X)), n_blocks):
        statistics.add(TableData(X.iloc[rows]).data)
    rules = TabularPreprocessor(**options)
    return learn_preprocessor(rules, X.iloc[sample], statistics=statistics)


@pytest.mark.parametrize("n_blocks", [1, 7, 60])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"numbers": "piecewise", "bins": 5},
        {"fill_values": {"b": 9.0}, "missing_indicators": False},
        {"scale": False},
    ],
)
def test_columns_are_those_of_the_whole_table(table, n_blocks, options):
    X = table.assign(constant=4.2, far=table["a"] * 1e9 + 1e12)
    expected = TabularPreprocessor(**options).fit(X)
    fitted = learn(X, n_blocks, **options)
    for column, in_memory in zip(fitted.columns_, expected.columns_, strict=True):
        values, expected_values = asdict(column), asdict(in_memory)
        for name in ("fill", "mean", "scale", "missing"):
            number = expected_values.pop(name)
            if isinstance(number, float):
                number = pytest.approx(number, rel=1e-13, abs=1e-13)
            assert values.pop(name) == number
        assert values == expected_values
    if n_blocks == 1:
        assert np.array_equal(fitted.transform(X), expected.transform(X))


def test_quantiles_of_a_sample_are_near(table):
    X = pd.concat([table[["a", "site", "count"]]] * 20, ignore_index=True)
    sample = np.random.default_rng(0).choice(len(X), 6000, replace=False)
    columns, expected = learn(X, 5, sample).columns_, TabularPreprocessor().fit(X).columns_
    assert columns[0].usual == pytest.approx(expected[0].usual, abs=0.15)
    assert columns[2].usual == expected[2].usual  # few whole numbers: the extremes, exactly


def test_a_column_without_values_is_empty(table):
    with pytest.warns(UserWarning, match="all training values are missing in"):
        assert learn(table.assign(empty=np.nan), 3).columns_[-1].kind == "empty"


NOTES = [f"note {i}" for i in range(60)]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"max_levels": 2}, "'site' may have at most max_levels=2 levels; got 3"),
        ({}, {"fill_values": {"site": 1.0}}, "columns of numbers; got 1.0 for 'site'"),
        ({"a": np.inf}, {}, "'a' must be finite; got infinity"),
        ({"a": 1e200}, {}, r"'a' has numbers up to 1e\+200"),
        ({"site": NOTES}, {}, "'site' must hold categories; got 60 different texts in 60 rows"),
    ],
)
def test_refused_columns(table, change, options, message):
    with pytest.raises((CovariateError, SettingError), match=message):
        learn(table[:60].assign(**change), 3, **options)
