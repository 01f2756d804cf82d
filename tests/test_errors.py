"""Every estimator refuses bad options, weights, targets, times and events.

Every refusal is a LifemixError whose message has the argument, the value received and what is
expected.
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

from lifemix import DeepSurvivalMachines, FleetSearchCV, LifeMix, baselines, make_target
from lifemix.errors import InputError, LifemixError, SettingError, TargetError

NAN, INF = float("nan"), float("inf")
THING = object()  # no option takes it
OPTIONAL_WHOLE = [0, -1, 1.5, "a", True, THING]
WHOLE = [*OPTIONAL_WHOLE, None, NAN, 10**30]
NOT_NEGATIVE = [-1, "a", None, True, NAN, INF, THING]
POSITIVE = [0, *NOT_NEGATIVE]
FRACTION = [-0.1, 1.5, "a", None, True, NAN, THING]
NAME = ["nothing", 1.5, THING, ["weibull"]]
FLAG = [1, 0, "yes", None, THING]
JOBS = [0, 1.5, "a", THING]
WEIGHTS = [3, "a", [1.0], [1.0, -1.0], [1.0, "a"], [0.0, 0.0], [1.0, NAN], [1.0, INF], THING]
# Bad values by option: an option means the same in all estimators.
BAD: dict[str, list[Any]] = {
    **dict.fromkeys(("activation", "shift_activation", "baseline"), NAME),
    **dict.fromkeys(("ties", "rule", "optimizer", "objective"), [*NAME, None]),
    **dict.fromkeys(("bias", "cure", "batch_norm", "coherent", "refit"), FLAG),
    **dict.fromkeys(("n_trees", "n_intervals", "max_iter", "n_times", "max_fleet"), WHOLE),
    **dict.fromkeys(("shared_layers", "shared_nodes", "cause_layers", "cause_nodes"), WHOLE),
    **dict.fromkeys(("n_members", "batch_size", "patience", "max_depth"), OPTIONAL_WHOLE),
    **dict.fromkeys(("max_steps", "split_times", "n_iter", "min_samples_leaf"), OPTIONAL_WHOLE),
    **dict.fromkeys(("weight_decay", "prior_strength", "head_prior", "decay", "l2"), NOT_NEGATIVE),
    **dict.fromkeys(("discount", "validation_fraction"), FRACTION),
    **dict.fromkeys(("alpha", "sigma"), POSITIVE),
    "callbacks": [3, "a", [3], THING, [THING]],
    "checkpoint": [3, THING],
    "cv": [1, 0, -2, 1.5, "a", True, THING],
    "device": ["nowhere", None, 3.5, THING],
    "dropout": [-0.1, 2, 1, "a", True, NAN, THING],
    "encoder": ["mlp", 3, THING, int],
    "estimator": [None, 3, "cox", baselines.CoxPH, THING],
    "estimators": [None, 3, "cox", [], [3], [baselines.CoxPH], THING],
    "hidden": [5, "a", (0,), (-1,), (1.5,), ("a",), (None,), THING],
    "k": [*WHOLE, 1001],
    "learning_rate": [0, -1, "a", True, NAN, INF, THING],
    "max_epochs": [-1, 1.5, "a", None, True, NAN, THING],
    "max_features": [0, -1, 1.5, "a", True, NAN, THING],
    "max_leaf_nodes": [1, *WHOLE],
    "min_samples_split": [1, *WHOLE],
    "n_folds": [1, 2.5, *OPTIONAL_WHOLE],
    "n_jobs": JOBS,
    "param_grid": [None, 3, "k", {"k": 3}, {"k": []}, {"nothing": [1]}, [3]],
    "parts": [3, "cox", {}, {"Cox": baselines.CoxPH}, {"Cox": 3}, {1: baselines.CoxPH()}],
    "penalty": [*NOT_NEGATIVE, np.ma.masked],
    "preprocessor": ["nothing", 5, THING],
    "primitive": ["nothing", 3, None, THING, int],
    "random_state": [-1, 1.5, "a", True, THING],
    "rounding": [-1, 1e300, "a", True, NAN, INF, THING],
    "scoring": ["auc", 3, THING],
    "verbose": [],  # any value is true or false
    "weights": WEIGHTS,
}


@dataclass(frozen=True)
class Entry:
    """An estimator with options for a quick fit; whether it takes event types and weights."""

    make: Any
    options: dict[str, Any] = field(default_factory=dict)
    is_competing: bool = False
    takes_weights: bool = False

    def model(self, **options):
        return self.make(**(self.options | options))

    @property
    def names(self):
        return inspect.signature(self.make).parameters.keys()


NETWORK = {"hidden": (4,), "k": 2, "max_epochs": 2}
DEEPHIT = {"shared_nodes": 4, "cause_nodes": 4, "n_times": 5, "max_epochs": 2}
BOOSTING = baselines.GradientBoosting(max_iter=10, n_intervals=3)
AVERAGE = [baselines.AalenJohansen(), BOOSTING]
PARTS = {"parts": {"trees": BOOSTING, "marginal": baselines.AalenJohansen()}, "n_folds": 2}
SEARCH = {"estimator": DeepSurvivalMachines(**NETWORK), "param_grid": {"k": [1]}, "cv": 2}
ENTRIES = [
    Entry(DeepSurvivalMachines, NETWORK, True, True),
    Entry(FleetSearchCV, SEARCH | {"scoring": "log_likelihood"}, True, True),
    Entry(LifeMix, PARTS, True, True),
    Entry(baselines.CoxPH, {}, False, True),
    Entry(baselines.FineGray, {}, True),
    Entry(baselines.MartingaleForest, {"n_trees": 2}, True, True),
    Entry(baselines.GradientBoosting, {"max_iter": 10, "n_intervals": 3}, True, True),
    Entry(baselines.RandomSurvivalForest, {"n_trees": 2}),
    Entry(baselines.DeepSurv, {"hidden": (4,), "max_epochs": 2}),
    Entry(baselines.DeepHit, DEEPHIT, True),
    Entry(baselines.CauseSpecific, {"estimator": baselines.CoxPH()}, True, True),
    Entry(baselines.ModelAverage, {"estimators": AVERAGE}, True, True),
    Entry(baselines.KaplanMeier, {}, False, True),
    Entry(baselines.AalenJohansen, {}, True, True),
]
ESTIMATORS = {entry.make.__name__: entry for entry in ENTRIES}
over_estimators = pytest.mark.parametrize("name", ESTIMATORS)
N_ROWS = 60


@cache
def sample(is_competing=False):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, 2)).round(3)
    event = rng.permutation(np.arange(N_ROWS) % (3 if is_competing else 2))
    return X, make_target((rng.weibull(1.5, N_ROWS) * 5).round(3) + 0.1, event)


@cache
def fitted(name):
    entry = ESTIMATORS[name]
    return entry.model().fit(*sample(entry.is_competing))


def descriptions(value):
    """Return how a message may show a value: its text, that of an item, or its type."""
    texts = {repr(value), str(value), type(value).__name__, getattr(value, "__name__", repr(value))}
    if isinstance(value, dict):
        texts = texts.union(*map(descriptions, [*value, *value.values()]))
    elif isinstance(value, list | tuple):
        texts = texts.union(*map(descriptions, value))
    return texts


def assert_message_shows(error, argument, value):
    message = str(error)
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


def test_every_estimator_and_every_option_is_tested():
    ours = {name for name in baselines.__all__ if hasattr(getattr(baselines, name), "fit")}
    assert {"DeepSurvivalMachines", "FleetSearchCV", "LifeMix", *ours} == set(ESTIMATORS)
    assert set().union(*(entry.names for entry in ENTRIES)) == set(BAD)


@over_estimators
def test_bad_options_are_refused_before_the_rows_are_used(name):
    entry = ESTIMATORS[name]
    X, y = sample(entry.is_competing)
    for option in entry.names:
        for value in BAD[option]:
            error = refusal(SettingError, entry.model(**{option: value}).fit, X, y)
            assert_message_shows(error, option, value)
        if option not in ("preprocessor", "device", "verbose"):  # depend on table and machine
            refusal(SettingError, entry.model(**{option: BAD[option][0]}).fit, None, None)


# Comparing these with anything raises an error, or gives no truth value.
INCOMPARABLE = [pd.NA, Decimal("sNaN"), np.array([1, 2]), np.ma.masked, torch.tensor([1.0, 2.0])]


@over_estimators
def test_values_that_cannot_be_compared_are_refused(name):
    for option in ESTIMATORS[name].names - {"verbose"}:
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
        "callbacks": [(), []],
    },
    "FleetSearchCV": {"n_iter": [1], "cv": [None, [(np.arange(30), np.arange(30, 60))]]},
    "LifeMix": {"n_folds": [None, 3], "n_jobs": [None, 1]},
    "CoxPH": {"baseline": [None, "breslow"], "penalty": [0, np.float64(1), "auto"]},
    "FineGray": {"coherent": [False], "penalty": [0]},
    "MartingaleForest": {"min_samples_leaf": [None, 3], "max_features": [1], "n_jobs": [None]},
    "GradientBoosting": {"max_features": [1], "l2": [0], "max_leaf_nodes": [2]},
    "RandomSurvivalForest": {
        "max_depth": [None, 1],
        "min_samples_split": [2],
        "max_features": ["sqrt", "log2", None, 1, 0.5],
        "split_times": [None, 3],
    },
    "DeepSurv": {"hidden": [()], "batch_size": [None, 10], "dropout": [0], "random_state": [None]},
    "DeepHit": {"n_times": [1], "dropout": [0]},
    "CauseSpecific": {"max_steps": [None, 1], "rule": ["product_limit"]},
    "ModelAverage": {"discount": [1], "weights": [None, (1, 2), np.array([0.5, 1e9])]},
}


@pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", VALID)
def test_options_at_the_edge_are_accepted(name):
    entry = ESTIMATORS[name]
    X, y = sample(entry.is_competing)
    for option, values in VALID[name].items():
        for value in values:
            survival = entry.model(**{option: value}).fit(X, y).predict_survival_function(X, [1.0])
            assert np.isfinite(survival).all(), f"{option}={value!r}"


ONES = np.ones(N_ROWS)
BAD_ROW_WEIGHTS = [
    "a",
    ["heavy"] * N_ROWS,
    np.ones(3),
    np.ones((N_ROWS, 1)),
    np.r_[-1.0, ONES[1:]],
    np.r_[NAN, ONES[1:]],
    np.r_[INF, ONES[1:]],
    2.0,
    [THING] * N_ROWS,
]


@over_estimators
def test_bad_weights_are_refused(name):
    entry = ESTIMATORS[name]
    error_type, message = (
        (InputError, "; got ") if entry.takes_weights else (SettingError, "does not take")
    )
    X, y = sample(entry.is_competing)
    for weight in BAD_ROW_WEIGHTS:
        error = refusal(error_type, entry.model().fit, X, y, sample_weight=weight)
        assert "sample_weight" in str(error)
        assert message in str(error)


BAD_TARGETS = [
    None,
    "a",
    3,
    ONES,
    (-ONES, ONES),
    (NAN * ONES, ONES),
    (INF * ONES, ONES),
    (["soon"] * N_ROWS, ONES),
    (ONES, ["dead"] * N_ROWS),
    (ONES, 0.5 * ONES),
    (ONES, -ONES),
    (ONES, 3 * ONES),  # no event of types 1 and 2
    (ONES, 0 * ONES),  # all censored
    (ONES, ONES[1:]),
]


@over_estimators
def test_bad_targets_are_refused(name):
    for target in BAD_TARGETS:
        error = refusal(TargetError, ESTIMATORS[name].model().fit, sample()[0], target)
        assert re.search(r"\bgot\b|is None|are censored", str(error)), str(error)


BAD_EVENTS = [0, -1, 3, 1.5, "1", "a", True, None, NAN, INF, [1], np.array([1, 2]), THING]
BAD_TIMES = [-1.0, [1.0, -1.0], [NAN], INF, "soon", ["a", "b"], [], [[1.0, 2.0]], THING]
BAD_TIMES += [[[1.0], [1.0, 2.0]]]
PREDICTIONS = ("survival_function", "cumulative_incidences", "cumulative_incidence", "net_survival")


@over_estimators
def test_bad_times_and_events_are_refused_in_every_prediction(name):
    X, model = sample()[0], fitted(name)
    for kind in PREDICTIONS:
        predict = getattr(model, f"predict_{kind}", None)
        if predict is None:
            continue
        for times in BAD_TIMES:
            assert re.search("times must be .*; got ", str(refusal(InputError, predict, X, times)))
        if kind in PREDICTIONS[2:]:
            for event in BAD_EVENTS:
                error = refusal(InputError, predict, X, [1.0], event)
                assert_message_shows(error, "event must be a whole number in 1..", event)
            for event in (1.0, np.int64(1), np.float32(1)):
                np.testing.assert_array_equal(predict(X, [1.0], event), predict(X, [1.0], 1))


@pytest.mark.parametrize("kind", ["single", "competing", "members", "net", "given"])
def test_distributions_refuse_bad_times_levels_sizes_and_events(kind):
    X, y = sample(kind != "single")
    model = DeepSurvivalMachines(**NETWORK, n_members=2 if kind == "members" else 1).fit(X, y)
    predicted = model.predict_distribution(X[:5])
    predicted = {"net": predicted.net(1), "given": predicted.given(0.5)}.get(kind, predicted)
    for name in ("survival", "cumulative_hazard", "hazard", "pdf", "rmst", "given"):
        for times in BAD_TIMES:
            error = refusal(InputError, getattr(predicted, name), times)
            assert re.search("must be .*; got ", str(error)), str(error)
    for level in ("a", -0.1, 1.1, NAN, [], [[0.5]], [0.5, "a"], THING):
        assert_message_shows(refusal(InputError, predicted.quantile, level), "q must be", level)
    for size in (-1, 1.5, "a", None, True, THING):
        error = refusal(SettingError, predicted.sample, size)
        assert_message_shows(error, "n must be a whole number", size)
    for seed in BAD["random_state"]:
        error = refusal(SettingError, predicted.sample, 2, random_state=seed)
        assert_message_shows(error, "random_state must be", seed)
    for event in BAD_EVENTS if kind != "net" else ():
        for call in (predicted.net, lambda event: predicted.cumulative_incidence([1.0], event)):
            error = refusal(InputError, call, event)
            assert_message_shows(error, "event must be a whole number in 1..", event)
