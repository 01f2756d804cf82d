"""Statistics that are added block by block give the preprocessor of the whole table."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from helpers.disk_tables import make_table
from lifemix.errors import CovariateError, SettingError
from lifemix.preprocessing import TableData, TabularPreprocessor, learn_preprocessor
from lifemix.preprocessing.running_statistics import RunningStatistics

LABELS = ["site"]


@pytest.fixture(scope="module")
def table():
    return make_table()


def statistics_of(X, n_blocks, max_levels=1000):
    statistics = RunningStatistics(max_levels)
    X = X.astype({name: "category" if name in LABELS else float for name in X.columns})
    for rows in np.array_split(np.arange(len(X)), n_blocks):
        statistics.add(TableData(X.iloc[rows]).data)
    return statistics, X


def fitted(preprocessor, X, n_blocks, sample=slice(None)):
    statistics, X = statistics_of(X, n_blocks)
    return learn_preprocessor(preprocessor, X.iloc[sample], statistics=statistics)


@pytest.mark.parametrize("n_blocks", [1, 7, 60])
@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"numbers": "piecewise", "bins": 5},
        {"fill_values": {"b": 9.0}, "missing_indicators": False},
        {"scale": False},
    ],
)
def test_columns_are_those_of_the_whole_table(table, n_blocks, rules):
    X = table[["a", "site", "b", "count", "flag"]].assign(constant=4.2, far=table["c"] * 1e9 + 1e12)
    expected = TabularPreprocessor(**rules).fit(X)
    columns = fitted(TabularPreprocessor(**rules), X, n_blocks).columns_
    for column, in_memory in zip(columns, expected.columns_, strict=True):
        values, expected_values = asdict(column), asdict(in_memory)
        for name in ("fill", "mean", "scale", "missing"):
            if isinstance(expected_values[name], float):
                assert values.pop(name) == pytest.approx(
                    expected_values.pop(name), rel=1e-13, abs=1e-13
                )
        assert values == expected_values


def test_one_block_gives_equal_bits(table):
    X = table[["a", "site", "b", "count", "flag"]]
    assert np.array_equal(
        fitted("auto", X, 1).transform(X), TabularPreprocessor().fit(X).transform(X)
    )


def test_quantiles_of_a_sample_are_near(table):
    X = pd.concat([table[["a", "site", "count"]]] * 20, ignore_index=True)
    rows = np.random.default_rng(0).choice(len(X), 6000, replace=False)
    columns, expected = fitted("auto", X, 5, rows).columns_, TabularPreprocessor().fit(X).columns_
    assert columns[0].usual == pytest.approx(expected[0].usual, abs=0.15)
    assert columns[2].usual == expected[2].usual  # few whole numbers: the extremes, exactly


def test_empty_columns_and_too_many_levels(table):
    X = table[["a", "site"]].assign(empty=np.nan)
    with pytest.warns(UserWarning, match="all training values are missing in"):
        assert fitted("auto", X, 3).columns_[2].kind == "empty"
    with pytest.raises(CovariateError, match=r"'site' may have at most max_levels=2 levels; got 3"):
        statistics_of(X, 3, max_levels=2)
    with pytest.raises(
        SettingError, match=r"fill_values are for columns of numbers; got 1.0 for 'site'"
    ):
        fitted(TabularPreprocessor(fill_values={"site": 1.0}), X, 3)


def test_infinite_and_huge_numbers_are_refused(table):
    X = table[["a", "site"]].copy()
    X.loc[30, "a"] = np.inf
    with pytest.raises(CovariateError, match=r"'a' must be finite; got infinity"):
        fitted("auto", X, 3)
    X.loc[30, "a"] = 1e200
    with pytest.raises(CovariateError, match=r"'a' has numbers up to 1e\+200"):
        fitted("auto", X, 3)


def test_free_text_is_refused():
    X = pd.DataFrame({"site": [f"note {i}" for i in range(60)], "a": np.arange(60.0)})
    with pytest.raises(
        CovariateError, match=r"'site' must hold categories; got 60 different texts in 60 rows"
    ):
        fitted("auto", X, 3)
