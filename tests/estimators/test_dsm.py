"""``DeepSurvivalMachines``: tables and targets, case weights, ensembles, encoders, representation."""

import copy
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from torch import nn

from lifemix import DeepSurvivalMachines, make_target
from lifemix.errors import CovariateError, DivergedError, InputError, LifemixWarning, SettingError
from lifemix.metrics import mean_concordance
from lifemix.primitives import PRIMITIVES
from lifemix.target import as_target

TIMES = [0.5, 2.0, 8.0]


def survival_of(model, X, times=TIMES):
    """Return survival, which must be probabilities that do not rise."""
    survival = model.predict_survival_function(X, times)
    assert ((survival >= 0) & (survival <= 1)).all()
    assert (np.diff(survival, axis=1) <= 0).all()
    return survival


def encoder():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1))


# Tables and targets.


def test_a_table_with_categories_and_missing_values(quick, mixed_table):
    model = quick(max_epochs=20)
    X, y = mixed_table.X.copy(), mixed_table.y.copy()
    weight = np.ones(len(y))
    model.fit(X, y, weight, validation_data=(X[:50], y[:50]))
    survival = survival_of(model, X)
    assert model.score(X, y) > 0.7
    names = model.preprocessor_.get_feature_names_out()
    assert {"age", "sex=F", "stage=II", "treated", "missing_marker"} <= set(names)
    np.testing.assert_allclose(survival_of(model, X.iloc[[7, 3]]), survival[[7, 3]], rtol=1e-6)
    # The input is not changed.
    pd.testing.assert_frame_equal(X, mixed_table.X)
    np.testing.assert_array_equal(y, mixed_table.y)
    np.testing.assert_array_equal(weight, 1)


@pytest.mark.parametrize(
    "form",
    [
        lambda y: (y["time"], y["event"]),
        lambda y: pd.DataFrame({"duration": y["time"], "event": y["event"]}, index=y["time"]),
        lambda y: np.rec.fromarrays([y["event"] > 0, y["time"]], names="cens,t"),
        as_target,
    ],
    ids=["pair", "frame", "scikit-survival", "Target"],
)
def test_every_form_of_the_target_gives_the_same_model(quick, fitted, single, form):
    X, y = single
    model = quick().fit(X, form(y))
    np.testing.assert_array_equal(model.predict(X), fitted["single"].predict(X))
    assert model.score(X, form(y)) == fitted["single"].score(X, y)
    assert model.log_likelihood(X, form(y)) == fitted["single"].log_likelihood(X, y)


def frame(y, **columns):
    return pd.DataFrame({"time": y["time"], "event": y["event"]}).assign(**columns)


UNUSUAL_TARGETS = {
    "tiny unit": lambda y: frame(y, time=y["time"] * 1e-150),
    "huge unit": lambda y: frame(y, time=y["time"] * 1e150),
    "equal times": lambda y: frame(y, time=1.0, event=1),
    "one late": lambda y: frame(y, time=np.r_[1e9, y["time"][1:]]),
    "one early": lambda y: frame(y, time=np.r_[1e-9, y["time"][1:]]),
    "many at the origin": lambda y: frame(y, time=np.where(np.arange(240) % 3, y["time"], 0.0)),
    "all left-censored": lambda y: frame(y, time=0.0, event=1, upper=y["time"]),
    "grouped": lambda y: frame(y, time=np.floor(y["time"]), event=1, upper=np.floor(y["time"]) + 1),
    "late entry": lambda y: frame(y, entry=y["time"] * 0.99),
    "many kinds": lambda y: frame(y, event=np.arange(240) % 7),
}


@pytest.mark.parametrize("change", UNUSUAL_TARGETS.values(), ids=UNUSUAL_TARGETS)
def test_unusual_targets_give_finite_models(quick, single, change):
    y = change(single.y)
    model = quick().fit(single.X, y)
    times = np.quantile(np.fmax(y["time"], y.get("upper", 0.0)), [0.0, 0.25, 0.75, 1.0])
    survival = model.predict_survival_function(single.X[:20], times)
    assert ((survival >= 0) & (survival <= 1)).all()
    assert np.isfinite(model.predict(single.X[:20])).all()
    assert np.isfinite(model.log_likelihood(single.X, y))


EQUAL_TABLES = {
    "index": lambda X: pd.DataFrame(X, index=np.arange(240)[::-1] * 3),
    "constant column": lambda X: np.column_stack([X, np.full(240, 7.0)]),
    "scale and shift": lambda X: X * [3.0, 0.01, 1e4] + [100.0, -5.0, 1e5],
}


@pytest.mark.parametrize("change", EQUAL_TABLES.values(), ids=EQUAL_TABLES)
def test_tables_with_the_same_information_give_the_same_model(quick, fitted, single, change):
    X = change(single.X)
    survival = survival_of(quick().fit(X, single.y), X)
    np.testing.assert_allclose(survival, survival_of(fitted["single"], single.X), atol=1e-4)


@pytest.mark.filterwarnings("ignore:no column varies")
@pytest.mark.parametrize("n_columns", [0, 2])
def test_without_covariates_all_rows_have_one_curve(quick, single, n_columns):
    X = np.ones((240, n_columns))
    model = quick(preprocessor="auto" if n_columns else None).fit(X, single.y)
    assert np.ptp(survival_of(model, X), axis=0).max() < 1e-7


def test_a_transformer_of_the_user_is_cloned_and_fitted(quick, mixed_table):
    transformer = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "dose", "marker"]),
        (OneHotEncoder(), ["sex", "stage"]),
        sparse_threshold=1.0,
    )
    survival_of(quick(preprocessor=transformer).fit(*mixed_table), mixed_table.X)
    with pytest.raises(NotFittedError):
        transformer.transform(mixed_table.X)


def test_columns_are_matched_by_name(quick, mixed_table):
    X = mixed_table.X
    model = quick().fit(*mixed_table)
    expected = model.predict(X)
    for table in (X.assign(weight="?"), X[X.columns[::-1]]):
        np.testing.assert_array_equal(model.predict(table), expected)
    for table in (X.drop(columns="age"), X.rename(columns={"age": "AGE"})):
        with pytest.raises(CovariateError, match=r"missing \['age'\], got \[.*Add what is missing"):
            model.predict(table)


def test_too_few_rows(quick, single):
    one_row = np.arange(240) == np.flatnonzero(single.y["event"])[0]
    with pytest.raises(InputError, match=r"at least 2 rows.*got n_samples = 1"):
        quick().fit(single.X[one_row], single.y[one_row])
    with pytest.raises(InputError, match="at least 2 rows"):
        quick().fit(*single, sample_weight=one_row)
    with pytest.warns(LifemixWarning, match=r"too few events to hold rows out: 3 rows") as caught:
        model = quick().fit(np.eye(3), make_target([1.0, 2.0, 3.0], [1, 1, 0]))
    assert caught[0].filename == __file__
    assert len(model.history_) == 4


BAD_TABLES = {
    "missing": (lambda X: np.where(X == X[4, 1], np.nan, X), "got nan in row 4, column 1"),
    "infinite": (lambda X: np.where(X == X[4, 1], np.inf, X), "finite; got inf"),
    "large": (lambda X: X * 1e35, "too large for single precision"),
    "labels": (lambda X: np.char.add(X.astype(str), "x"), "X must hold numbers.*Use preprocessor="),
    "columns": (lambda X: X[:, :2], "X has 2 features, but .* is expecting 3 features"),
    "vector": (lambda X: X[:, 0], "table of two dimensions.*Reshape your data"),
    "cube": (lambda X: X[..., None], "table of two dimensions"),
}


@pytest.mark.parametrize(("change", "message"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_tables_are_refused_in_fit_and_in_predict(quick, single, change, message):
    model = quick(preprocessor=None)
    X = change(single.X)
    if not (isinstance(X, np.ndarray) and X.shape == (240, 2)):
        with pytest.raises(CovariateError, match=message):
            model.fit(X, single.y)
    model.fit(*single)
    with pytest.raises((CovariateError, ValueError), match=message):
        model.predict(X)


def test_rows_of_table_and_target_must_match(quick, fitted, single):
    message = "must have the same rows; got 239 in X and 240 in y"
    for method in (quick().fit, fitted["single"].score, fitted["single"].log_likelihood):
        with pytest.raises(InputError, match=message):
            method(single.X[1:], single.y)


def test_new_rows_far_from_the_training_rows(quick, competing):
    linear = {"preprocessor": None, "shift_activation": "identity", "hidden": ()}
    directions = np.vstack([np.eye(3), -np.eye(3)])
    for primitive in ("weibull", "lognormal", "loglogistic"):
        model = quick(primitive=primitive, **linear).fit(*competing)
        times = [0.0, 1e-9, 1.0, 1e9]
        survival = survival_of(model, 600 * directions, times)
        incidences = model.predict_cumulative_incidences(600 * directions, times)
        np.testing.assert_allclose(survival + incidences.sum(0), 1, atol=1e-6)
        with pytest.raises(CovariateError, match=r"near the training rows; got \d rows, the first"):
            survival_of(model, 1e29 * directions)


def test_a_fit_that_diverges_fails_and_a_failed_fit_changes_nothing(quick, single):
    model = quick(preprocessor=None, hidden=(), shift_activation="identity").fit(*single)
    expected = model.predict(single.X)
    model.set_params(learning_rate=10, validation_fraction=0)
    with pytest.raises(DivergedError, match=r"1 of 1 models .*Lower learning_rate, or scale X"):
        model.fit(single.X * 1e25, single.y)
    np.testing.assert_array_equal(model.predict(single.X), expected)


# Case weights.


def test_weight_zero_is_a_removed_row(quick, mixed_table):
    rows = np.arange(240) % 3 > 0
    X, y = mixed_table
    removed = quick().fit(X[rows], y[rows], sample_weight=np.full(rows.sum(), 2.0))
    weighted = quick().fit(X, y, sample_weight=2.0 * rows)
    np.testing.assert_array_equal(weighted.predict(X), removed.predict(X))
    assert weighted.score(X, y) == removed.score(X, y)


@pytest.mark.filterwarnings("ignore:no column varies")
@pytest.mark.parametrize("primitive", list(PRIMITIVES))
def test_weight_two_is_the_row_twice_if_nothing_is_random(quick, competing, primitive):
    y = competing.y
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    X = np.zeros((len(y), 1))
    weighted = quick(k=1, primitive=primitive).fit(X, y, sample_weight=weight)
    repeated = quick(k=1, primitive=primitive).fit(X[rows], y[rows])
    for event in (1, 2):
        nets = [model.predict_net_survival(X[:1], TIMES, event) for model in (weighted, repeated)]
        np.testing.assert_allclose(*nets, atol=2e-6)
    likelihood = weighted.log_likelihood(X, y, sample_weight=weight)
    assert likelihood == pytest.approx(weighted.log_likelihood(X[rows], y[rows]), rel=1e-10)


@pytest.mark.parametrize("size", [1e-50, 1e50])
def test_the_size_of_the_weights_does_not_matter(quick, fitted, single, size):
    model = quick().fit(*single, sample_weight=np.full(240, size))
    np.testing.assert_allclose(
        model.predict(single.X), fitted["single"].predict(single.X), rtol=1e-3
    )


def test_weights_move_the_fit_and_need_every_event_type(quick, single, competing):
    early = np.where(single.y["time"] < np.median(single.y["time"]), 10.0, 1.0)
    plain, moved = (
        quick(max_epochs=10).fit(*single, weight).predict_survival_function(single.X, 2.0).mean()
        for weight in (None, early)
    )
    assert moved < plain - 0.1
    with pytest.raises(InputError, match=r"every event type; got only zeros for \[2\]"):
        quick().fit(*competing, sample_weight=competing.y["event"] != 2)


# Ensembles and randomness.


def test_an_ensemble_is_the_equal_mixture_of_its_members(fitted, competing):
    X, model = competing.X, fitted["competing members"]
    members = [
        network.distribution(model.preprocessor_.transform(X))
        for network in model.network_.members()
    ]
    survival = np.stack([member.survival(TIMES) for member in members])
    mean, std = model.predict_survival_function(X, TIMES, return_std=True)
    np.testing.assert_allclose(mean, survival.mean(0), atol=1e-12)
    np.testing.assert_allclose(std, survival.std(0), atol=1e-12)
    assert (std.max(0) > 1e-3).all()
    for event in (1, 2):
        incidences = [member.cumulative_incidence(TIMES, event) for member in members]
        incidence = model.predict_cumulative_incidence(X, TIMES, event)
        np.testing.assert_allclose(incidence, np.mean(incidences, axis=0), atol=1e-8)
        nets = [member.net(event).survival(TIMES) for member in members]
        net = model.predict_net_survival(X, TIMES, event)
        np.testing.assert_allclose(net, np.mean(nets, axis=0), atol=1e-12)


def test_the_likelihood_of_an_ensemble_is_that_of_its_averaged_distribution(fitted, competing):
    model, X, y = fitted["competing members"], competing.X[:12], competing.y[:12]
    assert set(y["event"]) == {0, 1, 2}
    expected = 0.0
    distribution = model.predict_distribution(X)
    for row, (event, time) in enumerate(y.tolist()):
        if event == 0:
            expected += np.log(distribution[row].survival(time)[0, 0])
        else:  # the density of the event is the derivative of its cumulative incidence
            ends = distribution[row].cumulative_incidence([time * 0.9999, time * 1.0001], event)[0]
            expected += np.log(np.diff(ends)[0] / (0.0002 * time))
    assert model.log_likelihood(X, y) == pytest.approx(expected, rel=1e-4)


def test_truncated_rows_weigh_the_members_by_their_survival_to_the_entry(fitted, single):
    model, entry = fitted["members"], single.y["time"] / 2
    truncated = make_target(single.y["time"], single.y["event"], entry=entry)
    at_entry = model.log_likelihood(single.X, make_target(entry, np.zeros(240)))
    expected = model.log_likelihood(*single) - at_entry
    assert model.log_likelihood(single.X, truncated) == pytest.approx(expected, rel=1e-10)


def test_the_first_member_is_the_single_model_and_the_ensemble_is_better(fitted, single):
    X, y = single
    model = fitted["members"]
    matrix = model.preprocessor_.transform(X)
    members = model.network_.members()
    mean, std = fitted["single"].predict_survival_function(X, TIMES, return_std=True)
    assert (std == 0).all()
    first = members[0].distribution(matrix).survival(TIMES)
    np.testing.assert_allclose(first, mean, atol=1e-4)
    target = as_target(y)
    likelihoods = [member.log_likelihood(matrix, target, np.ones(240)) for member in members]
    assert model.log_likelihood(X, y) >= np.mean(likelihoods)


def test_the_score_of_many_event_types_is_that_of_each_after_the_other():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2))
    latent = np.stack([rng.exponential(size=150) * np.exp(X[:, event % 2]) for event in range(7)])
    y = make_target(latent.min(0) + 0.01, latent.argmin(0))
    model = DeepSurvivalMachines(k=2, n_members=1, max_epochs=2).fit(X, y)
    incidence = model.predict_distribution(X).cumulative_incidence
    expected = mean_concordance(incidence, model.training_target_, y)
    np.testing.assert_allclose(model.score(X, y), expected, atol=1e-3)


def test_the_risk_is_minus_the_restricted_mean(fitted, single):
    last = single.y["time"][single.y["event"] > 0].max()
    distribution = fitted["single"].predict_distribution(single.X)
    np.testing.assert_array_equal(fitted["single"].predict(single.X), -distribution.rmst(last))


@pytest.mark.parametrize("settings", [{"dropout": 0.3}, {"n_members": 2}, {"encoder": encoder()}])
def test_the_seed_decides_everything_and_global_randomness_nothing(quick, single, settings):
    def predict(seed, global_seed):
        np.random.seed(global_seed)
        torch.manual_seed(global_seed)
        states = np.random.get_state()[1].tolist(), torch.get_rng_state()
        predictions = quick(random_state=seed, **settings).fit(*single).predict(single.X)
        assert np.random.get_state()[1].tolist() == states[0]
        assert torch.equal(torch.get_rng_state(), states[1])
        return predictions

    first = predict(5, 0)
    np.testing.assert_array_equal(predict(5, 1), first)
    assert np.abs(predict(6, 0) - first).max() > 1e-4


@pytest.mark.parametrize(
    "random_state", [None, np.random.RandomState(0), np.random.default_rng(0)], ids=type
)
def test_without_a_fixed_seed_every_fit_differs(quick, single, random_state):
    model = quick(random_state=random_state)
    first, second = (model.fit(*single).predict(single.X) for _ in range(2))
    assert np.abs(first - second).max() > 1e-4


def test_a_bar_is_shown_on_request(quick, fitted, single, capfd):
    quick().fit(*single)
    assert capfd.readouterr() == ("", "")
    shown = quick(verbose=True).fit(*single)
    out, err = capfd.readouterr()
    assert out == ""
    assert all(words in err for words in ("training", "100%", "epoch 4", "held-out loss"))
    np.testing.assert_array_equal(shown.predict(single.X), fitted["single"].predict(single.X))


def test_pipelines_and_grid_searches_of_scikit_learn(quick, competing):
    pipeline = make_pipeline(StandardScaler(), quick(preprocessor=None))
    pipeline.fit(*competing, deepsurvivalmachines__sample_weight=np.ones(240))
    assert pipeline.transform(competing.X).shape == (240, 8)
    grid = GridSearchCV(pipeline, {"deepsurvivalmachines__k": [1, 2]}, cv=2).fit(*competing)
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    assert 0.5 < grid.score(*competing) < 1


# Encoders of the user.

ENCODERS = {
    "batch normalisation and dropout": encoder,
    "lazy": lambda: nn.Sequential(nn.LazyLinear(5), nn.Tanh()),
    "double precision": lambda: nn.Linear(3, 4).double(),
    "no parameter": nn.Tanh,
    "in training mode": lambda: encoder().train(),
}


@pytest.mark.filterwarnings("ignore:Lazy modules")
@pytest.mark.parametrize("make", ENCODERS.values(), ids=ENCODERS)
def test_the_module_of_the_user_is_not_changed(quick, competing, make):
    module = make()
    original = copy.deepcopy(module)
    model = quick(encoder=module, max_epochs=3).fit(*competing)
    assert model.encoder is module
    assert module.training == original.training
    assert str(module) == str(original)  # a lazy layer stays lazy
    for name, values in () if "Lazy" in str(module) else original.state_dict().items():
        assert torch.equal(module.state_dict()[name], values)
    assert all(parameter.grad is None for parameter in module.parameters())
    survival_of(model, competing.X)
    # A row does not depend on the rows beside it: the module is in evaluation mode.
    expected = model.transform(competing.X)[:7]
    np.testing.assert_allclose(model.transform(competing.X[:7]), expected, rtol=1e-6, atol=1e-7)


def test_an_encoder_learns_and_its_frozen_parameters_do_not(quick, single):
    model = quick(encoder=encoder(), max_epochs=20, n_members=2).fit(*single)
    assert model.score(*single) > 0.75
    _, std = model.predict_survival_function(single.X, TIMES, return_std=True)
    assert std.max() > 1e-3
    module = nn.Linear(3, 4).requires_grad_(False)
    model = quick(encoder=module, preprocessor=None, weight_decay=1.0).fit(*single)
    with torch.no_grad():
        expected = module(torch.as_tensor(single.X, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(model.transform(single.X), expected, rtol=1e-6, atol=1e-7)
    identity = quick(encoder=nn.Identity(), preprocessor=None).fit(expected, single.y)
    assert model.n_parameters_ == identity.n_parameters_


BAD_ENCODERS = {
    "inputs": (nn.Linear(7, 4), r"inputs of shape \[rows, 3\].*Change its first layer"),
    "flat": (nn.Sequential(nn.Linear(3, 1), nn.Flatten(0)), r"shape \[2, width\]; got \(2,\)"),
    "no tensor": (nn.LSTM(3, 4), "one row of features per row.*got tuple"),
    "mixed rows": (nn.Flatten(0, 1), "one row of features per row"),
}


@pytest.mark.parametrize(("module", "message"), BAD_ENCODERS.values(), ids=BAD_ENCODERS)
def test_bad_encoders_are_refused(quick, single, module, message):
    with pytest.raises(SettingError, match=message):
        quick(encoder=module).fit(*single)


def test_threads_do_not_disturb_each_other(quick, single):
    model = quick(encoder=encoder()).fit(*single)
    expected = model.transform(single.X)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda _: model.transform(single.X), range(100)))
    finally:
        sys.setswitchinterval(interval)
    assert all(np.array_equal(result, expected) for result in results)


# Representation.


def test_the_representation_is_the_last_layer_of_every_member(quick, mixed_table):
    X, y = mixed_table
    X = X.set_index(np.arange(240) + 1000)
    model = quick(hidden=(7, 5), n_members=2)
    representation = model.fit_transform(X, y)
    matrix = model.preprocessor_.transform(X)
    layers = [member.represent(matrix) for member in model.network_.members()]
    np.testing.assert_allclose(representation, np.hstack(layers), atol=1e-6)
    names = model.get_feature_names_out().tolist()
    assert names[:2] == ["dsm0_0", "dsm0_1"]
    assert len(set(names)) == 10
    table = model.set_output(transform="pandas").transform(X)
    np.testing.assert_array_equal(table, representation)
    assert table.index.equals(X.index)
    assert table.columns.tolist() == names
    linear = quick(hidden=()).fit(X, y)
    np.testing.assert_allclose(linear.transform(X), matrix, rtol=1e-6, atol=1e-7)
