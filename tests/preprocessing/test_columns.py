"""What a column holds, what is learned from it, and the numbers it becomes."""

import datetime
import warnings
from dataclasses import asdict, replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from helpers.number_tables import number_tables
from lifemix import make_target
from lifemix.baselines import CoxPH
from lifemix.errors import CovariateError, LifemixWarning
from lifemix.preprocessing import TableData, TabularPreprocessor
from lifemix.preprocessing.columns import identifier_kind, read_column


class Colour(str, Enum):  # noqa: UP042  (StrEnum prints its value, this prints its name)
    """Text whose str() is not its value."""

    RED = "red"


def objects(*values):
    return pd.Series(values, dtype=object, name="v")


def learn(values, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # constant and empty columns
        return TabularPreprocessor(**options).fit(pd.DataFrame({"v": values}))


def outputs(values):
    return learn(values).get_feature_names_out().tolist()


STAGE = pd.Categorical([2, 10, 2, 1, None], categories=[10, 2, 1, 99])


@pytest.mark.parametrize(
    ("values", "facts"),
    [
        ([50.0, 61.5, np.nan, 70.0, 50.0], ("numeric", 3, (), False)),
        (["m", "f", None, "f", "m"], ("categorical", 2, ("m", "f"), False)),
        (STAGE, ("categorical", 3, ("10", "2", "1"), False)),
        ([True, False, True], ("numeric", 2, (), True)),
        (pd.array([1, None, 3, 4], dtype="Int64"), ("numeric", 3, (), True)),
        (objects(1, "1", 1.0, "x", "x"), ("categorical", 2, ("1", "x"), False)),
        (objects(None, None), ("numeric", 0, (), True)),
        (objects(1, 2.5, None, True, Decimal("1.5")), ("numeric", 3, (), False)),
        (pd.cut([1.0, 5.0], [0, 4, 8]), ("categorical", 2, ("(0, 4]", "(4, 8]"), False)),
    ],
)
def test_what_a_column_holds(values, facts):
    column = read_column("v", pd.Series(values))
    assert (column.kind, column.distinct, column.levels, column.is_whole) == facts


def test_rows_have_the_levels_they_use():
    column = read_column("v", objects(1, "1", 1.0, "x", None))
    assert column.codes.tolist() == [0, 0, 0, 1, -1]
    rows = column.take([4, 3])
    assert (rows.levels, rows.codes.tolist()) == (("x",), [-1, 0])


DATES = pd.to_datetime(["2020-01-02"] * 3)
FORBIDDEN = [
    datetime.date(2020, 1, 2),
    datetime.timedelta(3),
    pd.Timestamp("2020"),
    pd.Timedelta("3d"),
    pd.Period("2020-01"),
    np.datetime64("2020-01-02"),
    Fraction(1, 3),
    1j,
    b"x",
    (1, 2),
    [1],
    Decimal("sNaN"),
    10**400,
    -(10**400),
]


@pytest.mark.parametrize("value", FORBIDDEN, ids=lambda value: type(value).__name__)
def test_other_objects_are_refused_in_training_and_later(value):
    for cells in ((), ("a", "b", None), (1, 2.5)):
        with pytest.raises(CovariateError, match="column 'v' must hold numbers"):
            learn(objects(*cells, value))
    for training in (["a", "b"], [1.0, 2.0]):
        for n_rows in (1, 30):
            with pytest.raises(CovariateError, match="column 'v' must hold numbers"):
                learn(training).transform(objects(*[value] * n_rows).to_frame())


@pytest.mark.parametrize("training", [["a", "b"], [1.0, 2.0]])
@pytest.mark.parametrize("values", [DATES, DATES.astype("category"), np.array([1j, 2])])
def test_dates_and_complex_numbers_are_refused(training, values):
    for use in (learn, lambda values: learn(training).transform(pd.DataFrame({"v": values}))):
        with pytest.raises(CovariateError, match="must hold numbers|Complex data"):
            use(values)


def test_decimals_are_numbers_and_no_labels():
    for training, value in ((["a", "b"], objects(Decimal(1))), (objects(Decimal(1), "a"), "a")):
        with pytest.raises(CovariateError, match="Decimal"):
            learn(training).transform(pd.DataFrame({"v": value}))


@pytest.mark.parametrize("preprocessor", ["auto", None])
@pytest.mark.parametrize("value", [Decimal("sNaN"), 10**400])
def test_models_refuse_numbers_without_a_double(preprocessor, value):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 2)), make_target(rng.exponential(size=40), np.arange(40) % 2)
    model, table = CoxPH(preprocessor=preprocessor).fit(X, y), X.astype(object)
    table[3, 0] = value
    for use in (model.predict, lambda table: CoxPH(preprocessor=preprocessor).fit(table, y)):
        with pytest.raises(CovariateError, match="must hold numbers"):
            use(table)


def test_true_and_1_are_two_levels_and_1_and_1_0_are_equal():
    assert outputs(objects(True, "?", 1, False, 0)) == ["v=0", "v=1", "v=?", "v=False", "v=True"]
    assert outputs(objects(1, 1.0, np.float32(1), "1", "a")) == ["v=1", "v=a"]


CELLS = st.sampled_from(
    [True, False, np.True_, -2, 0, 1, 2, np.int8(1), -0.0, 0.5, 1.0, 2.0, np.nan, np.float32(0.1)]
    + [0.1, Colour.RED, "red", np.str_("a"), "a", "1", "True", None, pd.NA]
)


@given(st.lists(CELLS, min_size=2, max_size=40))
def test_a_row_alone_becomes_the_same_numbers(cells):
    frame = objects(*cells).to_frame()
    fitted = learn(frame["v"])
    expected = fitted.transform(frame)
    assert np.array_equal(fitted.transform(TableData(frame)), expected)
    for row in range(len(frame)):
        single = frame.iloc[[row]]
        assert np.array_equal(fitted.transform(single)[0], expected[row])
        assert np.array_equal(fitted.transform(single.infer_objects())[0], expected[row])


@pytest.mark.parametrize("n_rows", [3, 129, 70_001])
def test_statistics_by_hand(n_rows):
    x = np.random.default_rng(n_rows).normal(3.0, 1.0, n_rows)
    missing = np.arange(n_rows) % 3 == 1
    for values, mean in ((x, x.mean()), (np.where(missing, np.nan, x), x[~missing].mean())):
        (column,) = learn(values).columns_
        filled = np.where(np.isnan(values), mean, x)
        expected = pytest.approx((mean, mean, filled.std()), rel=1e-14)
        assert (column.fill, column.mean, column.scale) == expected
        assert column.missing == np.isnan(values).mean()


def test_a_column_holds_what_was_learned():
    (age,) = learn([50.0, 60.0, np.nan, 70.0]).columns_
    numbers = {"fill": 60.0, "mean": 60.0, "scale": np.std([50, 60, 60, 70]), "missing": 0.25}
    facts = {"name": "v", "kind": "numeric", "levels": None, "indicator": True, "knots": None}
    assert asdict(age) == numbers | facts | {"usual": (50, 60, 70), "is_whole": True}
    (sex,) = learn(["m", "f", "f", None]).columns_
    assert (sex.kind, sex.levels, sex.fill) == ("categorical", ("f", "m"), "f")
    for change in ({"scale": 0.0}, {"mean": np.nan}, {"fill": None}, {"knots": (1.0, 1.0)}):
        with pytest.raises(ValueError, match="must have a name, a fill value"):
            replace(age, **change)


INDEX = np.arange(1000)


@pytest.mark.parametrize(
    ("x", "usual"),
    [
        (np.where(INDEX > 980, np.nan, INDEX / 2), (5.0, 245.0, 485.0)),
        (INDEX % 8, (0, 4, 7)),  # few whole numbers reach to the ends
        (INDEX == 7, (0, 0, 1)),
        (INDEX * 3, (30, 1500, 2967)),
        (np.where(INDEX == 3, 0.5, 0.0), (0, 0, 0.5)),
    ],
)
def test_usual_values_are_training_values(x, usual):
    (column,) = learn(np.random.default_rng(0).permutation(x)).columns_
    assert column.usual == usual
    assert column.is_whole == (0.5 not in x)


@pytest.mark.parametrize("dtype", ["float32", "Float64", "Int64", "int16", "category", "object"])
def test_numbers_of_every_type_become_the_same(dtype):
    new = pd.DataFrame({"v": pd.Series([1, 6]).astype(dtype)})
    assert learn([1.0, 2, 6], scale=False).transform(new).tolist() == [[1], [6]]
    gaps = pd.DataFrame({"v": pd.Categorical([1, None])})
    assert learn([1.0, 2, 6], scale=False).transform(gaps).tolist() == [[1], [3]]


@pytest.mark.parametrize("dtype", ["string", "object", "category"])
def test_labels_of_every_type_become_the_same(dtype):
    new = pd.DataFrame({"v": pd.Series(["b", "a", None], dtype=dtype)})
    assert learn(["b", "a", "b"]).transform(new).tolist() == [[0, 1], [1, 0], [0, 1]]


@pytest.mark.parametrize("values", [[3, 1], [3.0, 1.0], ["3", "1"], pd.Categorical(["3", "1"])])
def test_numbers_as_labels_match_however_they_are_stored(values):
    fitted = learn(pd.Categorical([1, 2, 3]))
    assert fitted.transform(pd.DataFrame({"v": values})).tolist() == [[0, 0, 1], [1, 0, 0]]


LABELS = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=20)


@given(LABELS, LABELS)
def test_labels_become_one_hot_or_nothing(train, new):
    fitted = learn(train, missing_indicators=False)
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        out = fitted.transform(pd.DataFrame({"v": new}))
    levels = sorted(set(train) - {None})
    if len(levels) < 2:
        assert out.shape == (len(new), 0)
        return
    mode = max(levels, key=lambda level: (train.count(level), -ord(level)))
    filled = [mode if label is None else label for label in new]
    assert out.tolist() == [[float(label == level) for level in levels] for label in filled]
    assert bool(messages) == bool(set(filled) - set(levels))


def test_new_levels_are_named():
    fitted = learn(["a", "b"])
    with pytest.warns(LifemixWarning, match=r"column 'v' has levels .* 'x', 'y' \(3 rows\)"):
        fitted.transform(pd.DataFrame({"v": ["x", "a", "y", "x"]}))


def test_piecewise_by_hand():
    x = pd.DataFrame({"a": [0.0, 1, 2, 6, np.nan], "flag": [0, 1, 0, 1, 1]})
    fitted = TabularPreprocessor(numbers="piecewise", bins=3).fit(x)
    assert fitted.columns_[0].knots == (0, 1, 2, 6)
    assert fitted.columns_[1].knots is None  # two values: nothing to bend
    new = fitted.transform(pd.DataFrame({"a": [-5, 0.5, 2, 3, 1e9, np.nan], "flag": 1}))
    bins = new[:, :3].T + 0.5  # the mean is 2.25
    expected = [[0, 0.5, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0.25, 1, 0.0625]]
    assert_allclose(bins, expected, atol=1e-15)
    assert list(fitted.get_feature_names_out()) == ["a<=1", "a<=2", "a<=6", "missing_a", "flag"]


@given(number_tables(), st.integers(2, 8))
@example(np.array([[0.5], [5e-324], [1.0]]), 2)  # half of the smallest number is 0
def test_piecewise_is_the_sum_of_ramps_between_the_knots(X, bins):
    for x in X.T:
        fitted = learn(x, missing_indicators=False, numbers="piecewise", bins=bins)
        (column,) = fitted.columns_
        if column.knots is None:
            continue
        assert 2 < len(column.knots) <= bins + 1
        assert set(column.knots) <= set(x)
        # Weighted by the widths of the bins the ramps add up to the value, held within the outer knots.
        ramps = fitted.transform(pd.DataFrame({"v": x})) + 0.5
        value = column.knots[0] + ramps @ np.diff(column.knots)
        inside = np.clip(np.where(np.isnan(x), column.fill, x), column.knots[0], column.knots[-1])
        assert_allclose(value, inside, atol=1e-9 * np.abs(column.knots).max())


def test_piecewise_leaves_out_extremes_and_bends_at_quantiles():
    (column,) = learn(np.append(INDEX, [-1e6, 1e6]), numbers="piecewise", bins=4).columns_
    assert_allclose(column.knots, [4, 252, 499.5, 747, 995], atol=1)


ROWS = np.arange(40)
SHUFFLED = np.random.default_rng(0).permutation


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("x", ROWS * 3 + 101, "row numbers"),
        ("x", ROWS[::-1], "identifier"),  # all differ in a short range
        ("note", [f"note {i}" for i in ROWS], "identifier"),
        ("note", [f"note {i}" for i in ROWS // 2], ""),
        ("pid", SHUFFLED(10**6)[:40], "identifier"),
        ("platelets", SHUFFLED(10**6)[:40], ""),
        ("x", ROWS / 3, ""),
        ("subject_id", ROWS // 2, "repeated subjects"),
        ("patient", [f"p{i}" for i in ROWS // 2], "repeated subjects"),
        ("age", ROWS // 2, ""),
        ("pid", ROWS[:19], ""),  # too few rows
        ("pid", ROWS * 0, ""),
    ],
)
def test_what_identifies_rows_and_subjects(name, values, kind):
    assert identifier_kind(read_column(name, pd.Series(values))) == kind
