"""Tables as they come, and bad input: every message says what was got, what is expected and how to fix it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import nn

from lifemix import make_target
from lifemix.errors import (
    CovariateError,
    DivergedError,
    InputError,
    LifemixWarning,
    SettingError,
    TargetError,
)
from lifemix.target import as_target

TIMES = [0.5, 2.0, 8.0]


def is_survival(values):
    return np.isfinite(values).all() and (values >= 0).all() and (values <= 1).all()


# Tables.


def test_table_with_categories_and_missing_values_just_works(quick, mixed_table):
    model = quick(max_epochs=20).fit(*mixed_table)
    assert is_survival(model.predict_survival_function(mixed_table.X, TIMES))
    assert model.score(*mixed_table) > 0.7
    names = model.preprocessor_.get_feature_names_out()
    assert {"age", "sex=F", "stage=II", "treated", "missing_marker"} <= set(names)


def test_rows_of_the_table_are_independent_at_prediction(quick, mixed_table):
    model = quick().fit(*mixed_table)
    some = mixed_table.X.iloc[[7, 3, 100]]
    whole = model.predict_survival_function(mixed_table.X, TIMES)
    np.testing.assert_allclose(
        model.predict_survival_function(some, TIMES), whole[[7, 3, 100]], rtol=1e-6
    )


def test_index_of_the_table_means_nothing(quick, mixed_table):
    X = mixed_table.X.set_index(np.arange(len(mixed_table.X))[::-1] * 3)
    np.testing.assert_array_equal(
        quick().fit(X, mixed_table.y).predict(X), quick().fit(*mixed_table).predict(mixed_table.X)
    )


@pytest.mark.parametrize(
    "form",
    [
        lambda y: y,
        lambda y: (y["time"], y["event"]),
        lambda y: pd.DataFrame(
            {"duration": y["time"], "event": y["event"]}, index=np.arange(len(y)) + 5
        ),
        lambda y: np.rec.fromarrays([y["event"] > 0, y["time"]], names="cens,t"),
        as_target,
    ],
    ids=["make_target", "pair", "frame", "scikit-survival", "Target"],
)
def test_every_form_of_the_target_gives_the_same_model(quick, single, form):
    expected = quick().fit(*single)
    model = quick().fit(single.X, form(single.y), validation_data=None)
    np.testing.assert_array_equal(model.predict(single.X), expected.predict(single.X))
    assert model.score(single.X, form(single.y)) == expected.score(*single)
    assert model.log_likelihood(single.X, form(single.y)) == expected.log_likelihood(*single)


def test_transformer_of_the_users_is_cloned_and_fitted(quick, mixed_table):
    own = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "dose", "marker"]),
        (OneHotEncoder(), ["sex", "stage"]),
        sparse_threshold=1.0,
    )
    model = quick(preprocessor=own).fit(*mixed_table)
    assert is_survival(model.predict_survival_function(mixed_table.X, TIMES))
    with pytest.raises(NotFittedError):
        own.transform(mixed_table.X)


def test_scale_and_shift_of_the_covariates_do_not_matter_with_auto(quick, single):
    moved = single.X * 2.0**10 + 2.0**12
    model, other = quick().fit(*single), quick().fit(moved, single.y)
    np.testing.assert_allclose(
        other.predict_survival_function(moved, TIMES),
        model.predict_survival_function(single.X, TIMES),
        atol=1e-4,
    )


def test_weight_zero_is_a_row_left_out(quick, mixed_table):
    rows = np.arange(len(mixed_table.y)) % 3 > 0
    X, y = mixed_table
    kept = quick().fit(X[rows], y[rows], sample_weight=np.full(rows.sum(), 2.0))
    weighted = quick().fit(X, y, sample_weight=2.0 * rows)
    np.testing.assert_array_equal(weighted.predict(X), kept.predict(X))
    assert weighted.score(X, y) == kept.score(X, y)
    assert weighted.n_features_in_ == kept.n_features_in_


def test_a_row_censored_at_the_origin_says_nothing(quick, single):
    X = np.vstack([single.X, single.X[:5]])
    y = make_target(
        np.append(single.y["time"], np.zeros(5)), np.append(single.y["event"], np.zeros(5))
    )
    model, other = quick(preprocessor=None).fit(X, y), quick(preprocessor=None).fit(*single)
    np.testing.assert_array_equal(model.predict(single.X), other.predict(single.X))


def test_no_column_at_all_without_preprocessor(quick, single):
    X = np.empty((len(single.y), 0))
    model = quick(preprocessor=None).fit(X, single.y)
    survival = model.predict_survival_function(X[:4], TIMES)
    assert is_survival(survival)
    assert np.ptp(survival, axis=0).max() == 0


ODD_TARGETS = {
    "tiny unit": lambda y: frame(y, time=y["time"] * 1e-150),
    "huge unit": lambda y: frame(y, time=y["time"] * 1e150),
    "equal times": lambda y: frame(y, time=1.0, event=1),
    "one late": lambda y: frame(y, time=np.r_[1e9, y["time"][1:]]),
    "one early": lambda y: frame(y, time=np.r_[1e-9, y["time"][1:]]),
    "many at the origin": lambda y: frame(y, time=np.where(np.arange(240) % 3, y["time"], 0.0)),
    "whole numbers": lambda y: frame(y, time=np.round(y["time"])),
    "all left-censored": lambda y: frame(y, time=0.0, event=1, upper=y["time"]),
    "grouped": lambda y: frame(y, time=np.floor(y["time"]), event=1, upper=np.floor(y["time"]) + 1),
    "late entry": lambda y: frame(y, entry=y["time"] * 0.99),
    "all events": lambda y: frame(y, event=1),
    "many kinds": lambda y: frame(y, event=np.arange(240) % 7),
}


@pytest.mark.parametrize("change", ODD_TARGETS.values(), ids=ODD_TARGETS.keys())
def test_odd_targets_give_finite_models(quick, single, change):
    y = change(single.y)
    model = quick(max_epochs=10).fit(single.X, y)
    times = np.quantile(np.fmax(y["time"], y.get("upper", 0.0)), [0.0, 0.25, 0.75, 1.0])
    assert is_survival(model.predict_survival_function(single.X[:20], times))
    assert np.isfinite(model.predict(single.X[:20])).all()
    assert np.isfinite(model.log_likelihood(single.X, y))


# Bad targets. The parser's own tests are in tests/test_target.py; here is what reaches a user of the model.


def frame(y, **columns):
    return pd.DataFrame({"time": y["time"], "event": y["event"]}).assign(**columns)


BAD_TARGETS = {
    "none": (lambda y: None, "requires y to be passed, but the target y is None. Use make_target"),
    "plain numbers": (
        lambda y: y["time"],
        "y must hold times and events; got ndarray.*Give one of",
    ),
    "negative time": (
        lambda y: frame(y, time=-y["time"]),
        r"time must be >= 0; got -.* at row 0 \(240 such rows\)",
    ),
    "nan time": (lambda y: frame(y, time=np.nan), "time must be finite; got nan.*Drop or repair"),
    "infinite time": (lambda y: frame(y, time=np.inf), "time must be finite; got inf"),
    "text time": (lambda y: frame(y, time="soon"), "time must be numbers; got "),
    "text event": (
        lambda y: frame(y, event="dead"),
        "event must be numbers.*map labels to codes",
    ),
    "half event": (
        lambda y: frame(y, event=0.5),
        r"event must be whole numbers.*got 0\.5 at row 0",
    ),
    "negative event": (lambda y: frame(y, event=-1), "event must be >= 0"),
    "gap": (
        lambda y: frame(y, event=y["event"] * 3),
        r"1\.\.M without gaps; got codes up to 3 but no row with 1, 2",
    ),
    "all censored": (
        lambda y: frame(y, event=0),
        "all 240 rows are censored; expected some events",
    ),
    "upper below time": (
        lambda y: frame(y, event=1, upper=y["time"] / 2),
        "upper must be >= time.*Swap the two",
    ),
    "entry after time": (
        lambda y: frame(y, entry=y["time"] * 2),
        "entry must be < time.*Drop rows never at risk",
    ),
    "entry at time": (lambda y: frame(y, entry=y["time"]), "entry must be < time"),
    "all events at 0": (
        lambda y: frame(y, time=0.0, event=1),
        "all events happened at time 0.*more finely",
    ),
}


@pytest.mark.parametrize(("change", "message"), BAD_TARGETS.values(), ids=BAD_TARGETS.keys())
def test_bad_targets_are_refused(quick, single, change, message):
    with pytest.raises(TargetError, match=message):
        quick().fit(single.X, change(single.y))


def test_an_event_kind_without_weight_is_refused(quick, competing):
    with pytest.raises(
        InputError, match=r"positive for some row of every event type; got only zeros for \[2\]"
    ):
        quick().fit(*competing, sample_weight=np.where(competing.y["event"] == 2, 0.0, 1.0))


def test_rows_must_match(quick, single):
    with pytest.raises(
        InputError, match="must have the same rows; got 239 in X and 240 in y. Select"
    ):
        quick().fit(single.X[1:], single.y)
    model = quick().fit(*single)
    for method in (model.score, model.log_likelihood):
        with pytest.raises(InputError, match="must have the same rows; got 240 in X and 10 in y"):
            method(single.X, single.y[:10])


def test_one_row_is_refused(quick, single):
    y = make_target([1.0], [1])
    with pytest.raises(InputError, match="at least 2 rows.*got n_samples = 1"):
        quick().fit(single.X[:1], y)
    with pytest.raises(InputError, match="at least 2 rows"):
        quick().fit(
            single.X, single.y, sample_weight=np.arange(240) == np.flatnonzero(single.y["event"])[0]
        )


def test_few_rows_warn_that_nothing_is_held_out(quick):
    with pytest.warns(
        LifemixWarning, match=r"too few events to hold rows out: 3 rows.*validation_fraction=0"
    ) as caught:
        model = quick().fit(np.eye(3), make_target([1.0, 2.0, 3.0], [1, 1, 0]))
    assert caught[0].filename == __file__
    assert is_survival(model.predict_survival_function(np.eye(3), TIMES))
    assert len(model.history_) == 4


def test_events_that_the_model_does_not_know_are_refused(quick, single, competing):
    model = quick().fit(*single)
    with pytest.raises(
        TargetError,
        match=r"y has event 2; the training rows have 1\.\.1 only.*code the event as cens",
    ):
        model.log_likelihood(*competing)
    with pytest.raises(
        InputError,
        match=r"event must be a whole number in 1\.\.1, the event types seen in fit; got 2",
    ):
        model.predict_cumulative_incidence(single.X, TIMES, event=2)
    with pytest.raises(InputError, match=r"event must be a whole number in 1\.\.2.*got 3"):
        quick().fit(*competing).predict_cumulative_incidence(competing.X, TIMES, event=3)


# Weights and validation rows.

BAD_WEIGHTS = {
    "wrong length": (np.ones(3), r"one value per row, shape \(240,\); got shape \(3,\)"),
    "matrix": (np.ones((240, 1)), r"got shape \(240, 1\)"),
    "negative": (np.r_[np.ones(239), -1], r"finite and >= 0; got -1\.0 at row 239 \(1 such rows\)"),
    "nan": (np.r_[np.nan, np.ones(239)], "finite and >= 0; got nan at row 0"),
    "infinite": (np.r_[1, np.inf, np.ones(238)], "finite and >= 0; got inf at row 1"),
    "text": (["heavy"] * 240, "sample_weight must be numbers"),
    "all zero": (np.zeros(240), "positive for some row of every event type"),
}


@pytest.mark.parametrize(("weight", "message"), BAD_WEIGHTS.values(), ids=BAD_WEIGHTS.keys())
def test_bad_weights_are_refused(quick, single, weight, message):
    with pytest.raises(InputError, match=message):
        quick().fit(*single, sample_weight=weight)


def test_bad_weights_of_the_likelihood_are_refused(quick, single):
    model = quick().fit(*single)
    with pytest.raises(InputError, match="finite and >= 0; got -1"):
        model.log_likelihood(*single, sample_weight=-np.ones(240))


BAD_VALIDATION = {
    "no pair": (
        lambda X, y: X,
        InputError,
        r"validation_data must be a pair \(X, y\); got DataFrame",
    ),
    "three": (lambda X, y: (X, y, y), InputError, "must be a pair"),
    "lengths": (
        lambda X, y: (X[:5], y),
        InputError,
        "validation_data: X and y must have the same rows; got 5 in X",
    ),
    "column missing": (lambda X, y: (X[["age"]], y), CovariateError, r"missing \['dose'"),
    "unknown event": (
        lambda X, y: (X, frame(y, event=2)),
        TargetError,
        "validation_data has event 2; the training rows",
    ),
    "no rows": (lambda X, y: (X[:0], y[:0]), TargetError, "no rows"),
    "nothing to learn": (
        lambda X, y: (X, frame(y, time=0.0, event=0)),
        TargetError,
        "validation_data must not be censored at time 0 in all rows",
    ),
}


@pytest.mark.parametrize(
    ("change", "error", "message"), BAD_VALIDATION.values(), ids=BAD_VALIDATION.keys()
)
def test_bad_validation_data_are_refused(quick, mixed_table, change, error, message):
    with pytest.raises(error, match=message):
        quick().fit(*mixed_table, validation_data=change(*mixed_table))


# Covariates.


def test_missing_values_need_a_preprocessor(quick, single):
    X = single.X.copy()
    X[4, 1] = np.nan
    with pytest.raises(
        CovariateError, match=r"got nan in row 4, column 1 \(1 such\).*Use preprocessor='auto'"
    ):
        quick(preprocessor=None).fit(X, single.y)
    model = quick(preprocessor=None).fit(*single)
    with pytest.raises(CovariateError, match="got nan in row 4, column 1"):
        model.predict(X)


def test_labels_need_a_preprocessor(quick, mixed_table):
    with pytest.raises(
        CovariateError, match="X must hold numbers.*Use preprocessor='auto' for categories"
    ):
        quick(preprocessor=None).fit(*mixed_table)


def test_infinite_values_are_refused(quick, single):
    X = single.X.copy()
    X[4, 1] = np.inf
    for preprocessor in ("auto", None):
        with pytest.raises(CovariateError, match="finite; got inf"):
            quick(preprocessor=preprocessor).fit(X, single.y)


def test_constant_columns_have_no_effect(quick, single):
    X = np.column_stack([single.X, np.full(240, 7.0)])
    np.testing.assert_array_equal(
        quick().fit(X, single.y).predict(X), quick().fit(*single).predict(single.X)
    )


def test_only_constant_columns_warn_and_give_one_curve(quick, single):
    X = np.ones((240, 2))
    with pytest.warns(LifemixWarning, match="no column varies"):
        model = quick().fit(X, single.y)
    survival = model.predict_survival_function(X, TIMES)
    assert is_survival(survival)
    assert np.ptp(survival, axis=0).max() < 1e-7


def test_columns_missing_added_or_reordered_at_prediction(quick, mixed_table):
    X = mixed_table.X
    model = quick().fit(*mixed_table)
    expected = model.predict(X)
    with pytest.raises(CovariateError, match=r"missing \['age'\], got \[.*\]. Add what is missing"):
        model.predict(X.drop(columns="age"))
    with pytest.raises(CovariateError, match=r"missing \['age'\], got \[.*'AGE'"):
        model.predict(X.rename(columns={"age": "AGE"}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.predict(X.assign(weight="?")), expected)
        np.testing.assert_array_equal(model.predict(X[X.columns[::-1]]), expected)


def test_columns_of_arrays_at_prediction(quick, single):
    model = quick(preprocessor=None).fit(*single)
    with pytest.raises(CovariateError, match="X has 2 features, but .* is expecting 3 features"):
        model.predict(single.X[:, :2])
    with pytest.warns(LifemixWarning, match="had no names in training and have names now"):
        model.predict(pd.DataFrame(single.X, columns=list("abc")))


def test_unseen_categories_warn(quick, mixed_table):
    model = quick().fit(*mixed_table)
    X = mixed_table.X.assign(sex="X")
    with pytest.warns(
        LifemixWarning, match=r"'sex' has levels that training did not have: 'X' \(240 rows\)"
    ):
        assert is_survival(model.predict_survival_function(X, TIMES))


def test_too_large_values_are_refused(quick, single):
    with pytest.raises(
        CovariateError, match="too large for single precision; got 1e\\+35, expected.*Scale it"
    ):
        quick(preprocessor=None).fit(np.full((240, 1), 1e35), single.y)
    model = quick(preprocessor=None).fit(*single)
    with pytest.raises(CovariateError, match="too large"):
        model.predict(np.full((1, 3), 1e35))


@pytest.mark.parametrize("primitive", ["weibull", "lognormal", "loglogistic"])
@pytest.mark.parametrize(
    "settings", [{"hidden": ()}, {"hidden": (4,), "activation": "relu"}], ids=str
)
def test_far_rows_give_probabilities_and_absurd_ones_are_refused(
    quick, competing, settings, primitive
):
    model = quick(
        preprocessor=None, shift_activation="identity", primitive=primitive, **settings
    ).fit(*competing)
    directions = np.vstack([np.eye(3), -np.eye(3)])
    times = [0.0, 1e-9, 1.0, 1e9]
    for size in (1e2, 6e2):
        survival = model.predict_survival_function(size * directions, times)
        assert is_survival(survival)
        incidences = [
            model.predict_cumulative_incidence(size * directions, times, event) for event in (1, 2)
        ]
        np.testing.assert_allclose(survival + sum(incidences), 1, atol=1e-6)
    for size in (1e8, 1e29):
        with pytest.raises(
            CovariateError,
            match=r"near the training rows; got \d rows, the first is row \d.*Check the",
        ):
            model.predict_survival_function(size * directions, times)


def test_far_rows_do_not_matter_with_the_paper_s_encoder(quick, competing):
    model = quick(preprocessor=None).fit(*competing)
    assert is_survival(model.predict_survival_function(np.eye(3) * 1e20, [0.0, 1e-9, 1.0, 1e9]))


@pytest.mark.parametrize("scale", [1e3, 1e6])
def test_unscaled_tables_train(quick, single, scale):
    model = quick(preprocessor=None, max_epochs=10).fit(single.X * scale, single.y)
    assert is_survival(model.predict_survival_function(single.X * scale, TIMES))


def test_a_fit_that_diverged_says_so(quick, single):
    model = quick(
        preprocessor=None,
        hidden=(),
        shift_activation="identity",
        learning_rate=10,
        validation_fraction=0,
    )
    with pytest.raises(
        DivergedError,
        match=r"training diverged: .* 1 of 1 models .*Lower learning_rate, or scale X",
    ):
        model.fit(single.X * 1e25, single.y)
    assert not hasattr(model, "n_events_")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.empty((0, 3)), "at least one row"),
        (np.empty((240, 0)), "0 feature"),
        (np.zeros(240), "table of two dimensions.*Reshape your data"),
        (np.zeros((240, 3, 2)), "table of two dimensions"),
    ],
    ids=["no rows", "no columns", "vector", "cube"],
)
def test_misshapen_tables_are_refused(quick, single, X, message):
    model = quick().fit(*single)
    if X.shape != (240, 0):
        with pytest.raises(CovariateError, match=message):
            model.predict(X)
    with pytest.raises(
        InputError, match=message if len(X) else "X must have at least one row; got 0"
    ):
        quick().fit(X, single.y)


# Times of prediction.

METHODS = {
    "survival": lambda model, X, times: model.predict_survival_function(X, times),
    "incidence": lambda model, X, times: model.predict_cumulative_incidence(X, times, 1),
    "survival with its spread": lambda model, X, times: model.predict_survival_function(
        X, times, return_std=True
    )[0],
}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
@pytest.mark.parametrize("data", ["single", "competing"])
def test_times_of_prediction(quick, request, data, method):
    X, y = request.getfixturevalue(data)
    model, X = quick().fit(X, y), X[:5]
    expected = method(model, X, TIMES)
    assert expected.shape == (5, 3)
    assert method(model, X, 2.0).shape == (5, 1)
    for bad, got in ((-1.0, r"-1\.0"), ([1.0, -2.0], r"-2\.0"), (np.nan, "nan"), (np.inf, "inf")):
        with pytest.raises(InputError, match=f"times must be finite and >= 0; got {got}"):
            method(model, X, bad)
    for bad in ([], [[1.0, 2.0]], ["soon"]):
        with pytest.raises(InputError, match="times must be"):
            method(model, X, bad)
    with pytest.warns(
        LifemixWarning, match="times are not sorted; the results come in the order given"
    ) as caught:
        unsorted = method(model, X, TIMES[::-1])
    assert [warning.filename for warning in caught] == [__file__]
    np.testing.assert_allclose(unsorted, expected[:, ::-1], rtol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method(model, X, [1.0, 1.0, 2.0])


# Settings.

BAD_SETTINGS = {
    "primitive": (
        "gauss",
        r"unknown primitive; got 'gauss', expected one of \[.*'weibull'\]",
    ),
    "objective": ("map", r"unknown objective; got 'map', expected one of \['exact', 'elbo'\]"),
    "optimizer": ("lbfgs", "optimizer must be one of 'adam', 'rmsprop', 'sgd'; got 'lbfgs'"),
    "activation": ("sigmoid", "unknown activation; got 'sigmoid', expected one of"),
    "shift_activation": (3, "unknown activation; got 3"),
    "k": (0, "k must be a whole number from 1 to 1000; got 0"),
    "n_members": (1.5, "n_members must be a whole number of at least 1 or None; got 1.5"),
    "batch_size": (0, "batch_size must be a whole number"),
    "max_epochs": (-1, "max_epochs must be a whole number of at least 0; got -1"),
    "patience": (True, "patience must be a whole number"),
    "discount": (1.1, "discount must be a number from 0 to 1; got 1.1"),
    "dropout": (1.0, "dropout must be a number from 0 to 0.95 or None; got 1.0"),
    "weight_decay": (-1, "weight_decay must be a number of at least 0; got -1"),
    "prior_strength": (np.inf, "prior_strength must be a number .*; got inf"),
    "head_prior": (np.nan, "head_prior must be a number .*; got nan"),
    "learning_rate": (0, "learning_rate must be a number"),
    "validation_fraction": (1.0, "validation_fraction must be a number from 0 to 0.9"),
    "hidden": (
        100,
        r"hidden must be a sequence of widths such as \(100,\) or \(64, 32\) or None; got 100",
    ),
    "bias": ("no", "bias must be True or False; got 'no'"),
    "encoder": ("mlp", "encoder must be an nn.Module, one of lifemix.encoders or None; got str"),
    "preprocessor": (
        "standard",
        "preprocessor must be 'auto', None or a scikit-learn transformer; got 'standard'",
    ),
    "device": ("abacus", "device 'abacus' cannot be used.*Try 'auto' or 'cpu'"),
    "random_state": (-1, "random_state must be a whole number >= 0"),
    "checkpoint": (3, "checkpoint must be a folder or None; got 3"),
}


@pytest.mark.parametrize("name", BAD_SETTINGS)
def test_bad_settings_are_refused_before_any_work(quick, single, name):
    value, message = BAD_SETTINGS[name]
    model = quick(**{name: value})
    with pytest.raises(SettingError, match=message):
        model.fit(*single)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]


@pytest.mark.parametrize("hidden", [(8, 0), ("8",), "88", (8.5,)])
def test_bad_widths_are_refused(quick, single, hidden):
    with pytest.raises(SettingError, match="hidden"):
        quick(hidden=hidden).fit(*single)


BAD_ENCODERS = {
    "inputs": (
        nn.Linear(7, 4),
        r"inputs of shape \[rows, 3\].*mat1 and mat2.*Change its first layer",
    ),
    "flat": (
        nn.Sequential(nn.Linear(3, 1), nn.Flatten(0)),
        r"one row of features per row, shape \[2, width\]; got \(2,\)",
    ),
    "no tensor": (nn.LSTM(3, 4), "one row of features per row.*got tuple"),
    "mixes rows": (nn.Flatten(0, 1), "one row of features per row"),
}


@pytest.mark.parametrize(("encoder", "message"), BAD_ENCODERS.values(), ids=BAD_ENCODERS.keys())
def test_bad_encoders_are_refused(quick, single, encoder, message):
    with pytest.raises(SettingError, match=message):
        quick(encoder=encoder).fit(*single)


def test_a_failed_refit_leaves_the_model_as_it_was(quick, single, mixed_table):
    model = quick().fit(*single)
    expected = model.predict(single.X)
    with pytest.raises(InputError):
        model.fit(
            mixed_table.X, mixed_table.y, validation_data=(mixed_table.X[["age"]], mixed_table.y)
        )
    np.testing.assert_array_equal(model.predict(single.X), expected)
    assert model.n_features_in_ == 3


@pytest.mark.parametrize(
    "method",
    [
        "predict",
        "predict_distribution",
        "transform",
        "get_feature_names_out",
        "score",
        "log_likelihood",
    ],
)
def test_unfitted_models_say_so(quick, single, method):
    arguments = {"score": single, "log_likelihood": single, "get_feature_names_out": ()}.get(
        method, (single.X,)
    )
    with pytest.raises(NotFittedError):
        getattr(quick(), method)(*arguments)
