"""Merged statistics make the preprocessor that the whole table makes in memory."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from lifemix.errors import CovariateError
from lifemix.preprocessing import TabularPreprocessor
from lifemix.preprocessing.merging import TableStatistics, preprocessor_of

LABELS = ["site"]


def merged(X, parts, sample=None, max_levels=1000):
    """Return the statistics of a table that was read in parts, in two groups that are merged, and its numbers."""
    groups = [TableStatistics.of(list(X.columns), LABELS, max_levels) for _ in range(2)]
    numbers = X.drop(columns=LABELS).to_numpy(float).T
    for number, rows in enumerate(np.array_split(np.arange(len(X)), parts)):
        labels = {name: X[name].iloc[rows].astype("category") for name in LABELS}
        groups[number % 2].add(numbers[:, rows], labels)
    groups[0].merge(groups[1])
    return groups[0], numbers if sample is None else numbers[:, sample]


def assert_alike(found, expected):
    for one, other in zip(found.columns_, expected.columns_, strict=True):
        one, other = asdict(one), asdict(other)
        for name in ("fill", "mean", "scale", "missing"):
            if isinstance(other[name], float):
                assert one.pop(name) == pytest.approx(other.pop(name), rel=1e-13, abs=1e-13)
        assert one == other


@pytest.mark.parametrize("parts", [1, 7, 60])
@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"numbers": "piecewise", "bins": 5},
        {"fill_values": {"b": 9.0}, "missing_indicators": False},
        {"scale": False},
    ],
)
def test_columns_are_those_of_the_whole_table(table, parts, rules):
    X = table[["a", "site", "b", "count", "flag"]].assign(constant=4.2, far=table["c"] * 1e9 + 1e12)
    assert_alike(preprocessor_of(TabularPreprocessor(**rules), *merged(X, parts)), TabularPreprocessor(**rules).fit(X))


def test_quantiles_of_a_sample_are_near(table):
    X = pd.concat([table[["a", "site", "count"]]] * 20, ignore_index=True)
    rows = np.random.default_rng(0).choice(len(X), 6000, replace=False)
    found = preprocessor_of("auto", *merged(X, 5, rows)).columns_
    expected = TabularPreprocessor().fit(X).columns_
    assert found[0].usual == pytest.approx(expected[0].usual, abs=0.15)
    assert found[2].usual == expected[2].usual  # few whole numbers: from the smallest to the largest, exactly


def test_an_empty_column_and_too_many_levels(table):
    X = table[["a", "site"]].assign(empty=np.nan)
    with pytest.warns(UserWarning, match="all training values are missing in"):
        assert preprocessor_of("auto", *merged(X, 3)).columns_[2].kind == "empty"
    with pytest.raises(CovariateError, match=r"'site' may have at most max_levels=2 levels; got 3"):
        merged(X, 3, max_levels=2)


def test_infinite_and_huge_numbers_are_refused(table):
    X = table[["a", "site"]].copy()
    X.loc[30, "a"] = np.inf
    with pytest.raises(CovariateError, match=r"'a' must be finite; got infinity"):
        merged(X, 3)
    X.loc[30, "a"] = 1e200
    with pytest.raises(CovariateError, match=r"'a' has numbers up to 1e\+200"):
        preprocessor_of("auto", *merged(X, 3))
