"""A registry of all estimators and of what they must refuse: options, weights, events, times and targets.

Every refusal is a LifemixError whose message names the argument, the value received and what is expected.
"""

import inspect
import re
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

from lifemix import DeepSurvivalMachines, FleetSearchCV, LifeMix, baselines, make_target, metrics
from lifemix.checks import check_event
from lifemix.errors import InputError, LifemixError, SettingError, TargetError

NAN, INF = float("nan"), float("inf")
THING = object()  # no option takes it
WHOLE = [0, -1, 1.5, "a", None, True, NAN, THING, 10**30]
OPTIONAL_WHOLE = [0, -1, 1.5, "a", True, THING]
POSITIVE = [0, -1, "a", None, True, NAN, INF, THING]
NOT_NEGATIVE = [-1, "a", None, True, NAN, INF, THING]
SHARE = [-0.1, 1.5, "a", None, True, NAN, THING]
NAME = ["nothing", 1.5, THING, ["weibull"]]
FLAG = [1, 0, "yes", None, THING]
SEED = [-1, 1.5, "a", True, THING]
WIDTHS = [5, "a", None, (0,), (-1,), (1.5,), ("a",), (None,), THING]
TRANSFORMER = ["nothing", 5, THING]


@dataclass(frozen=True)
class Entry:
    """One estimator: what its constructor needs, bad values of every option, and which options may be anything."""

    make: Any
    bad: dict[str, list[Any]]
    needed: dict[str, Any] = field(default_factory=dict)
    quick: dict[str, Any] = field(default_factory=dict)
    competing: bool = False  # takes several event types
    weights: bool = False

    def model(self, **options):
        return self.make(**(self.needed | self.quick | options))


NETWORK = {
    "activation": NAME,
    "dropout": [-0.1, 2, 1, "a", None, True, NAN, THING],
    "batch_norm": FLAG,
    "weight_decay": NOT_NEGATIVE,
    "learning_rate": POSITIVE,
    "decay": NOT_NEGATIVE,
    "max_epochs": WHOLE,
    "patience": WHOLE,
    "validation_fraction": [0, *SHARE],
    "random_state": SEED,
    "preprocessor": TRANSFORMER,
}
NEWTON = {"penalty": [*NOT_NEGATIVE, np.ma.masked], "max_iter": WHOLE, "preprocessor": TRANSFORMER}
QUICK = {"hidden": (4,), "k": 2, "max_epochs": 2}

BOOSTING = baselines.GradientBoosting(max_iter=10, n_intervals=3)
ESTIMATORS = {
    "DeepSurvivalMachines": Entry(
        DeepSurvivalMachines,
        {
            "primitive": ["nothing", 3, None, THING, int],
            "k": [*WHOLE, 1001],
            "hidden": [value for value in WIDTHS if value is not None],
            "objective": ["mle", None, 3, THING, ["exact"]],
            "discount": SHARE,
            "n_members": OPTIONAL_WHOLE,
            "random_state": SEED,
            "activation": ["nothing", 3, THING],
            "shift_activation": ["nothing", 3, THING],
            "bias": FLAG,
            "cure": FLAG,
            "encoder": ["mlp", 3, THING, int],
            "dropout": [-0.1, 2, 1, "a", True, NAN, THING],
            "weight_decay": NOT_NEGATIVE,
            "prior_strength": NOT_NEGATIVE,
            "head_prior": NOT_NEGATIVE,
            "rounding": [-1, 1e300, "a", True, NAN, INF, THING],
            "learning_rate": [0, -1, 11, "a", True, NAN, INF, THING],
            "optimizer": ["nothing", None, 3, THING, int],
            "batch_size": OPTIONAL_WHOLE,
            "max_epochs": [-1, 1.5, "a", None, True, NAN, THING],
            "patience": OPTIONAL_WHOLE,
            "validation_fraction": [-0.1, 0.95, "a", None, True, NAN, THING],
            "preprocessor": TRANSFORMER,
            "device": ["nowhere", None, 3.5, THING],
            "checkpoint": [3, THING],
            "callbacks": [3, "a", [3], THING, [THING]],
            "verbose": [],  # any value is true or false
        },
        quick=QUICK,
        competing=True,
        weights=True,
    ),
    "FleetSearchCV": Entry(
        FleetSearchCV,
        {
            "estimator": [None, 3, "dsm", baselines.CoxPH(), DeepSurvivalMachines],
            "param_grid": [None, 3, "k", {"k": 3}, {"k": []}, {"nothing": [1]}, [3]],
            "n_iter": OPTIONAL_WHOLE,
            "scoring": ["auc", 3, THING],
            "cv": [1, 0, -2, 1.5, "a", True, THING],
            "refit": FLAG,
            "n_jobs": [0, 1.5, "a", THING],
            "max_fleet": WHOLE,
            "random_state": SEED,
            "verbose": [],
        },
        needed={"estimator": DeepSurvivalMachines(**QUICK), "param_grid": {"k": [1]}},
        quick={"cv": 2, "scoring": "log_likelihood"},
        competing=True,
        weights=True,
    ),
    "CoxPH": Entry(
        baselines.CoxPH, {"ties": [*NAME, None], "baseline": NAME, **NEWTON}, weights=True
    ),
    "FineGray": Entry(baselines.FineGray, {"coherent": FLAG, **NEWTON}, competing=True),
    "MartingaleForest": Entry(
        baselines.MartingaleForest,
        {
            "n_trees": WHOLE,
            "min_samples_leaf": [value for value in WHOLE if value is not None],
            "max_features": [0, *SHARE],
            "n_intervals": WHOLE,
            "n_jobs": [0, 1.5, "a", True],
            "random_state": SEED,
            "preprocessor": TRANSFORMER,
        },
        quick={"n_trees": 2},
        competing=True,
        weights=True,
    ),
    "GradientBoosting": Entry(
        baselines.GradientBoosting,
        {
            "n_intervals": WHOLE,
            "learning_rate": POSITIVE,
            "max_iter": WHOLE,
            "patience": WHOLE,
            "max_leaf_nodes": [1, *WHOLE],
            "min_samples_leaf": WHOLE,
            "l2": NOT_NEGATIVE,
            "max_features": [0, *SHARE],
            "validation_fraction": [0, *SHARE],
            "random_state": SEED,
            "preprocessor": TRANSFORMER,
        },
        quick={"max_iter": 10, "n_intervals": 3},
        competing=True,
        weights=True,
    ),
    "RandomSurvivalForest": Entry(
        baselines.RandomSurvivalForest,
        {
            "n_trees": WHOLE,
            "max_depth": OPTIONAL_WHOLE,
            "min_samples_split": [0, 1, -1, 1.5, "a", None, True, NAN, THING],
            "min_samples_leaf": [0, -1, 1.5, "a", None, True, NAN, THING],
            "max_features": [0, -1, 1.5, "a", True, NAN, THING],
            "split_times": OPTIONAL_WHOLE,
            "n_jobs": [0, 1.5, "a", True, THING],
            "random_state": SEED,
            "preprocessor": TRANSFORMER,
        },
        quick={"n_trees": 2},
    ),
    "DeepSurv": Entry(
        baselines.DeepSurv,
        {"hidden": WIDTHS, "l2": NOT_NEGATIVE, "batch_size": OPTIONAL_WHOLE, **NETWORK},
        quick={"hidden": (4,), "max_epochs": 2},
    ),
    "DeepHit": Entry(
        baselines.DeepHit,
        {
            **dict.fromkeys(("shared_layers", "shared_nodes", "cause_layers", "cause_nodes", "n_times"), WHOLE),
            "alpha": POSITIVE,
            "sigma": POSITIVE,
            "batch_size": OPTIONAL_WHOLE,
            **NETWORK,
        },
        quick={"shared_nodes": 4, "cause_nodes": 4, "n_times": 5, "max_epochs": 2},
        competing=True,
    ),
    "CauseSpecific": Entry(
        baselines.CauseSpecific,
        {
            "estimator": [None, 3, "cox", baselines.CoxPH, THING],
            "rule": [*NAME, None],
            "max_steps": OPTIONAL_WHOLE,
        },
        needed={"estimator": baselines.CoxPH()},
        competing=True,
        weights=True,
    ),
    "ModelAverage": Entry(
        baselines.ModelAverage,
        {
            "estimators": [None, 3, "cox", [], [3], [baselines.CoxPH], THING],
            "discount": [0, *SHARE],
            "weights": [3, "a", [1.0], [1.0, -1.0], [1.0, "a"], [0.0, 0.0], [1.0, NAN], [1.0, INF], THING],
        },
        needed={"estimators": [baselines.AalenJohansen(), BOOSTING]},
        competing=True,
        weights=True,
    ),
    "LifeMix": Entry(
        LifeMix,
        {
            "parts": [3, "cox", {}, {"Cox": baselines.CoxPH}, {"Cox": 3}],
            "n_folds": [0, 1, -1, 2.5, "a", True, NAN, THING],
            "random_state": SEED,
            "n_jobs": [0, 1.5, "a", True, THING],
            "verbose": [],
        },
        quick={"parts": {"trees": BOOSTING, "marginal": baselines.AalenJohansen()}, "n_folds": 2},
        competing=True,
        weights=True,
    ),
    "KaplanMeier": Entry(baselines.KaplanMeier, {}, weights=True),
    "AalenJohansen": Entry(baselines.AalenJohansen, {}, competing=True, weights=True),
}  # fmt: skip

NAMES = list(ESTIMATORS)
ROWS = 60


@cache
def sample(competing=False):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, 2)).round(3)
    event = rng.permutation(np.arange(ROWS) % (3 if competing else 2))
    return X, make_target((rng.weibull(1.5, ROWS) * 5).round(3) + 0.1, event)


@cache
def fitted(name):
    entry = ESTIMATORS[name]
    return entry.model().fit(*sample(entry.competing))


def descriptions(value):
    """Return how a message may show a value: its text, that of one of its items, or its type."""
    texts = {repr(value), str(value), type(value).__name__, getattr(value, "__name__", repr(value))}
    if isinstance(value, dict):
        texts = texts.union(*map(descriptions, [*value, *value.values()]))
    elif isinstance(value, list | tuple):
        texts = texts.union(*map(descriptions, value))
    return texts


def assert_message_shows(error, argument, value):
    message = str(error)
    assert isinstance(error, LifemixError), f"{type(error).__name__}: {message}"
    assert argument in message, message
    assert re.search(r"\bgot\b|cannot be used", message), message
    assert any(text in message for text in descriptions(value)), message


def refusal(error_type, call, *arguments, **options):
    """Return the error of a call that must fail with this type of error."""
    error = None
    try:
        call(*arguments, **options)
    except Exception as raised:
        error = raised
    assert type(error) is error_type, f"{call}, {arguments[-1]!r}, {options}: {error!r}"
    return error


def test_every_estimator_and_every_option_is_in_the_registry():
    ours = {name for name in baselines.__all__ if hasattr(getattr(baselines, name), "fit")}
    assert {"DeepSurvivalMachines", "FleetSearchCV", "LifeMix", *ours} == set(ESTIMATORS)
    for entry in ESTIMATORS.values():
        assert set(inspect.signature(entry.make).parameters) == set(entry.bad), entry.make


@pytest.mark.parametrize("name", NAMES)
def test_messages_on_bad_options_show_option_and_value(name):
    entry = ESTIMATORS[name]
    X, y = sample(entry.competing)
    for option, values in entry.bad.items():
        for value in values:
            model = entry.model(**{option: value})
            error = refusal(SettingError, model.fit, X, y)
            assert_message_shows(error, option, value)


@pytest.mark.parametrize("name", NAMES)
def test_options_are_checked_before_the_rows(name):
    entry = ESTIMATORS[name]
    # Whether these two can be used depends on the table and on the machine.
    for option in entry.bad.keys() - {"preprocessor", "device"}:
        for value in entry.bad[option][:1]:
            refusal(SettingError, entry.model(**{option: value}).fit, None, None)


# Comparing these with anything else raises an error, or gives no truth value.
INCOMPARABLE = [pd.NA, Decimal("sNaN"), np.array([1, 2]), np.ma.masked, torch.tensor([1.0, 2.0])]


@pytest.mark.parametrize("name", NAMES)
def test_values_that_cannot_be_compared_give_no_bare_error(name):
    for option in ESTIMATORS[name].bad.keys() - {"verbose"}:  # is true or false
        for value in INCOMPARABLE:
            with pytest.raises(LifemixError):
                ESTIMATORS[name].model(**{option: value}).fit(None, None)


# Values at the edge of what is allowed, and of other types that mean the same.
VALID = {
    "DeepSurvivalMachines": {
        "k": [1, np.int64(2), 1000],
        "hidden": [(), [4], (np.int32(3), 2), np.array([4])],
        "discount": [0, 1, np.float32(0.5)],
        "dropout": [0, 0.95],
        "validation_fraction": [0, 0.9],
        "learning_rate": [1e-12, 10],
        "max_epochs": [0],
        "random_state": [0, None, np.random.default_rng(0), np.random.RandomState(0)],
        "bias": [np.bool_(False)],
        "verbose": [0],
        "callbacks": [(), []],
    },
    "FleetSearchCV": {
        "n_iter": [1],
        "cv": [None, [(np.arange(30), np.arange(30, 60))]],
        "max_fleet": [1],
        "n_jobs": [1],
    },
    "LifeMix": {"n_folds": [None, 3], "n_jobs": [None, 1]},
    "CoxPH": {
        "baseline": [None, "breslow"],
        "penalty": [0, np.float64(1), "auto"],
        "max_iter": [np.int64(50)],
    },
    "FineGray": {"coherent": [False], "penalty": [0]},
    "MartingaleForest": {"min_samples_leaf": [None, 3], "max_features": [1], "n_jobs": [None, 2]},
    "GradientBoosting": {
        "max_features": [1],
        "l2": [0],
        "max_leaf_nodes": [2],
        "random_state": [None],
    },
    "RandomSurvivalForest": {
        "max_depth": [None, 1],
        "min_samples_split": [2],
        "min_samples_leaf": [1],
        "max_features": ["sqrt", "log2", None, 1, 0.5],
        "split_times": [None, 3],
        "n_jobs": [None, 1],
    },
    "DeepSurv": {
        "hidden": [()],
        "batch_size": [None, 10],
        "dropout": [0],
        "l2": [0],
        "random_state": [None],
    },
    "DeepHit": {"n_times": [1], "dropout": [0]},
    "CauseSpecific": {"max_steps": [None, 1], "rule": ["product_limit"]},
    "ModelAverage": {"discount": [1], "weights": [None, (1, 2), np.array([0.5, 1e9])]},
}


@pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", VALID)
def test_options_at_the_edge_are_accepted(name):
    entry = ESTIMATORS[name]
    X, y = sample(entry.competing)
    for option, values in VALID[name].items():
        for value in values:
            survival = entry.model(**{option: value}).fit(X, y).predict_survival_function(X, [1.0])
            assert np.isfinite(survival).all(), f"{option}={value!r}"


ONES = np.ones(ROWS)
WEIGHTS = [
    "a",
    ["heavy"] * ROWS,
    np.ones(3),
    np.ones((ROWS, 1)),
    np.r_[-1.0, np.ones(ROWS - 1)],
    np.r_[NAN, np.ones(ROWS - 1)],
    np.r_[INF, np.ones(ROWS - 1)],
    2.0,
    [THING] * ROWS,
]


@pytest.mark.parametrize("name", NAMES)
def test_bad_weights_are_refused(name):
    entry = ESTIMATORS[name]
    error_type = InputError if entry.weights else SettingError
    X, y = sample(entry.competing)
    for weight in WEIGHTS:
        error = refusal(error_type, entry.model().fit, X, y, sample_weight=weight)
        assert "sample_weight" in str(error)
        assert ("; got " if entry.weights else "does not take") in str(error)


TARGETS = [
    None,
    "a",
    3,
    ONES,
    (-ONES, ONES),
    (NAN * ONES, ONES),
    (INF * ONES, ONES),
    (["soon"] * ROWS, ONES),
    (ONES, ["dead"] * ROWS),
    (ONES, 0.5 * ONES),
    (ONES, -ONES),
    (ONES, 3 * ONES),  # no event of types 1 and 2
    (ONES, 0 * ONES),  # all censored
    (ONES, ONES[1:]),
]


@pytest.mark.parametrize("name", NAMES)
def test_bad_targets_are_refused(name):
    X, _ = sample()
    for target in TARGETS:
        error = refusal(TargetError, ESTIMATORS[name].model().fit, X, target)
        assert re.search(r"\bgot\b|is None|are censored", str(error)), str(error)


EVENTS = [0, -1, 3, 1.5, "1", "a", True, None, NAN, INF, [1], np.array([1, 2]), THING]
TIMES = [
    -1.0,
    [1.0, -1.0],
    [NAN],
    INF,
    "soon",
    ["a", "b"],
    [],
    [[1.0, 2.0]],
    THING,
    [[1.0], [1.0, 2.0]],
]
PREDICTIONS = ("predict_survival_function", "predict_cumulative_incidence", "predict_net_survival")


def predictions(model, names):
    """Return the methods of these names that the model has."""
    return [getattr(model, name) for name in names if hasattr(model, name)]


@pytest.mark.parametrize("name", NAMES)
def test_bad_times_are_input_errors_in_every_prediction(name):
    X, _ = sample()
    for predict in predictions(fitted(name), [*PREDICTIONS, "predict_cumulative_incidences"]):
        for times in TIMES:
            error = refusal(InputError, predict, X, times)
            assert re.search(r"times must be .*; got ", str(error)), str(error)


@pytest.mark.parametrize("name", NAMES)
def test_bad_events_are_refused_and_1_0_is_1(name):
    X, _ = sample()
    for predict in predictions(fitted(name), PREDICTIONS[1:]):
        for event in EVENTS:
            error = refusal(InputError, predict, X, [1.0], event)
            assert_message_shows(error, "event must be a whole number in 1..", event)
        for event in (1.0, np.int64(1), np.float32(1)):
            np.testing.assert_array_equal(predict(X, [1.0], event), predict(X, [1.0], 1))


# Metrics.

RISK = np.linspace(0.05, 0.95, ROWS)
CURVES = np.linspace(0.9, 0.1, ROWS * 2).reshape(ROWS, 2)
METRICS = {
    metrics.concordance_td: RISK,
    metrics.brier_score: RISK,
    metrics.auc_td: RISK,
    metrics.integrated_brier_score: CURVES,
}


def evaluate(metric, y, horizon, **event):
    if metric is metrics.integrated_brier_score and isinstance(horizon, float):
        horizon = [1.0, horizon]
    return metric(y, y, METRICS[metric], horizon, **event)


@pytest.mark.parametrize("metric", METRICS)
def test_bad_horizons_are_input_errors_in_every_metric(metric):
    _, y = sample()
    for horizon in TIMES:
        error = refusal(InputError, evaluate, metric, y, horizon)
        assert re.search(r"horizons? must be .*; got ", str(error)), str(error)


@pytest.mark.parametrize("metric", METRICS)
def test_metrics_take_events_as_predictions_do(metric):
    _, y = sample(competing=True)
    for event in EVENTS:
        if event is None or event is EVENTS[2]:  # None is any type of event, 3 does not occur
            continue
        error = refusal(InputError, evaluate, metric, y, 3.0, event=event)
        assert_message_shows(error, "event must be a whole number", event)
    for event in (1.0, np.int64(1), np.float32(1)):
        score = evaluate(metric, y, 3.0, event=1)
        np.testing.assert_array_equal(evaluate(metric, y, 3.0, event=event), score)


def test_the_check_of_events_gives_an_integer():
    for event in (2, 2.0, np.int32(2), np.float64(2)):
        assert type(check_event(event, 3)) is int


# Distributions.


@cache
def distribution(kind):
    n_members = 2 if "members" in kind else 1
    X, y = sample("competing" in kind)
    model = DeepSurvivalMachines(**QUICK, n_members=n_members).fit(X, y)
    distribution = model.predict_distribution(X[:5])
    if "net" in kind:
        return distribution.net(1)
    return distribution.given(0.5) if "given" in kind else distribution


KINDS = (
    "single",
    "single members",
    "competing",
    "competing members",
    "competing net",
    "competing given",
)
FUNCTIONS_OF_TIME = ("survival", "cumulative_hazard", "hazard", "pdf", "rmst", "given")


@pytest.mark.parametrize("kind", KINDS)
def test_distributions_refuse_bad_times_levels_and_sizes(kind):
    predicted = distribution(kind)
    for name in FUNCTIONS_OF_TIME:
        for times in TIMES:
            error = refusal(InputError, getattr(predicted, name), times)
            assert re.search(r"must be .*; got ", str(error)), str(error)
    for level in ("a", -0.1, 1.1, NAN, [], [[0.5]], [0.5, "a"], THING):
        error = refusal(InputError, predicted.quantile, level)
        assert_message_shows(error, "q must be", level)
    for size in (-1, 1.5, "a", None, True, THING):
        error = refusal(SettingError, predicted.sample, size)
        assert_message_shows(error, "n must be a whole number", size)
    for seed in SEED:
        error = refusal(SettingError, predicted.sample, 2, random_state=seed)
        assert_message_shows(error, "random_state must be", seed)


@pytest.mark.parametrize("kind", KINDS[:4])
def test_distributions_refuse_bad_events(kind):
    predicted = distribution(kind)
    for event in EVENTS:
        error = refusal(InputError, predicted.net, event)
        assert_message_shows(error, "event must be a whole number in 1..", event)
        error = refusal(InputError, predicted.cumulative_incidence, [1.0], event)
        assert_message_shows(error, "event must be a whole number in 1..", event)
    survival = predicted.net(1).survival([1.0])
    np.testing.assert_array_equal(predicted.net(1.0).survival([1.0]), survival)


def test_every_model_of_the_registry_fits_as_it_stands():
    for name, entry in ESTIMATORS.items():
        assert fitted(name) is not None
        clone(entry.model())
