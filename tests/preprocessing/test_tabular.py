"""Tables: matching, preprocessing as a whole, the option ``preprocessor``, copies of the outcome."""

import json
import pickle
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from lifemix import DeepSurvivalMachines, LifeMix, baselines, make_target
from lifemix.baselines import CoxPH, GradientBoosting, KaplanMeier
from lifemix.datasets import load_support
from lifemix.errors import CovariateError, LifemixWarning, SettingError
from lifemix.persistence import _Decoder, _Encoder
from lifemix.preprocessing import (
    SUPPORT_NORMAL_VALUES,
    TableData,
    TabularPreprocessor,
    apply_preprocessor,
    learn_preprocessor,
    tabular,
)
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


@parametrize_with_checks([TabularPreprocessor(), TabularPreprocessor(numbers="piecewise")])
@pytest.mark.filterwarnings("ignore")
def test_follows_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_every_kind_of_column_by_hand():
    out = TabularPreprocessor().set_output(transform="pandas").fit_transform(table())
    assert list(out.columns) == [
        "age", "missing_age", "sex=f", "sex=m", "missing_sex", "stage=1", "stage=2", "stage=10", "smoker",
        "visits", "missing_visits",
    ]  # fmt: skip
    assert list(out.index) == [10, 11, 12, 13]
    age = np.array([50, 60, 60, 70.0])
    np.testing.assert_allclose(out["age"], (age - 60) / age.std(), rtol=1e-15)
    assert out["missing_age"].tolist() == [0, 0, 1, 0]
    assert out["sex=f"].tolist() == [0, 1, 1, 1]  # the missing one gets the mode
    assert out["sex=m"].tolist() == [1, 0, 0, 0]
    assert out["missing_sex"].tolist() == [0, 0, 0, 1]
    assert out[["stage=1", "stage=2", "stage=10"]].to_numpy().tolist() == [
        [0, 1, 0],
        [0, 0, 1],
        [0, 1, 0],
        [1, 0, 0],
    ]
    smoker = np.array([1, 0, 1, 1.0])
    np.testing.assert_allclose(out["smoker"], (smoker - 0.75) / smoker.std(), rtol=1e-15)
    visits = np.array([1, 8 / 3, 3, 4])
    np.testing.assert_allclose(out["visits"], (visits - 8 / 3) / visits.std(), rtol=1e-14)


MODERATE = st.floats(-1e6, 1e6) | st.just(np.nan)


def numbers(elements=MODERATE, columns=(1, 4)):
    return hnp.arrays(
        np.float64, st.tuples(st.integers(2, 30), st.integers(*columns)), elements=elements
    )


def fit_transform(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)
        return TabularPreprocessor(**options).fit_transform(X)


@settings(deadline=None)
@given(numbers(elements=st.integers(-1000, 1000).map(float) | st.just(np.nan)))
def test_numbers_agree_with_the_pipeline_of_scikit_learn(X):
    varies = [len(np.unique(column[~np.isnan(column)])) > 1 for column in X.T]
    expected = np.empty((len(X), 0))
    if any(varies):
        expected = make_pipeline(SimpleImputer(), StandardScaler()).fit_transform(X[:, varies])
    np.testing.assert_allclose(fit_transform(X, missing_indicators=False), expected, atol=1e-9)


@settings(deadline=None)
@given(numbers(), st.integers(-200, 200), st.sampled_from(["scaled", "piecewise"]))
def test_a_power_of_two_as_unit_changes_nothing_at_all(X, power, encoding):
    # Values that do not get lost below the smallest number: those are what a unit may cost.
    X = np.where(np.abs(X) < 1e-60, 0.0, X)
    np.testing.assert_array_equal(
        fit_transform(np.ldexp(X, power), numbers=encoding), fit_transform(X, numbers=encoding)
    )


@settings(deadline=None)
@given(
    numbers(elements=st.integers(-1000, 1000).map(float)),
    st.floats(0.01, 100),
    st.floats(-1e6, 1e6),
)
def test_unit_and_origin_change_only_the_rounding(X, unit, origin):
    np.testing.assert_allclose(fit_transform(X * unit + origin), fit_transform(X), atol=1e-5)


@settings(deadline=None)
@given(
    numbers(elements=st.floats(-1e150, 1e150) | st.just(np.nan))
)  # beyond, squares overflow: refused
def test_the_result_is_always_finite(X):
    assert np.isfinite(fit_transform(X, numbers="piecewise")).all()
    out = fit_transform(X)
    assert np.isfinite(out).all()
    assert (
        np.abs(out).max(initial=0) <= np.sqrt(len(X)) + 1e-6
    )  # the largest standardised value there can be


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numbers": "ranks"}, "numbers must be one of .*'piecewise'.*got 'ranks'"),
        ({"bins": 1}, "at least 2; got 1"),
    ],
)
def test_encodings_that_do_not_exist_are_refused(options, message):
    with pytest.raises(SettingError, match=message):
        TabularPreprocessor(**options).fit(table())


@settings(deadline=None)
@given(
    numbers(columns=(2, 2)),
    st.lists(st.sampled_from(["a", "b", 1, 2.0, None, True]), min_size=30, max_size=30),
    st.booleans(),
    st.sampled_from(["scaled", "piecewise"]),
)
def test_a_model_file_holds_all_that_was_learned(X, labels, scale, numbers):
    frame = pd.DataFrame(X, columns=["u", "v"]).assign(w=pd.Series(labels[: len(X)], dtype=object))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)
        fitted = TabularPreprocessor({"u": 0.1}, scale=scale, numbers=numbers).fit(frame)
    encoder = _Encoder()
    content = json.loads(json.dumps(encoder.encode(fitted, ""), allow_nan=False))
    again = _Decoder(encoder.arrays, {}).decode(content)
    np.testing.assert_array_equal(again.transform(frame), fitted.transform(frame))
    assert again.get_params() == fitted.get_params()
    assert list(again.get_feature_names_out()) == list(fitted.get_feature_names_out())
    assert again.columns_ == fitted.columns_


def test_statistics_come_from_training_rows_only():
    fitted = TabularPreprocessor().fit(table())
    new = table().iloc[:1].assign(age=1000.0)
    scale = np.std([50, 60, 60, 70])
    assert fitted.transform(new)[0, 0] == (1000 - 60) / scale
    assert clone(fitted).get_params() == fitted.get_params()


def test_fixed_values_fill_and_count_in_the_statistics():
    x = pd.DataFrame({"alb": [2.5, np.nan, 4.5, np.nan], "age": [1.0, 2, 3, 4]})
    out = TabularPreprocessor(
        {"alb": 3.5, "age": 0}, missing_indicators=False, scale=False
    ).fit_transform(x)
    assert out[:, 0].tolist() == [2.5, 3.5, 4.5, 3.5]
    scaled = TabularPreprocessor({"alb": 10.0}).fit_transform(x)
    filled = np.array([2.5, 10, 4.5, 10])
    np.testing.assert_allclose(scaled[:, 0], (filled - filled.mean()) / filled.std(), rtol=1e-15)
    assert dict(SUPPORT_NORMAL_VALUES) == {
        "alb": 3.5, "pafi": 333.3, "bili": 1.01, "crea": 1.01, "bun": 6.51, "wblc": 9, "urine": 2502,
    }  # fmt: skip


def test_support_as_the_paper_prepares_it():
    X = load_support().X
    rows = np.arange(len(X)) % 5 != 0
    paper = TabularPreprocessor(SUPPORT_NORMAL_VALUES, missing_indicators=False).set_output(
        transform="pandas"
    )
    out = paper.fit(X[rows]).transform(X[~rows])
    assert out.shape == (rows.size - rows.sum(), 50)  # 24 numbers and 26 levels
    assert np.isfinite(out.to_numpy()).all()
    for name, filled in (
        ("urine", X["urine"].fillna(2502)),
        ("ph", X["ph"].fillna(X["ph"][rows].mean())),
    ):
        expected = (filled[~rows] - filled[rows].mean()) / filled[rows].std(ddof=0)
        np.testing.assert_allclose(out[name], expected, rtol=1e-10, atol=1e-12)
    mode = X["income"][rows].mode()[0]
    assert (out.loc[X["income"][~rows].isna(), f"income={mode}"] == 1).all()
    assert TabularPreprocessor().fit(X).transform(X).shape == (9105, 50 + 21)


def test_can_be_cloned_and_pickled():
    fitted = TabularPreprocessor(SUPPORT_NORMAL_VALUES).fit(load_support().X)
    assert clone(fitted).get_params() == fitted.get_params()
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        again.transform(load_support().X), fitted.transform(load_support().X)
    )


def test_a_value_missing_only_later_is_filled_silently():
    complete = table().assign(
        age=[1.0, 3.0, 1.0, 3.0], sex=["m", "f", "m", "f"], visits=[1, 2, 3, 4]
    )
    fitted = TabularPreprocessor().fit(complete)
    out = fitted.set_output(transform="pandas").transform(table())
    assert not [name for name in out if name.startswith("missing")]
    assert out.loc[12, "age"] == 0
    assert out.loc[13, "sex=f"] == 1


def test_constant_columns_become_nothing_but_their_gaps_stay():
    x = pd.DataFrame(
        {
            "c": [0.1, 0.1, np.nan],
            "one": ["a", "a", "a"],
            "noise": [0.3, 0.1 + 0.2, 0.3],
            "x": [1, 2, 3],
        }
    )
    fitted = TabularPreprocessor().fit(x)
    assert list(fitted.get_feature_names_out()) == ["missing_c", "x"]
    assert fitted.transform(x.assign(c=7.0, one="b"))[:, 0].tolist() == [0, 0, 0]


def test_a_column_without_values_warns_and_has_no_effect():
    x = pd.DataFrame(
        {"gone": [np.nan, np.nan], "void": pd.Series([None, None], dtype=object), "x": [1, 2]}
    )
    with pytest.warns(LifemixWarning, match=r"missing in \['gone', 'void'\]"):
        fitted = TabularPreprocessor().fit(x)
    assert list(fitted.get_feature_names_out()) == ["x"]
    assert fitted.transform(x.assign(gone=5, void="a")).shape == (2, 1)


def test_a_table_in_which_nothing_varies_warns():
    with pytest.warns(LifemixWarning, match=r"no column varies.*'x0', 'x1'"):
        assert TabularPreprocessor().fit(np.ones((3, 2))).transform(np.ones((4, 2))).shape == (4, 0)


def test_columns_are_taken_by_name():
    fitted = TabularPreprocessor().fit(table())
    reordered = table()[["visits", "stage", "smoker", "age", "sex"]]
    for other in (reordered, reordered.assign(z="?"), TableData(reordered.assign(z="?"))):
        np.testing.assert_array_equal(fitted.transform(other), fitted.transform(table()))


def test_an_array_after_a_frame_is_taken_in_order_with_a_warning():
    frame = pd.DataFrame({"a": [1.0, 2], "b": [3.0, 5]})
    fitted = TabularPreprocessor().fit(frame)
    with pytest.warns(LifemixWarning, match="had names in training and have none now"):
        np.testing.assert_array_equal(fitted.transform(frame.to_numpy()), fitted.transform(frame))
    with pytest.warns(LifemixWarning, match="had no names in training and have names now"):
        TabularPreprocessor().fit(frame.to_numpy()).transform(frame)


def test_columns_named_by_numbers_are_taken_by_name_too():
    frame = pd.DataFrame({0: [1.0, 2.0], 1: [3.0, 5.0]})
    fitted = TabularPreprocessor().fit(frame)
    assert fitted.get_feature_names_out().tolist() == ["0", "1"]
    np.testing.assert_array_equal(fitted.transform(frame[[1, 0]]), fitted.transform(frame))


def refit(change):
    return lambda: TabularPreprocessor().fit(table()).transform(change(table()))


def fit(**columns):
    return lambda: TabularPreprocessor().fit(pd.DataFrame(columns))


BAD = {
    "absent columns": (
        refit(lambda x: x.drop(columns=["age", "sex"])),
        r"missing \['age', 'sex'\]",
    ),
    "repeated columns": (
        refit(lambda x: pd.concat([x, x[["age"]]], axis=1)),
        r"got \['age'\] more than once",
    ),
    "renamed column": (
        refit(lambda x: x.rename(columns={"sex": "Sex"})),
        r"missing \['sex'\], got \[.*'Sex'",
    ),
    "text for numbers": (
        refit(lambda x: x.assign(age=["a", "b", "c", None])),
        "'age' held numbers.*such as 'a'",
    ),
    "number as text": (
        refit(lambda x: x.assign(age=[1, "2", 3, 4])),
        "'age' held numbers.*such as '2'",
    ),
    "infinity later": (
        refit(lambda x: x.assign(age=[1, 2, np.inf, 3])),
        "'age' must be finite; got infinity.*row 2",
    ),
    "infinity": (
        fit(a=[1, 2], b=[0, -np.inf]),
        r"'b' must be finite.*-inf\) at row 1 \(1 such rows\)",
    ),
    "dates": (
        fit(d=pd.to_datetime(["2020-01-01", "2021-01-01"])),
        "'d' must hold numbers.*days since",
    ),
    "complex": (fit(d=np.array([1j, 2])), "Complex data not supported"),
    "lists": (fit(d=[[1], [2]]), "must hold numbers, booleans or labels; got list objects"),
    "many levels": (fit(i=2 * [f"p{i}" for i in range(1001)]), "max_levels=1000 levels; got 1001"),
    "same name twice": (
        lambda: TabularPreprocessor().fit(pd.DataFrame(np.eye(2), columns=["a", "a"])),
        r"\['a'\] more than once",
    ),
    "same output twice": (fit(a=[1, np.nan, 2], missing_a=[1, 2, 3]), r"called \['missing_a'\]"),
    "one dimension": (lambda: TabularPreprocessor().fit(np.ones(3)), r"got shape \(3,\)"),
    "no columns": (lambda: TabularPreprocessor().fit(np.ones((3, 0))), "0 feature"),
    "another width": (
        lambda: TabularPreprocessor().fit(np.eye(3)).transform(np.eye(4)),
        "X has 4 features, but TabularPreprocessor is expecting 3",
    ),
    "another range": (
        lambda: TabularPreprocessor().fit(np.eye(2) * 1e-100).transform(np.eye(2) * 1e250),
        "'x0' has values too far from those of training",
    ),
}


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD.keys())
def test_tables_that_cannot_be_used_are_refused_with_the_reason(call, message):
    with pytest.raises(CovariateError, match=message):
        call()


@pytest.mark.parametrize(
    ("fills", "message"),
    [
        ({"alb": 3.5}, r"does not have: \['alb'\]"),
        ({"age": np.nan}, "finite numbers; got {'age': nan}"),
        ({"sex": 1.0}, "are for columns of numbers; got 1.0 for 'sex'"),
    ],
)
def test_fixed_values_that_cannot_be_used_are_refused(fills, message):
    with pytest.raises(SettingError, match=message):
        TabularPreprocessor(fills).fit(table())


ROWS = st.lists(st.integers(0, 3), min_size=1, max_size=8).map(np.array) | st.builds(
    slice, st.integers(0, 2), st.just(4)
)


@settings(deadline=None, max_examples=50)
@given(ROWS, ROWS)
def test_rows_of_a_table_hold_what_the_rows_of_its_frame_hold(rows, more_rows):
    selected, frame = TableData(table()).iloc[rows], table().iloc[rows]
    more_rows = more_rows if isinstance(more_rows, slice) else more_rows % len(frame)
    selected, frame = selected.iloc[more_rows], frame.iloc[more_rows]
    assert selected.shape == frame.shape == (len(selected), 5)
    pd.testing.assert_frame_equal(selected.frame, frame)
    for column, expected in zip(selected.data, TableData(frame).data, strict=True):
        assert column.missing.tolist() == expected.missing.tolist()
        assert column.distinct == expected.distinct
        if not column.missing.all():
            assert set(column.levels) == set(expected.levels)
        if column.numbers is not None and expected.numbers is not None:
            np.testing.assert_array_equal(column.numbers, expected.numbers)


def test_each_column_is_read_once(monkeypatch):
    names = Counter()

    def counted(name, values):
        names.update([name])
        return read_column(name, values)

    monkeypatch.setattr(tabular, "read_column", counted)
    shared = TableData(table())
    TabularPreprocessor().fit(shared.iloc[[0, 1, 3]])
    TabularPreprocessor().fit(shared[["age", "sex"]])
    TabularPreprocessor().fit(shared.iloc[1:])
    assert names == Counter(shared.columns)


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
    assert chosen.shape == (4, 2)
    back = pickle.loads(pickle.dumps(chosen.iloc[[1, 3]]))
    assert back.data[0].levels == ("f",)
    with pytest.raises(NotImplementedError, match="by name"):
        chosen.take([0], axis=1)


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
    assert together.columns_ == tuple(fitted.columns_[0] for fitted in alone)
    outputs = [fitted.transform(table[[name]]) for fitted, name in zip(alone, table, strict=True)]
    assert np.array_equal(matrix, np.concatenate(outputs, axis=1))
    read = TableData(table)
    assert TabularPreprocessor(numbers=numbers).fit(read).columns_ == together.columns_
    assert np.array_equal(together.transform(read), matrix)
    assert np.array_equal(apply_preprocessor(together, table, columns_required=False), matrix)


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
    X = np.random.default_rng(4).normal(size=(30, 6)) * 1e-100
    fitted = TabularPreprocessor().fit(X)
    X[5, 4] = 1e250
    with pytest.raises(CovariateError, match="'x4' has values too far from those of training"):
        fitted.transform(X)


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


OTHER_ROWS = {
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
@pytest.mark.parametrize("name", OTHER_ROWS)
def test_rows_of_other_types(name):
    fitted = TabularPreprocessor().fit(FRAME)
    row = FRAME[:1].assign(**OTHER_ROWS[name])
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


N_ROWS = 60


MODELS = [
    DeepSurvivalMachines(max_epochs=1, n_members=1),
    CoxPH(),
    GradientBoosting(),
    LifeMix({"Cox": CoxPH(), "curve": KaplanMeier()}, n_folds=2),
]


def table_with_age(n_rows=N_ROWS, **columns):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.normal(60, 10, n_rows), **columns})


def outcome(n_rows=N_ROWS):
    rng = np.random.default_rng(1)
    return rng.exponential(5, n_rows) + 0.1, (rng.random(n_rows) < 0.6).astype(int)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_free_text_is_refused(model):
    notes = [f"note {row} on the patient" for row in range(N_ROWS)]
    with pytest.raises(
        CovariateError,
        match=r"'note' must hold categories; got [36]0 different texts in [36]0 rows.*Drop",
    ):
        model.fit(table_with_age(note=notes), make_target(*outcome()))


@pytest.mark.parametrize("n_rows", [19, 20])
@pytest.mark.parametrize("n_repeated", [1, 3])
def test_free_text_means_20_rows_of_which_95_percent_differ(n_rows, n_repeated):
    notes = [f"note {max(row, n_repeated - 1)}" for row in range(n_rows)]
    X, y = table_with_age(n_rows, note=notes), make_target(*outcome(n_rows))
    if n_rows == 20 and n_repeated == 1:
        with pytest.raises(CovariateError, match="different texts"):
            CoxPH(penalty=1.0).fit(X, y)
    else:
        CoxPH(penalty=1.0).fit(X, y)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("field", ["time", "event"])
def test_a_copy_of_the_outcome_is_refused(model, field):
    time, event = outcome()
    copied = {"time": time, "event": event}[field]
    with pytest.raises(
        CovariateError, match=f"column 'leak' of X equals the {field} of y in all 60 rows"
    ):
        model.fit(table_with_age(leak=copied), make_target(time, event))


@pytest.mark.parametrize("leak", ["float32", "boolean", "any event", "array"])
def test_copies_of_another_type_are_refused(leak):
    time, event = outcome()
    event = event * np.where(np.arange(N_ROWS) % 2, 2, 1)
    columns = {
        "float32": time.astype(np.float32),
        "boolean": event > 0,
        "any event": 1.0 * (event > 0),
        "array": time,
    }
    X = table_with_age(leak=columns[leak])
    with pytest.raises(CovariateError, match="equals the (time|event > 0) of y"):
        DeepSurvivalMachines(max_epochs=1, n_members=1).fit(
            X.to_numpy() if leak == "array" else X, make_target(time, event)
        )


def test_columns_that_are_not_copies_are_accepted():
    time, event = outcome()
    almost = time.copy()
    almost[-1] += 1
    X = table_with_age(almost=almost, constant=1.0)
    CoxPH(penalty=1.0).fit(X, make_target(time, event))
    CoxPH(penalty=1.0).fit(
        X, make_target(time, np.ones(N_ROWS, dtype=int))
    )  # every row has the event
    CoxPH(penalty=1.0).fit(table_with_age(19, leak=time[:19]), make_target(time[:19], event[:19]))


@pytest.mark.parametrize("model", [DeepSurvivalMachines(), CoxPH()])
def test_images_need_a_module_and_only_sequences_a_recurrent_encoder(model):
    y = make_target(np.arange(1.0, 41.0), np.arange(40) % 2)
    with pytest.raises(
        CovariateError, match=r"torch.nn.Module that takes rows of shape \(1, 8, 8\)"
    ) as images:
        model.fit(np.ones((40, 1, 8, 8)), y)
    assert "Recurrent" not in str(images.value)
    with pytest.raises(CovariateError, match=r"If a row is a sequence .*encoders.Recurrent"):
        model.fit(np.ones((40, 8, 8)), y)
