"""A few rows, which are written one by one, become the same numbers as among many."""

import numpy as np
import pandas as pd
import pytest

from lifemix.datasets import load_support
from lifemix.errors import CovariateError, LifemixWarning
from lifemix.preprocessing import TabularPreprocessor


@pytest.mark.parametrize(
    "settings", [{}, {"numbers": "piecewise"}, {"missing_indicators": False, "scale": False}]
)
def test_rows_of_a_table_with_categories_and_gaps(settings):
    X = load_support().X
    fitted = TabularPreprocessor(**settings).fit(X)
    together = fitted.transform(X[:400])
    for size in (1, 16):
        alone = np.concatenate([fitted.transform(X[i : i + size]) for i in range(0, 400, size)])
        np.testing.assert_array_equal(alone, together)
    np.testing.assert_array_equal(
        fitted._matrix(X[:1], single=True), together[:1].astype(np.float32)
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_rows_of_an_array(dtype):
    X = (
        np.random.default_rng(0)
        .integers(0, 9, size=(200, 5))
        .clip(0, 1 if dtype is bool else 9)
        .astype(dtype)
    )
    fitted = TabularPreprocessor().fit(X)
    alone = np.concatenate([fitted.transform(X[i : i + 1]) for i in range(40)])
    np.testing.assert_array_equal(alone, fitted.transform(X)[:40])


FRAME = pd.DataFrame(
    {"a": [1.0, np.nan, 4.0] * 20, "b": [True, False, True] * 20, "c": ["x", "y", None] * 20}
)
ROWS = {
    "labels with gaps": {"c": [None]},
    "gaps that are not None": {"c": [np.nan]},
    "a number in place of a label": {"c": [3]},
    "another type of number": {"a": pd.array([4], dtype="Int64")},
    "objects": {"a": np.array([4.0], dtype=object)},
    "a category": {"c": pd.Categorical(["y"], categories=["z", "y"])},
    "text of pandas": {"c": pd.array(["y"], dtype="string")},
    "a level that is new": {"c": ["new"]},
}


@pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning")
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_other_types(name):
    fitted = TabularPreprocessor().fit(FRAME)
    row = FRAME[:1].assign(**ROWS[name])
    many = pd.concat([row] * 20, ignore_index=True)
    np.testing.assert_array_equal(fitted.transform(row), fitted.transform(many)[:1])


def test_what_cannot_be_written_is_told_as_of_many():
    fitted = TabularPreprocessor().fit(FRAME)
    with pytest.warns(LifemixWarning, match="levels that training did not have: 'new'"):
        fitted.transform(FRAME[:1].assign(c="new"))
    for value, message in (
        (np.inf, "must be finite"),
        (1e308 * 10, "must be finite"),
        ("much", "held numbers"),
    ):
        with pytest.raises(CovariateError, match=message):
            fitted.transform(FRAME[:1].assign(a=value))
    narrow = TabularPreprocessor().fit(FRAME.assign(a=FRAME["a"] * 1e-10))
    with pytest.raises(CovariateError, match="too far from those of training"):
        narrow.transform(FRAME[:1].assign(a=1.7e308))
