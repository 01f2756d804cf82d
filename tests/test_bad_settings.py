"""One registry of all estimators and of what they must refuse: options, weights, events, times and targets.

Every refusal is an error of ours whose message names the argument, what was got and what is expected.
"""

import inspect
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from lifemix import DeepSurvivalMachines, FleetSearchCV, LifeMix, baselines, make_target, metrics
from lifemix.checks import check_event
from lifemix.errors import InputError, LifemixError, SettingError, TargetError

NAN, INF = float("nan"), float("inf")
THING = object()  # what no option takes
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
    several: bool = False  # takes several event types
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
NEWTON = {"penalty": NOT_NEGATIVE, "max_iter": WHOLE, "preprocessor": TRANSFORMER}
QUICK = {"hidden": (4,), "k": 2, "max_epochs": 2}

BOOSTING = baselines.GradientBoosting(max_iter=10, n_intervals=3)
ESTIMATORS = {
    "DeepSurvivalMachines": Entry(
        DeepSurvivalMachines,
        {
            "primitive": ["nothing", 3, None, THING, int],
            "k": WHOLE,
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
            "device": ["nowhere", 3.5, THING],
            "checkpoint": [3, THING],
            "callbacks": [3, "a", [3], THING, [THING]],
            "verbose": [],  # true or not, whatever it is
        },
        quick=QUICK,
        several=True,
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
        several=True,
        weights=True,
    ),
    "CoxPH": Entry(
        baselines.CoxPH, {"ties": [*NAME, None], "baseline": NAME, **NEWTON}, weights=True
    ),
    "FineGray": Entry(baselines.FineGray, {"coherent": FLAG, **NEWTON}, several=True),
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
        several=True,
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
        several=True,
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
        {"hidden": [*WIDTHS, ()], "l2": NOT_NEGATIVE, "batch_size": OPTIONAL_WHOLE, **NETWORK},
        quick={"hidden": (4,), "max_epochs": 2},
    ),
    "DeepHit": Entry(
        baselines.DeepHit,
        {
            **dict.fromkeys(("shared_layers", "shared_nodes", "cause_layers", "cause_nodes", "n_times"), WHOLE),
            "alpha": POSITIVE,
            "sigma": POSITIVE,
            "grid": [*NAME, None],
            "batch_size": WHOLE,
            **NETWORK,
        },
        quick={"shared_nodes": 4, "cause_nodes": 4, "n_times": 5, "max_epochs": 2},
        several=True,
    ),
    "CauseSpecific": Entry(
        baselines.CauseSpecific,
        {
            "estimator": [None, 3, "cox", baselines.CoxPH, THING],
            "rule": [*NAME, None],
            "max_steps": OPTIONAL_WHOLE,
        },
        needed={"estimator": baselines.CoxPH()},
        several=True,
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
        several=True,
        weights=True,
    ),
    "LifeMix": Entry(
        LifeMix,
        {
            "parts": [3, "cox", {}, {"Cox": baselines.CoxPH}, {"Cox": 3}],
            "n_folds": [0, 1, -1, 2.5, "a", True, NAN, THING],
            "random_state": SEED,
            "n_jobs": [0, 1.5, "a", True, THING],
        },
        quick={"parts": {"trees": BOOSTING, "marginal": baselines.AalenJohansen()}, "n_folds": 2},
        several=True,
        weights=True,
    ),
    "KaplanMeier": Entry(baselines.KaplanMeier, {}, weights=True),
    "AalenJohansen": Entry(baselines.AalenJohansen, {}, several=True, weights=True),
}  # fmt: skip

NAMES = list(ESTIMATORS)
OPTIONS = [(name, option) for name, entry in ESTIMATORS.items() for option in entry.bad]
ROWS = 60


@cache
def sample(several=False):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, 2)).round(3)
    event = rng.permutation(np.arange(ROWS) % (3 if several else 2))
    return X, make_target((rng.weibull(1.5, ROWS) * 5).round(3) + 0.1, event)


@cache
def fitted(name):
    entry = ESTIMATORS[name]
    return entry.model().fit(*sample(entry.several))


def shown(value):
    """Return what a message may show of a value: its text, that of a part of it, or its type."""
    parts = [value, *value] if isinstance(value, (list, tuple)) else [value]
    parts += [part for one in parts if isinstance(one, dict) for part in (*one, *one.values())]
    parts += [part for one in parts if isinstance(one, list) for part in one]
    kinds = {
        kind.__name__ for part in parts for kind in (part, type(part)) if isinstance(kind, type)
    }
    return {repr(part) for part in parts} | {str(part) for part in parts} | kinds


def assert_tells(error, argument, value):
    message = str(error)
    assert isinstance(error, LifemixError), f"{type(error).__name__}: {message}"
    assert argument in message, message
    assert re.search(r"\bgot\b|cannot be used", message), message
    assert any(text in message for text in shown(value)), message


def refusal(call, *arguments, **options):
    """Return the error of a call that must fail."""
    try:
        call(*arguments, **options)
    except Exception as error:
        return error
    pytest.fail(f"nothing was refused: {arguments} {options}")


def test_every_estimator_and_every_option_is_in_the_registry():
    ours = {name for name in baselines.__all__ if hasattr(getattr(baselines, name), "fit")}
    assert {"DeepSurvivalMachines", "FleetSearchCV", "LifeMix", *ours} == set(ESTIMATORS)
    for entry in ESTIMATORS.values():
        assert set(inspect.signature(entry.make).parameters) == set(entry.bad), entry.make


@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=map(" ".join, OPTIONS))
def test_bad_options_are_refused_in_words(name, option):
    entry = ESTIMATORS[name]
    for value in entry.bad[option]:
        error = refusal(entry.model(**{option: value}).fit, *sample(entry.several))
        assert isinstance(error, SettingError), f"{value!r}: {type(error).__name__}: {error}"
        assert_tells(error, option, value)


@pytest.mark.parametrize("name", NAMES)
def test_options_are_checked_before_the_rows_are_looked_at(name):
    entry = ESTIMATORS[name]
    for option, values in entry.bad.items():
        for value in values[
            : option not in ("preprocessor", "device")
        ]:  # which are met by the table and the machine
            error = refusal(entry.model(**{option: value}).fit, None, None)
            assert isinstance(error, SettingError), f"{option}: {type(error).__name__}: {error}"


# Values at the edge of what is allowed, and of other types that mean the same: these must be taken.
TAKEN = {
    "DeepSurvivalMachines": {
        "k": [1, np.int64(2)],
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
        "min_samples_split": [2, 0.1],
        "min_samples_leaf": [1, 0.1],
        "max_features": ["sqrt", "log2", None, 1, 0.5],
        "split_times": [None, 3],
        "n_jobs": [None, 1],
    },
    "DeepSurv": {"batch_size": [None, 10], "dropout": [0], "l2": [0], "random_state": [None]},
    "DeepHit": {"n_times": [1], "dropout": [0], "grid": ["equidistant"]},
    "CauseSpecific": {"max_steps": [None, 1], "rule": ["product_limit"]},
    "ModelAverage": {"discount": [1], "weights": [None, (1, 2), np.array([0.5, 1e9])]},
}
TAKEN_OPTIONS = [(name, option) for name, options in TAKEN.items() for option in options]


@pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning", "ignore::UserWarning")
@pytest.mark.parametrize(("name", "option"), TAKEN_OPTIONS, ids=map(" ".join, TAKEN_OPTIONS))
def test_options_at_the_edge_are_taken(name, option):
    entry = ESTIMATORS[name]
    X, y = sample(entry.several)
    for value in TAKEN[name][option]:
        model = entry.model(**{option: value}).fit(X, y)
        assert np.isfinite(model.predict_survival_function(X, [1.0])).all(), f"{value!r}"


WEIGHTS = {
    "text": "a",
    "texts": ["heavy"] * ROWS,
    "too few": np.ones(3),
    "matrix": np.ones((ROWS, 1)),
    "negative": np.r_[-1.0, np.ones(ROWS - 1)],
    "no number": np.r_[NAN, np.ones(ROWS - 1)],
    "infinite": np.r_[INF, np.ones(ROWS - 1)],
    "one number": 2.0,
    "objects": [THING] * ROWS,
}


@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("name", NAMES)
def test_bad_weights_are_refused_in_words(name, weight):
    entry = ESTIMATORS[name]
    error = refusal(entry.model().fit, *sample(entry.several), sample_weight=weight)
    assert isinstance(error, InputError), f"{type(error).__name__}: {error}"
    assert "sample_weight" in str(error)
    assert ("; got " if entry.weights else "does not take") in str(error)


TARGETS = {
    "none": None,
    "text": "a",
    "number": 3,
    "times alone": np.ones(ROWS),
    "negative times": (-np.ones(ROWS), np.ones(ROWS)),
    "no numbers": (np.full(ROWS, NAN), np.ones(ROWS)),
    "infinite": (np.full(ROWS, INF), np.ones(ROWS)),
    "words": (["soon"] * ROWS, np.ones(ROWS)),
    "events in words": (np.ones(ROWS), ["dead"] * ROWS),
    "half events": (np.ones(ROWS), np.full(ROWS, 0.5)),
    "negative events": (np.ones(ROWS), np.full(ROWS, -1)),
    "gap": (np.ones(ROWS), np.full(ROWS, 3)),
    "all censored": (np.ones(ROWS), np.zeros(ROWS)),
    "lengths": (np.ones(ROWS), np.ones(ROWS - 1)),
}


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_bad_targets_are_refused_in_words(name, target):
    entry = ESTIMATORS[name]
    error = refusal(entry.model().fit, sample()[0], target)
    assert isinstance(error, TargetError), f"{type(error).__name__}: {error}"
    assert re.search(r"\bgot\b|is None|are censored", str(error)), str(error)


EVENTS = [0, -1, 3, 1.5, "1", "a", True, None, NAN, INF, [1], np.array([1, 2]), THING]
TIMES = {
    "negative": -1.0,
    "one negative": [1.0, -1.0],
    "no number": [NAN],
    "infinite": INF,
    "text": "soon",
    "texts": ["a", "b"],
    "empty": [],
    "matrix": [[1.0, 2.0]],
    "object": THING,
    "uneven": [[1.0], [1.0, 2.0]],
}
PREDICTIONS = ("predict_survival_function", "predict_cumulative_incidence", "predict_net_survival")


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("name", NAMES)
def test_bad_times_are_input_errors_in_every_prediction(name, times):
    model, X = fitted(name), sample()[0]
    methods = [*PREDICTIONS, "predict_cumulative_incidences"]
    for method in [method for method in methods if hasattr(model, method)]:
        error = refusal(getattr(model, method), X, times)
        assert type(error) is InputError, f"{method}: {type(error).__name__}: {error}"
        assert re.search(r"times must be .*; got ", str(error)), str(error)


@pytest.mark.parametrize("name", NAMES)
def test_bad_events_are_refused_and_1_0_is_1(name):
    model, X = fitted(name), sample()[0]
    for method in [method for method in PREDICTIONS[1:] if hasattr(model, method)]:
        predict = getattr(model, method)
        for event in EVENTS:
            error = refusal(predict, X, [1.0], event)
            assert type(error) is InputError, f"{method} {event!r}: {type(error).__name__}: {error}"
            assert_tells(error, "event must be a whole number in 1..", event)
        for one in (1.0, np.int64(1), np.float32(1)):
            np.testing.assert_array_equal(predict(X, [1.0], one), predict(X, [1.0], 1))


# Metrics.

RISK = np.linspace(0.05, 0.95, ROWS)
CURVES = np.linspace(0.9, 0.1, ROWS * 2).reshape(ROWS, 2)
METRICS = {
    "concordance_td": lambda y, horizons, **event: metrics.concordance_td(
        y, y, RISK, horizons, **event
    ),
    "brier_score": lambda y, horizons, **event: metrics.brier_score(y, y, RISK, horizons, **event),
    "auc_td": lambda y, horizons, **event: metrics.auc_td(y, y, RISK, horizons, **event),
    "integrated_brier_score": lambda y, horizons, **event: metrics.integrated_brier_score(
        y, y, CURVES, [1.0, horizons] if isinstance(horizons, float) else horizons, **event
    ),
}


@pytest.mark.parametrize("horizon", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_bad_horizons_are_input_errors_in_every_metric(metric, horizon):
    error = refusal(metric, sample()[1], horizon)
    assert type(error) is InputError, f"{type(error).__name__}: {error}"
    assert re.search(r"horizons? must be .*; got ", str(error)), str(error)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_metrics_take_events_as_predictions_do(metric):
    y = sample(several=True)[1]
    for event in [
        event for event in EVENTS if event is not None and event is not EVENTS[2]
    ]:  # None: any type
        error = refusal(metric, y, 3.0, event=event)
        assert type(error) is InputError, f"{event!r}: {type(error).__name__}: {error}"
        assert_tells(error, "event must be a whole number", event)
    for one in (1.0, np.int64(1), np.float32(1)):
        np.testing.assert_array_equal(metric(y, 3.0, event=one), metric(y, 3.0, event=1))


def test_the_check_of_events_gives_an_integer():
    for event in (2, 2.0, np.int32(2), np.float64(2)):
        assert type(check_event(event, 3)) is int


# Distributions.


@cache
def distribution(kind):
    members = {"n_members": 2} if "members" in kind else {}
    model = DeepSurvivalMachines(**QUICK, **members).fit(*sample("competing" in kind))
    found = model.predict_distribution(sample()[0][:5])
    return found.net(1) if "net" in kind else found.given(0.5) if "given" in kind else found


KINDS = (
    "single",
    "single members",
    "competing",
    "competing members",
    "competing net",
    "competing given",
)
AT_TIMES = ("survival", "cumulative_hazard", "hazard", "pdf", "rmst")


@pytest.mark.parametrize("kind", KINDS)
def test_distributions_refuse_bad_times_levels_events_and_sizes(kind):
    found = distribution(kind)
    for method in [*AT_TIMES, "given"]:
        for times in TIMES.values():
            error = refusal(getattr(found, method), times)
            assert type(error) is InputError, f"{method} {times!r}: {type(error).__name__}: {error}"
            assert re.search(r"must be .*; got ", str(error)), str(error)
    for level in ("a", -0.1, 1.1, NAN, [], [[0.5]], [0.5, "a"], THING):
        error = refusal(found.quantile, level)
        assert type(error) is InputError, f"{level!r}: {type(error).__name__}: {error}"
        assert_tells(error, "q must be", level)
    for size in (-1, 1.5, "a", None, True, THING):
        error = refusal(found.sample, size)
        assert isinstance(error, InputError), f"{size!r}: {type(error).__name__}: {error}"
        assert_tells(error, "n must be a whole number", size)
    for seed in SEED:
        error = refusal(found.sample, 2, random_state=seed)
        assert isinstance(error, InputError), f"{seed!r}: {type(error).__name__}: {error}"
        assert_tells(error, "random_state must be", seed)


@pytest.mark.parametrize("kind", KINDS[:4])
def test_distributions_refuse_bad_events(kind):
    found = distribution(kind)
    for event in EVENTS:
        for call in (found.net, lambda event: found.cumulative_incidence([1.0], event)):
            error = refusal(call, event)
            assert type(error) is InputError, f"{event!r}: {type(error).__name__}: {error}"
            assert_tells(error, "event must be a whole number in 1..", event)
    np.testing.assert_array_equal(found.net(1.0).survival([1.0]), found.net(1).survival([1.0]))


def test_the_cases_of_the_registry_are_themselves_sound():
    """Every model of the registry fits as it stands, so that what is refused is the bad value alone."""
    for name, entry in ESTIMATORS.items():
        assert fitted(name) is not None
        clone(entry.model())
