import json
import pickle
import warnings
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from lifemix.datasets import load_support
from lifemix.errors import CovariateError, LifemixWarning, SettingError
from lifemix.persistence import _Decoder, _Encoder
from lifemix.preprocessing import SUPPORT_NORMAL_VALUES, TabularPreprocessor


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
    numbers(elements=st.floats(-8e307, 8e307) | st.just(np.nan))
)  # beyond, differences overflow: refused
def test_the_result_is_always_finite(X):
    assert np.isfinite(fit_transform(X, numbers="piecewise")).all()
    out = fit_transform(X)
    assert np.isfinite(out).all()
    assert (
        np.abs(out).max(initial=0) <= np.sqrt(len(X)) + 1e-6
    )  # the largest standardised value there can be


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
        "whole": True,
        "missing": 0.25,
    }
    assert (sex.levels, sex.fill) == (("f", "m"), "f")


def test_usual_values_are_training_values_and_leave_out_extremes():
    x = np.random.default_rng(0).permutation(1001) / 2.0
    column = (
        TabularPreprocessor()
        .fit(pd.DataFrame({"x": x}).mask(pd.DataFrame({"x": x > 490})))
        .columns_[0]
    )
    assert column.usual == (5.0, 245.0, 485.0)
    assert not column.whole
    assert TabularPreprocessor().fit(2 * x[:, None]).columns_[0].whole


def test_usual_values_of_counts_and_of_rare_events_reach_to_the_ends():
    x = pd.DataFrame(
        {"count": np.arange(1000) % 8, "rare": np.arange(1000) == 7, "amount": np.arange(1000) * 3}
    )
    x["trace"] = np.where(np.arange(1000) == 3, 0.5, 0.0)
    found = [column.usual for column in TabularPreprocessor().fit(x).columns_]
    assert found == [(0, 4, 7), (0, 0, 1), (30, 1500, 2967), (0, 0, 0.5)]


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


def test_level_numbers_match_however_they_are_stored():
    fitted = TabularPreprocessor().fit(pd.DataFrame({"g": pd.Categorical([1, 2, 3])}))
    for values in ([3, 1], [3.0, 1.0], ["3", "1"], pd.Categorical(["3", "1"])):
        assert fitted.transform(pd.DataFrame({"g": values})).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_columns_are_taken_by_name():
    fitted = TabularPreprocessor().fit(table())
    with pytest.warns(LifemixWarning, match="another order"):
        reordered = fitted.transform(table()[["visits", "stage", "smoker", "age", "sex"]])
    np.testing.assert_array_equal(reordered, fitted.transform(table()))


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
    with pytest.warns(LifemixWarning, match="another order"):
        np.testing.assert_array_equal(fitted.transform(frame[[1, 0]]), fitted.transform(frame))


def test_unseen_levels_are_named_and_coded_as_none():
    fitted = TabularPreprocessor(missing_indicators=False).fit(pd.DataFrame({"s": ["a", "b"]}))
    with pytest.warns(LifemixWarning, match=r"column 's' has levels .* 'x', 'y' \(3 rows\)"):
        out = fitted.transform(pd.DataFrame({"s": ["x", "a", "y", "x"]}))
    assert out.tolist() == [[0, 0], [1, 0], [0, 0], [0, 0]]


def refit(change):
    return lambda: TabularPreprocessor().fit(table()).transform(change(table()))


def fit(**columns):
    return lambda: TabularPreprocessor().fit(pd.DataFrame(columns))


BAD = {
    "absent columns": (
        refit(lambda x: x.drop(columns=["age", "sex"])),
        r"missing \['age', 'sex'\]",
    ),
    "unknown columns": (refit(lambda x: x.assign(z=1)), r"unknown \['z'\]"),
    "renamed column": (
        refit(lambda x: x.rename(columns={"sex": "Sex"})),
        r"missing \['sex'\] and unknown \['Sex'\]",
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
        lambda: TabularPreprocessor().fit(np.eye(2) * 1e-200).transform(np.eye(2) * 1e200),
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
