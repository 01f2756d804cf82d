"""Tables: matching, preprocessing of all columns, the option ``preprocessor``, copies of the outcome."""

import json
import pickle
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.number_tables import number_tables
from lifemix import DeepSurvivalMachines, LifeMix, make_target
from lifemix.baselines import CoxPH, GradientBoosting, KaplanMeier
from lifemix.datasets import load_support
from lifemix.encoders import Recurrent
from lifemix.errors import CovariateError, LifemixWarning, SettingError
from lifemix.persistence import _Decoder, _Encoder
from lifemix.preprocessing import (
    SUPPORT_NORMAL_VALUES,
    TableData,
    TabularPreprocessor,
    apply_preprocessor,
    learn_preprocessor,
    shape_of,
    tabular,
)
from lifemix.preprocessing.columns import read_column

ENCODINGS = st.sampled_from(["scaled", "piecewise"])


def table():
    columns = {
        "age": [50.0, 60.0, np.nan, 70.0],
        "sex": ["m", "f", "f", None],
        "stage": pd.Categorical([2, 10, 2, 1], categories=[10, 2, 1, 99]),
        "smoker": [True, False, True, True],
        "visits": pd.array([1, None, 3, 4], dtype="Int64"),
    }
    return pd.DataFrame(columns, index=[10, 11, 12, 13])


def learn(X, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)
        return TabularPreprocessor(*arguments, **options).fit(X)


def fit_transform(X, **options):
    return learn(X, **options).transform(X)


@parametrize_with_checks([TabularPreprocessor(), TabularPreprocessor(numbers="piecewise")])
@pytest.mark.filterwarnings("ignore")
def test_follows_the_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def test_every_kind_of_column_by_hand():
    out = TabularPreprocessor().set_output(transform="pandas").fit_transform(table())
    names = "age missing_age sex=f sex=m missing_sex stage=1 stage=2 stage=10 smoker visits"
    assert list(out) == [*names.split(), "missing_visits"]
    assert list(out.index) == [10, 11, 12, 13]
    labels = ["missing_age", "sex=f", "sex=m", "missing_sex", "stage=1", "stage=2", "stage=10"]
    expected = ["0010010", "0100001", "1100010", "0101100"]  # the missing sex gets the mode
    assert ["".join(f"{value:.0f}" for value in row) for row in out[labels].to_numpy()] == expected
    numbers = {"age": [50, 60, 60, 70], "smoker": [1, 0, 1, 1], "visits": [1, 8 / 3, 3, 4]}
    for name, filled in numbers.items():
        expected = (filled - np.mean(filled)) / np.std(filled)
        assert_allclose(out[name], expected, rtol=1e-14, atol=1e-16)


@given(number_tables(st.integers(-1000, 1000).map(float) | st.just(np.nan)))
def test_numbers_agree_with_the_pipeline_of_scikit_learn(X):
    varies = [len(np.unique(column[~np.isnan(column)])) > 1 for column in X.T]
    expected = np.empty((len(X), 0))
    if any(varies):
        expected = make_pipeline(SimpleImputer(), StandardScaler()).fit_transform(X[:, varies])
    assert_allclose(fit_transform(X, missing_indicators=False), expected, atol=1e-9)


@given(number_tables(), st.integers(-200, 200), ENCODINGS)
def test_a_power_of_two_as_unit_changes_nothing_at_all(X, power, encoding):
    X = np.where(np.abs(X) < 1e-60, 0.0, X)  # nothing gets lost below the smallest number
    expected = fit_transform(X, numbers=encoding)
    assert_array_equal(fit_transform(np.ldexp(X, power), numbers=encoding), expected)


@given(number_tables(st.floats(-1e150, 1e150) | st.just(np.nan)))  # beyond, squares overflow
def test_the_result_is_always_finite(X):
    assert np.isfinite(fit_transform(X, numbers="piecewise")).all()
    largest = np.abs(fit_transform(X)).max(initial=0)
    assert largest <= np.sqrt(len(X)) + 1e-6  # of standardised values


@given(number_tables(n_columns=(2, 2)), st.lists(st.sampled_from(["a", 1, None, True]), min_size=30),
       st.booleans(), ENCODINGS)  # fmt: skip
def test_a_model_file_holds_all_that_was_learned(X, labels, scale, numbers):
    frame = pd.DataFrame(X, columns=["u", "v"]).assign(w=pd.Series(labels[: len(X)], dtype=object))
    fitted = learn(frame, {"u": 0.1}, scale=scale, numbers=numbers)
    encoder = _Encoder()
    content = json.loads(json.dumps(encoder.encode(fitted, ""), allow_nan=False))
    decoded = _Decoder(encoder.arrays, {}).decode(content)
    for copy in (decoded, pickle.loads(pickle.dumps(fitted))):
        assert_array_equal(copy.transform(frame), fitted.transform(frame))
        assert copy.get_params() == fitted.get_params() == clone(fitted).get_params()
        assert list(copy.get_feature_names_out()) == list(fitted.get_feature_names_out())
        assert copy.columns_ == fitted.columns_


def test_statistics_come_from_training_rows_only():
    fitted = TabularPreprocessor().fit(table())
    out = fitted.transform(table()[:1].assign(age=1000.0))
    assert out[0, 0] == (1000 - 60) / np.std([50, 60, 60, 70])


def test_fixed_values_fill_and_count_in_the_statistics():
    x = pd.DataFrame({"alb": [2.5, np.nan, 4.5, np.nan], "age": [1.0, 2, 3, 4]})
    out = TabularPreprocessor({"alb": 10.0}).fit_transform(x)
    filled = np.array([2.5, 10, 4.5, 10])
    assert_allclose(out[:, 0], (filled - filled.mean()) / filled.std(), rtol=1e-15)


def test_support_as_the_paper_prepares_it():
    X = load_support().X
    train = np.arange(len(X)) % 5 != 0
    paper = TabularPreprocessor(SUPPORT_NORMAL_VALUES, missing_indicators=False)
    out = paper.set_output(transform="pandas").fit(X[train]).transform(X[~train])
    assert out.shape == ((~train).sum(), 50)  # 24 numbers and 26 levels
    for name, fill in {"urine": 2502, "bun": 6.51, "ph": X["ph"][train].mean()}.items():
        filled = X[name].fillna(fill)
        expected = (filled[~train] - filled[train].mean()) / filled[train].std(ddof=0)
        assert_allclose(out[name], expected, rtol=1e-10, atol=1e-12)
    mode = X["income"][train].mode()[0]
    assert (out.loc[X["income"][~train].isna(), f"income={mode}"] == 1).all()
    assert sum(SUPPORT_NORMAL_VALUES.values()) == pytest.approx(
        3.5 + 333.3 + 2.02 + 6.51 + 9 + 2502
    )


def test_a_value_missing_only_later_is_filled_silently():
    complete = table().assign(age=[1.0, 3, 1, 3], sex=["m", "f", "m", "f"], visits=[1, 2, 3, 4])
    fitted = TabularPreprocessor().fit(complete).set_output(transform="pandas")
    out = fitted.transform(table())
    assert not [name for name in out if name.startswith("missing")]
    assert (out.loc[12, "age"], out.loc[13, "sex=f"]) == (0, 1)


def test_constant_columns_become_nothing_but_their_gaps_stay():
    columns = {"c": [0.1, 0.1, np.nan], "label": ["a"] * 3, "noise": [0.3, 0.1 + 0.2, 0.3]}
    x = pd.DataFrame(columns | {"x": [1, 2, 3]})
    fitted = TabularPreprocessor().fit(x)
    assert list(fitted.get_feature_names_out()) == ["missing_c", "x"]
    assert fitted.transform(x.assign(c=7.0, label="b"))[:, 0].tolist() == [0, 0, 0]


def test_columns_that_say_nothing_are_warned_about():
    x = pd.DataFrame({"gone": [np.nan] * 2, "void": [None] * 2, "x": [1, 2]})
    with pytest.warns(LifemixWarning, match=r"missing in \['gone', 'void'\]"):
        fitted = TabularPreprocessor().fit(x)
    assert list(fitted.get_feature_names_out()) == ["x"]
    assert fitted.transform(x.assign(gone=5, void="a")).shape == (2, 1)
    with pytest.warns(LifemixWarning, match=r"no column varies.*'x0', 'x1'"):
        assert TabularPreprocessor().fit_transform(np.ones((3, 2))).shape == (3, 0)


def test_columns_are_taken_by_name():
    fitted = TabularPreprocessor().fit(table())
    reordered = table()[["visits", "stage", "smoker", "age", "sex"]].assign(z="?")
    for X in (reordered, TableData(reordered)):
        assert_array_equal(fitted.transform(X), fitted.transform(table()))
    numbered = pd.DataFrame({0: [1.0, 2.0], 1: [3.0, 5.0]})
    fitted = TabularPreprocessor().fit(numbered)
    assert fitted.get_feature_names_out().tolist() == ["0", "1"]
    assert_array_equal(fitted.transform(numbered[[1, 0]]), fitted.transform(numbered))


def test_names_in_one_table_only_are_warned_about():
    frame = pd.DataFrame({"a": [1.0, 2], "b": [3.0, 5]})
    for train, new, had in (
        (frame, frame.to_numpy(), "names"),
        (frame.to_numpy(), frame, "no names"),
    ):
        fitted = TabularPreprocessor().fit(train)
        with pytest.warns(LifemixWarning, match=f"had {had} in training and have"):
            assert_array_equal(fitted.transform(new), fitted.transform(train))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x.drop(columns=["age", "sex"]), r"missing \['age', 'sex'\]"),
        (lambda x: pd.concat([x, x[["age"]]], axis=1), r"got \['age'\] more than once"),
        (lambda x: x.rename(columns={"sex": "Sex"}), r"missing \['sex'\], got \[.*'Sex'"),
        (lambda x: x.assign(age=["a", "b", "c", None]), "'age' held numbers.*such as 'a'"),
        (lambda x: x.assign(age=[1, "2", 3, 4]), "'age' held numbers.*such as '2'"),
        (lambda x: x.assign(age=[1, 2, np.inf, 3]), "'age' must be finite; got infinity.*row 2"),
        (lambda x: x.to_numpy()[:, :3], "X has 3 features, but TabularPreprocessor is expecting 5"),
        (lambda x: x.assign(age=1e308), "'age' has values too far from those of training"),
    ],
)
def test_tables_that_do_not_match_training_are_refused(change, message):
    X = table().assign(age=[1e-100, 0.0, 0.0, 0.0])
    fitted = TabularPreprocessor().fit(X)
    with pytest.raises(CovariateError, match=message):
        fitted.transform(change(X))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ({"a": [1, 2], "b": [0, -np.inf]}, r"'b' must be finite.*-inf\) at row 1 \(1 such rows\)"),
        ({"a": [0.0, 1.0, 1e200]}, r"'a' has numbers up to 1e\+200; their squares over"),
        ({"i": 2 * [f"p{i}" for i in range(1001)]}, "max_levels=1000 levels; got 1001"),
        ({"a": [1, np.nan, 2], "missing_a": [1, 2, 3]}, r"called \['missing_a'\]"),
        (pd.DataFrame(np.eye(2), columns=["a", "a"]), r"\['a'\] more than once"),
        (np.ones(3), r"got shape \(3,\)"),
        (np.ones((3, 0)), "0 feature"),
    ],
)
def test_tables_that_cannot_be_learned_from_are_refused(X, message):
    with pytest.raises(CovariateError, match=message):
        TabularPreprocessor().fit(pd.DataFrame(X) if isinstance(X, dict) else X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numbers": "ranks"}, "numbers must be one of .*'piecewise'.*got 'ranks'"),
        ({"bins": 1}, "at least 2; got 1"),
        ({"fill_values": {"alb": 3.5}}, r"does not have: \['alb'\]"),
        ({"fill_values": {"age": np.nan}}, "finite numbers; got {'age': nan}"),
        ({"fill_values": {"sex": 1.0}}, "are for columns of numbers; got 1.0 for 'sex'"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(options, message):
    with pytest.raises(SettingError, match=message):
        TabularPreprocessor(**options).fit(table())


ROW_LISTS = st.lists(st.integers(0, 3), min_size=1, max_size=8).map(np.array)
ROWS = ROW_LISTS | st.builds(slice, st.integers(0, 2), st.just(4))


@given(ROWS)
def test_rows_of_a_table_hold_what_the_rows_of_its_frame_hold(rows):
    selected, frame = TableData(table()).iloc[rows], table().iloc[rows]
    assert selected.shape == frame.shape == (len(selected), 5)
    pd.testing.assert_frame_equal(selected.frame, frame)
    for column, expected in zip(selected.data, TableData(frame).data, strict=True):
        assert column.missing.tolist() == expected.missing.tolist()
        assert column.distinct == expected.distinct
        if column.numbers is not None and expected.numbers is not None:
            assert_array_equal(column.numbers, expected.numbers)
        elif not column.missing.all():
            assert set(column.levels) == set(expected.levels)


def test_each_column_is_read_once(monkeypatch):
    names = Counter()

    def count(name, values):
        names.update([name])
        return read_column(name, values)

    monkeypatch.setattr(tabular, "read_column", count)
    shared = TableData(table())
    for selected in (shared.iloc[[0, 1, 3]], shared[["age", "sex"]], shared.iloc[1:]):
        TabularPreprocessor().fit(selected)
    assert names == Counter(shared.columns)
    with pytest.raises(NotImplementedError, match="by name"):
        shared.take([0], axis=1)


def test_models_are_the_same_as_from_a_frame():
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(120) < 0.2, None, rng.choice(["u", "v", "w"], 120))
    X = pd.DataFrame({"a": rng.normal(size=120), "b": labels, "c": 1})
    y, data = make_target(rng.exponential(size=120), rng.integers(0, 2, 120)), TableData(X)
    for model in (DeepSurvivalMachines(max_epochs=3, hidden=(5,)), CoxPH(), KaplanMeier()):
        expected = clone(model).fit(X[:90], y[:90]).predict_survival_function(X[90:], [0.5, 1.0])
        fitted = model.fit(data.iloc[:90], y[:90])
        for rows in (data.iloc[90:], X[90:]):
            curves = fitted.predict_survival_function(rows, [0.5, 1.0])
            assert_array_equal(curves, expected)
        assert list(fitted.feature_names_in_) == ["a", "b", "c"]


@pytest.mark.parametrize("preprocessor", [None, StandardScaler()])
def test_transformers_of_others_get_a_frame(preprocessor):
    X = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 0.0]})
    fitted = learn_preprocessor(preprocessor, TableData(X))
    expected = X if preprocessor is None else StandardScaler().fit_transform(X)
    for rows in (X, TableData(X)):
        assert_array_equal(apply_preprocessor(fitted, rows), expected)


def draw_column(kind, seed, n_rows):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(scale=10.0 ** rng.integers(-5, 6), size=n_rows)
    return {
        "float": numbers,
        "float32": numbers.astype(np.float32),
        "missing": np.where(rng.random(n_rows) < 0.4, np.nan, numbers),
        "empty": np.full(n_rows, np.nan),
        "int": rng.integers(-3, 4, n_rows),
        "bool": rng.random(n_rows) < 0.5,
        "label": pd.Categorical(rng.choice(["a", "b", "c"], n_rows)),
        "Int64": pd.array(rng.integers(0, 9, n_rows), dtype="Int64"),
    }[kind]


KINDS = st.sampled_from("float float32 missing empty int bool label Int64".split())


@pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning")
@given(
    st.lists(KINDS, min_size=1, max_size=9), st.integers(0, 2**32), st.integers(1, 60), ENCODINGS
)
def test_columns_and_rows_become_the_same_numbers_alone_and_together(kinds, seed, n_rows, numbers):
    X = pd.DataFrame({f"c{i}": draw_column(kind, seed + i, n_rows) for i, kind in enumerate(kinds)})
    fitted = TabularPreprocessor(numbers=numbers).fit(X)
    matrix = fitted.transform(X)
    alone = [TabularPreprocessor(numbers=numbers).fit(X[[name]]) for name in X]
    assert fitted.columns_ == tuple(column.columns_[0] for column in alone)
    by_column = [column.transform(X[[name]]) for column, name in zip(alone, X, strict=True)]
    by_row = [fitted.transform(X[i : i + 7]) for i in range(0, n_rows, 7)]
    assert np.array_equal(matrix, np.concatenate(by_column, axis=1))
    assert np.array_equal(matrix, np.concatenate(by_row))
    assert np.array_equal(matrix, apply_preprocessor(fitted, X, columns_required=False))


def test_arrays_are_not_written_to_and_their_order_in_memory_does_not_matter():
    X = np.random.default_rng(2).normal(size=(50, 7))
    X[3, 2] = np.nan
    original = X.copy()
    for array in (X, np.asfortranarray(X)):
        assert np.array_equal(fit_transform(array), fit_transform(original.copy()))
        assert np.array_equal(array, original, equal_nan=True)


def test_an_infinite_number_among_many_columns_is_named():
    X = np.random.default_rng(3).normal(size=(20_000, 12))
    fitted = TabularPreprocessor().fit(X)
    X[0, 9], X[17_000, 9] = np.nan, -np.inf
    for use in (fitted.transform, TabularPreprocessor().fit):
        with pytest.raises(
            CovariateError, match=r"'x9' must be finite.*\(-inf\) at row 17000 \(1 "
        ):
            use(X)


def outcome(n_rows=60):
    rng = np.random.default_rng(1)
    return rng.exponential(5, n_rows) + 0.1, (rng.random(n_rows) < 0.6).astype(int)


def table_with_age(n_rows=60, **columns):
    return pd.DataFrame({"age": np.random.default_rng(0).normal(60, 10, n_rows), **columns})


@pytest.mark.parametrize(
    "model",
    [
        DeepSurvivalMachines(max_epochs=1),
        CoxPH(),
        GradientBoosting(),
        LifeMix({"Cox": CoxPH(), "curve": KaplanMeier()}, n_folds=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_free_text_and_copies_of_the_outcome_are_refused(model):
    time, event = outcome()
    notes = [f"note {row} on the patient" for row in range(60)]
    for columns, message in (
        ({"note": notes}, r"'note' must hold categories; got [36]0 different texts.*Drop"),
        ({"leak": time}, "column 'leak' of X equals the time of y in all 60 rows"),
        ({"leak": event}, "column 'leak' of X equals the event of y in all 60 rows"),
    ):
        with pytest.raises(CovariateError, match=message):
            model.fit(table_with_age(**columns), make_target(time, event))


@pytest.mark.parametrize("n_rows", [19, 20])
@pytest.mark.parametrize("n_repeated", [1, 3])
def test_free_text_means_20_rows_of_which_95_percent_differ(n_rows, n_repeated):
    notes = [f"note {max(row, n_repeated - 1)}" for row in range(n_rows)]
    X = table_with_age(n_rows, note=notes)
    if (n_rows, n_repeated) == (20, 1):
        with pytest.raises(CovariateError, match="different texts"):
            TabularPreprocessor().fit(X)
    else:
        TabularPreprocessor().fit(X)


def test_copies_of_another_type_are_refused_and_near_copies_are_not():
    time, event = outcome()
    y = make_target(time, event * np.where(np.arange(60) % 2, 2, 1))
    model = DeepSurvivalMachines(max_epochs=1)
    copies = (time.astype(np.float32), event > 0, 1.0 * event)
    for X in (*(table_with_age(leak=copy) for copy in copies), np.c_[time, event]):
        with pytest.raises(CovariateError, match="equals the (time|event > 0) of y"):
            model.fit(X, y)
    almost = np.append(time[:-1], time[-1] + 1)
    X = table_with_age(almost=almost, constant=1.0)
    CoxPH(penalty=1.0).fit(X, make_target(time, np.ones(60, dtype=int)))  # all rows have the event
    CoxPH(penalty=1.0).fit(table_with_age(19, leak=time[:19]), make_target(time[:19], event[:19]))


@pytest.mark.parametrize("model", [DeepSurvivalMachines(), CoxPH()])
def test_images_need_a_module_and_only_sequences_a_recurrent_encoder(model):
    y = make_target(np.arange(1.0, 41.0), np.arange(40) % 2)
    message = r"torch.nn.Module that takes rows of shape \(1, 8, 8\)"
    with pytest.raises(CovariateError, match=message) as images:
        model.fit(np.ones((40, 1, 8, 8)), y)
    assert Recurrent.__name__ not in str(images.value)
    with pytest.raises(CovariateError, match=r"If a row is a sequence .*encoders.Recurrent"):
        model.fit(np.ones((40, 8, 8)), y)


def test_a_table_has_rows():
    with pytest.raises(CovariateError, match="at least one row; got 0"):
        shape_of(np.empty((0, 3)))
