"""What a column holds, what is learned from it, and the numbers it becomes."""

import datetime
import warnings
from dataclasses import asdict
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lifemix import load, make_target, save
from lifemix.baselines import CoxPH
from lifemix.errors import CovariateError, LifemixWarning
from lifemix.histories import Histories
from lifemix.preprocessing import SequencePreprocessor, TableData, TabularPreprocessor
from lifemix.preprocessing.columns import read_column


def table():
    return pd.DataFrame(
        {
            "age": [50.0, 60.0, np.nan, 70.0],
            "sex": ["m", "f", "f", None],
            "stage": pd.Categorical([2, 10, 2, 1], categories=[10, 2, 1, 99]),
            "smoker": [True, False, True, True],
            "visits": pd.array([1, None, 3, 4], dtype="Int64"),
        },
        index=[10, 11, 12, 13],
    )


def mixed_table():
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


def test_every_type_of_column_by_hand():
    facts = {
        column.name: (column.kind, column.distinct, column.levels, column.is_whole)
        for column in TableData(mixed_table()).data
    }
    assert facts == {
        "age": ("numeric", 3, (), False),
        "sex": ("categorical", 2, ("m", "f"), False),
        "stage": ("categorical", 3, ("10", "2", "1"), False),
        "smoker": ("numeric", 2, (), True),
        "visits": ("numeric", 3, (), True),
        "mixed": ("categorical", 2, ("1", "x"), False),  # 1, 1.0 and "1" are one level
        "nothing": ("numeric", 0, (), True),
    }
    column = TableData(mixed_table()).column("mixed")
    assert column.codes.tolist() == [0, 0, 0, 1, 1]
    assert column.take([4, 3]).levels == ("x",)
    assert column.take([4, 3]).codes.tolist() == [0, 0]


def test_what_no_model_can_read_is_refused_by_name():
    with pytest.raises(CovariateError, match="column 'd' must hold numbers, booleans or labels"):
        read_column("d", pd.Series(pd.to_datetime(["2020-01-01"])))
    with pytest.raises(CovariateError, match="must be finite; got infinity"):
        read_column("d", pd.Series([1.0, np.inf]))
    column = read_column("d", pd.Series([1.0, "x"], dtype=object))
    with pytest.raises(CovariateError, match="held numbers in training; got object .* as 'x'"):
        column.as_numbers()


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


def learned(values, name="x"):
    return TabularPreprocessor().fit(pd.DataFrame({name: values})).columns_[0]


@pytest.mark.parametrize("n", [2, 7, 129, 4097, 70_001])
def test_statistics_by_hand(n):
    x = np.random.default_rng(n).normal(3.0, 1.0, n)
    assert learned(x).mean == pytest.approx(x.mean(), rel=1e-14)
    assert learned(x).scale == pytest.approx(x.std(), rel=1e-14)
    missing = np.arange(n) % 3 == 2
    column = learned(np.where(missing, np.nan, x))
    filled = np.where(missing, x[~missing].mean(), x)
    assert column.fill == column.mean == pytest.approx(filled.mean(), rel=1e-14)
    assert column.scale == pytest.approx(filled.std(), rel=1e-14)
    assert column.missing == missing.mean()


def test_numbers_whose_squares_overflow_are_refused():
    with pytest.raises(CovariateError, match=r"'x' has numbers up to 1e\+200; their squares over"):
        learned([0.0, 1.0, 1e200])


@pytest.mark.parametrize(
    "values",
    [
        lambda rng, n: rng.normal(size=n),
        lambda rng, n: rng.integers(0, 2, n).astype(float),
        lambda rng, n: (rng.random(n) < 0.01).astype(float),
        lambda rng, n: np.round(rng.normal(scale=100, size=n)),
    ],
)
def test_usual_values_are_those_of_sorting(values):
    n = 1003
    x = values(np.random.default_rng(0), n)
    ordered = np.sort(x)
    low, middle, high = (ordered[round(share * (n - 1))] for share in (0.01, 0.5, 0.99))
    is_whole = bool((x == np.rint(x)).all())
    if low == high or (is_whole and ordered[-1] - ordered[0] <= 20):
        low, high = ordered[0], ordered[-1]
    column = learned(x)
    assert (column.usual, column.is_whole) == ((low, middle, high), is_whole)


MODERATE = st.floats(-1e6, 1e6) | st.just(np.nan)


def numbers(elements=MODERATE, columns=(1, 4)):
    return hnp.arrays(
        np.float64, st.tuples(st.integers(2, 30), st.integers(*columns)), elements=elements
    )


OBJECTS = {
    "ints": [1, 2, None],
    "floats": [1.5, np.nan, pd.NA],
    "booleans": [True, False, None],
    "mixed numbers": [1, 2.5, None],
}


@pytest.mark.parametrize("values", OBJECTS.values(), ids=OBJECTS.keys())
def test_objects_that_are_all_numbers_are_numbers(values):
    fitted = TabularPreprocessor(scale=False).fit(
        pd.DataFrame({"a": pd.Series(values, dtype=object), "b": [1, 2, 3]})
    )
    expected = "constant" if values == OBJECTS["floats"] else "numeric"
    assert fitted.columns_[0].kind == expected


@pytest.mark.parametrize("dtype", ["string", "object", "category"])
def test_text_columns_of_every_type_give_the_same(dtype):
    values = ["b", "a", None, "b"]
    fitted = TabularPreprocessor().fit(pd.DataFrame({"s": pd.Series(values, dtype="object")}))
    new = pd.DataFrame({"s": pd.Series(values, dtype=dtype)})
    assert fitted.transform(new).tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 1], [0, 1, 0]]


@pytest.mark.parametrize("dtype", ["float32", "Float64", "Int64", "int16", "category", "object"])
def test_number_columns_of_every_type_give_the_same(dtype):
    fitted = TabularPreprocessor().fit(pd.DataFrame({"a": [1.0, 2, 4]}))
    new = pd.DataFrame({"a": pd.Series([1, 2, 4]).astype(dtype)})
    np.testing.assert_array_equal(
        fitted.transform(new), fitted.transform(pd.DataFrame({"a": [1.0, 2, 4]}))
    )


def test_a_categorical_of_numbers_with_gaps_gives_numbers():
    fitted = TabularPreprocessor(scale=False).fit(pd.DataFrame({"a": [1.0, 2, 6]}))
    new = pd.DataFrame({"a": pd.Categorical([1, None, 6])})
    assert fitted.transform(new).ravel().tolist() == [1, 3, 6]


def test_level_numbers_match_however_they_are_stored():
    fitted = TabularPreprocessor().fit(pd.DataFrame({"g": pd.Categorical([1, 2, 3])}))
    for values in ([3, 1], [3.0, 1.0], ["3", "1"], pd.Categorical(["3", "1"])):
        assert fitted.transform(pd.DataFrame({"g": values})).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_usual_values_are_training_values_and_leave_out_extremes():
    x = np.random.default_rng(0).permutation(1001) / 2.0
    column = (
        TabularPreprocessor()
        .fit(pd.DataFrame({"x": x}).mask(pd.DataFrame({"x": x > 490})))
        .columns_[0]
    )
    assert column.usual == (5.0, 245.0, 485.0)
    assert not column.is_whole
    assert TabularPreprocessor().fit(2 * x[:, None]).columns_[0].is_whole


def test_usual_values_of_counts_and_of_rare_events_reach_to_the_ends():
    x = pd.DataFrame(
        {"count": np.arange(1000) % 8, "rare": np.arange(1000) == 7, "amount": np.arange(1000) * 3}
    )
    x["trace"] = np.where(np.arange(1000) == 3, 0.5, 0.0)
    found = [column.usual for column in TabularPreprocessor().fit(x).columns_]
    assert found == [(0, 4, 7), (0, 0, 1), (30, 1500, 2967), (0, 0, 0.5)]


def test_columns_hold_what_was_learned():
    age, sex = TabularPreprocessor().fit(table()).columns_[:2]
    assert asdict(age) == {
        "name": "age",
        "kind": "numeric",
        "fill": 60.0,
        "mean": 60.0,
        "scale": np.std([50, 60, 60, 70]),
        "levels": None,
        "indicator": True,
        "knots": None,
        "usual": (50, 60, 70),
        "is_whole": True,
        "missing": 0.25,
    }
    assert (sex.levels, sex.fill) == (("f", "m"), "f")


LABELS = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=20)


@settings(deadline=None)
@given(LABELS, LABELS)
def test_labels_become_one_hot_or_nothing(train, new):
    levels = sorted(set(train) - {None})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = TabularPreprocessor(missing_indicators=False).fit(pd.DataFrame({"c": train}))
        caught.clear()
        out = fitted.transform(pd.DataFrame({"c": new}))
    if len(levels) < 2:
        assert out.shape == (len(new), 0)
        return
    mode = max(levels, key=lambda level: (train.count(level), -ord(level)))
    filled = [mode if label is None else label for label in new]
    assert out.tolist() == [[float(label == level) for level in levels] for label in filled]
    assert bool(caught) == bool(set(filled) - set(levels))


def test_piecewise_by_hand():
    x = pd.DataFrame({"a": [0.0, 1, 2, 6, np.nan], "flag": [0, 1, 0, 1, 1]})
    fitted = TabularPreprocessor(numbers="piecewise", bins=3).fit(x)
    assert fitted.columns_[0].knots == (0, 1, 2, 6)
    assert fitted.columns_[1].knots is None  # two values: nothing to bend
    new = fitted.transform(pd.DataFrame({"a": [-5, 0.5, 2, 3, 1e9, np.nan], "flag": 1}))
    expected = [
        [0, 0, 0],
        [0.5, 0, 0],
        [1, 1, 0],
        [1, 1, 0.25],
        [1, 1, 1],
        [1, 1, 0.0625],
    ]  # the mean is 2.25
    np.testing.assert_allclose(new[:, :3] + 0.5, expected, atol=1e-15)
    assert list(fitted.get_feature_names_out()) == ["a<=1", "a<=2", "a<=6", "missing_a", "flag"]


@settings(deadline=None)
@given(numbers(), st.integers(2, 8))
@example(np.array([[0.5], [5e-324], [1.0]]), 2)  # half of the smallest number is 0
def test_piecewise_is_the_sum_of_ramps_between_the_knots(X, bins):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)
        fitted = TabularPreprocessor(missing_indicators=False, numbers="piecewise", bins=bins).fit(
            X
        )
        out = fitted.transform(X)
    start = 0
    for column, x in zip(fitted.columns_, X.T, strict=True):
        part = out[:, start : start + len(column.outputs)]
        start += part.shape[1]
        if column.knots is None:
            continue
        assert 2 < len(column.knots) <= bins + 1
        assert set(column.knots) <= set(x)
        # Weighted by the widths of the bins the ramps add up to the value, held within the outer knots.
        value = column.knots[0] + (part + 0.5) @ np.diff(column.knots)
        inside = np.clip(np.where(np.isnan(x), column.fill, x), column.knots[0], column.knots[-1])
        np.testing.assert_allclose(value, inside, atol=1e-9 * np.abs(column.knots).max())


def test_piecewise_leaves_out_extremes_and_bends_at_quantiles():
    x = np.append(np.arange(1000.0), [-1e6, 1e6])[:, None]
    column = TabularPreprocessor(numbers="piecewise", bins=4).fit(x).columns_[0]
    np.testing.assert_allclose(column.knots, [4, 252, 499.5, 747, 995], atol=1)


def test_unseen_levels_are_named_and_coded_as_none():
    fitted = TabularPreprocessor(missing_indicators=False).fit(pd.DataFrame({"s": ["a", "b"]}))
    with pytest.warns(LifemixWarning, match=r"column 's' has levels .* 'x', 'y' \(3 rows\)"):
        out = fitted.transform(pd.DataFrame({"s": ["x", "a", "y", "x"]}))
    assert out.tolist() == [[0, 0], [1, 0], [0, 0], [0, 0]]


@pytest.mark.parametrize("value", [Decimal("sNaN"), 10**400, -(10**400)])
@pytest.mark.parametrize("others", [[1.0, 2.0], ["low", "high"]])
def test_numbers_without_a_double_are_refused_by_name(value, others):
    column = pd.Series([*others, value], dtype=object)
    with pytest.raises(CovariateError, match="column 'dose' must hold numbers"):
        read_column("dose", column)


@pytest.mark.parametrize("preprocessor", ["auto", None])
def test_fit_and_predict_refuse_numbers_without_a_double(preprocessor):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 2)), make_target(rng.exponential(size=40), np.arange(40) % 2)
    model = CoxPH(preprocessor=preprocessor).fit(X, y)
    for value in (Decimal("sNaN"), 10**400):
        table = X.astype(object)
        table[3, 0] = value
        with pytest.raises(CovariateError, match="must hold numbers"):
            CoxPH(preprocessor=preprocessor).fit(table, y)
        with pytest.raises(CovariateError, match="must hold numbers"):
            model.predict(table)
