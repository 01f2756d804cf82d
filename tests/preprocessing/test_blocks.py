"""Columns that are read, learned and written together give what each gives alone, whatever stands beside it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifemix.errors import CovariateError
from lifemix.preprocessing import TableData, TabularPreprocessor, apply_preprocessor
from lifemix.preprocessing.blocks import number_blocks, number_places
from lifemix.preprocessing.numbers import learn_numbers, usual_values


def _moments_one_by_one(x):
    """Mean and standard deviation with divisor n, of values scaled by a power of two so that nothing overflows."""
    exponent = int(np.frexp(np.abs(x).max())[1])
    x = np.ldexp(x, -exponent)
    mean = x.mean()
    mean += (x - mean).mean()
    return np.ldexp(mean, exponent), np.ldexp(np.sqrt(np.mean((x - mean) ** 2)), exponent)


@st.composite
def _tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(1, 60)), draw(st.integers(1, 12))
    columns = {}
    for place in range(p):
        kind = draw(
            st.sampled_from(
                ["float", "int", "bool", "float32", "missing", "all missing", "label", "Int64"]
            )
        )
        values = rng.normal(scale=10.0 ** draw(st.integers(-5, 5)), size=n)
        if kind in ("missing", "all missing"):
            values[rng.random(n) < (0.4 if kind == "missing" else 2.0)] = np.nan
        made = {
            "int": lambda v: rng.integers(-3, 4, n),
            "bool": lambda v: rng.random(n) < 0.5,
            "float32": lambda v: v.astype(np.float32),
            "label": lambda v: pd.Categorical(rng.choice(["a", "b", "c"], n)),
            "Int64": lambda v: pd.array(rng.integers(0, 9, n), dtype="Int64"),
        }
        columns[f"c{place}"] = made.get(kind, lambda v: v)(values)
    return pd.DataFrame(columns)


@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning")
@given(table=_tables(), numbers=st.sampled_from(["scaled", "piecewise"]))
def test_a_column_becomes_the_same_numbers_in_a_table_and_alone(table, numbers):
    together = TabularPreprocessor(numbers=numbers).fit(table)
    matrix = together.transform(table)
    alone = [TabularPreprocessor(numbers=numbers).fit(table[[name]]) for name in table]
    assert together.columns_ == tuple(one.columns_[0] for one in alone)
    parts = [one.transform(table[[name]]) for one, name in zip(alone, table, strict=True)]
    assert np.array_equal(matrix, np.concatenate(parts, axis=1))
    kept = TableData(table)
    assert TabularPreprocessor(numbers=numbers).fit(kept).columns_ == together.columns_
    assert np.array_equal(together.transform(kept), matrix)
    single = apply_preprocessor(together, table, columns_required=False, single=True)
    assert single.dtype == np.float32
    assert np.array_equal(single, matrix.astype(np.float32))


@pytest.mark.parametrize("n", [1, 2, 7, 129, 4097, 70_001])
@pytest.mark.parametrize("power", [-1000, -310, 0, 299, 1015])
def test_statistics_are_those_of_one_column_bit_for_bit(n, power):
    rng = np.random.default_rng(n)
    x = np.ldexp(rng.normal(3.0, 1.0, (3, n)), power)
    x[1, rng.random(n) < 0.3] = np.nan
    x[1, 0] = 2.0
    with np.errstate(under="ignore"):
        columns = learn_numbers(["a", "b", "c"], x, {}, True, True)
        for column, own in zip(columns, x, strict=True):
            seen = own[~np.isnan(own)]
            mean, spread = _moments_one_by_one(seen)
            assert column.fill == mean
            if column.kind == "numeric":
                assert column.scale == (
                    spread if len(seen) == n else spread * np.sqrt(len(seen) / n)
                )
                assert column.missing == np.isnan(own).sum() / n


@pytest.mark.parametrize(
    "values",
    [
        lambda rng, n: rng.normal(size=n),
        lambda rng, n: np.sort(rng.exponential(size=n)),
        lambda rng, n: rng.integers(0, 2, n).astype(float),
        lambda rng, n: (rng.random(n) < 0.01).astype(float),
        lambda rng, n: np.round(rng.normal(scale=100, size=n)),
        lambda rng, n: np.where(
            np.arange(n) % (n // 4096) == 0, 5.0, rng.normal(size=n)
        ),  # the sample is no sample
    ],
)
def test_usual_values_of_long_columns_are_those_of_sorting(values):
    n = 100_003
    x = values(np.random.default_rng(0), n)
    ordered = np.sort(x)
    low, middle, high = (ordered[round(share * (n - 1))] for share in (0.01, 0.5, 0.99))
    whole = bool((x == np.rint(x)).all())
    if low == high or (whole and ordered[-1] - ordered[0] <= 20):
        low, high = ordered[0], ordered[-1]
    assert usual_values(x) == ((low, middle, high), whole)


@pytest.mark.parametrize("rows", [None, 1, 4, 1000])
def test_blocks_hold_every_number_once(rows):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(11, 9)), columns=list("abcdefghi")).assign(
        b="x", e=rng.integers(0, 5, 11), z=True
    )
    for table in (frame, TableData(frame), frame[["a", "c"]]):
        places = number_places(table)
        names = [list(table.columns)[place] for place in places]
        found = np.full((11, len(places)), np.nan)
        for own, some, values in number_blocks(table, places, rows):
            assert np.isnan(found[own, some]).all()
            found[own, some] = values.T
        assert np.array_equal(found, frame[names].to_numpy(dtype=float))


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_table_is_not_written_to_and_its_order_in_memory_does_not_matter(order):
    X = np.asarray(np.random.default_rng(2).normal(size=(50, 7)), order=order)
    X[3, 2] = np.nan
    before = X.copy()
    fitted = TabularPreprocessor().fit(X)
    assert np.array_equal(
        fitted.transform(X), TabularPreprocessor().fit_transform(before.copy(order="C"))
    )
    assert np.array_equal(X, before, equal_nan=True)


def test_an_infinite_number_among_many_columns_is_named():
    X = np.random.default_rng(3).normal(size=(20_000, 12))
    fitted = TabularPreprocessor().fit(X)
    X[17_000, 9] = np.inf
    for use in (fitted.transform, TabularPreprocessor().fit):
        with pytest.raises(
            CovariateError, match=r"'x9' must be finite; got infinity \(inf\) at row 17000 \(1 such"
        ):
            use(X)
    X[17_000, 9], X[0, 9] = -np.inf, np.nan
    for use in (fitted.transform, TabularPreprocessor().fit):
        with pytest.raises(
            CovariateError, match=r"'x9' must be finite; got infinity \(-inf\) at row 17000"
        ):
            use(X)


def test_a_value_too_far_from_training_is_named_among_many_columns():
    X = np.random.default_rng(4).normal(size=(30, 6)) * 1e-200
    fitted = TabularPreprocessor().fit(X)
    X[5, 4] = 1e200
    with pytest.raises(CovariateError, match="'x4' has values too far from those of training"):
        fitted.transform(X)
