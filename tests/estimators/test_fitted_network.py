"""Units of time: the one that a model learns, and models that do not depend on that of the user."""

import re

import numpy as np
import pytest
import torch

from lifemix import DeepSurvivalMachines, make_target
from lifemix.errors import TargetError
from lifemix.estimators.fitted_network import TimeScale
from lifemix.target import as_target

NAN = np.nan
# time, event, upper; unit, first event
CASES = {
    "median of the event times": (([1.0, 2.0, 9.0, 100.0], [1, 1, 1, 0], None), 2.0, 1.0),
    "the lower of two in the middle": (([1.0, 2.0, 4.0, 9.0], [1, 2, 1, 2], None), 2.0, 1.0),
    "an interval counts at its middle": (([2.0, 4.0, 5.0], [1, 1, 1], [4.0, NAN, NAN]), 4.0, 4.0),
    "the first event is an exact one": (([0.0, 3.0, 5.0], [1, 1, 1], [1.0, NAN, NAN]), 3.0, 3.0),
    "unless there is none": (([0.0, 2.0], [1, 1], [1.0, 4.0]), 0.5, 0.5),
    "events at time 0 do not count": (([0.0, 0.0, 3.0], [1, 1, 1], None), 3.0, 3.0),
}


@pytest.mark.parametrize(("columns", "unit", "first"), CASES.values(), ids=CASES)
def test_unit_and_first_event(columns, unit, first):
    time, event, upper = columns
    target = as_target(make_target(time, event, upper=upper))
    assert TimeScale.learn(target) == TimeScale(unit, first)


def test_events_at_time_0_alone_are_refused():
    with pytest.raises(TargetError, match="all events happened at time 0"):
        TimeScale.learn(as_target(make_target([0.0, 1.0], [1, 0])))


@pytest.mark.parametrize(("far", "event"), [(1e32, 1), (1e300, 0)])
def test_a_time_beyond_single_precision_is_refused_with_its_row(far, event, quick, single):
    y = single.y.copy()
    y["time"][7], y["event"][7] = far, event
    expected = re.escape(f"got {far} at row 7 (1 such rows). Is it a code for unknown?")
    with pytest.raises(TargetError, match=expected):
        quick().fit(single.X, y)
    with pytest.raises(TargetError, match="code for unknown"):
        quick().fit(*single, validation_data=(single.X, y))
    y["time"][7] = 1e20
    model = quick().fit(single.X, y)
    assert np.isfinite([record["train_loss"] for record in model.history_]).all()


DAYS = np.array([10.0, 100.0, 365.25, 1000.0])


def fit(kind, factor=1.0):
    """Return table and target in a unit, and a model."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    time = rng.weibull(1.2, 300) * np.exp(X[:, 0]) * 300 + 1
    event = rng.integers(0, 3 if kind == "competing" else 2, 300)
    is_third = np.arange(300) % 3 == 0
    entry = np.where(is_third, time / 2, 0.0) * factor if kind == "truncated" else None
    upper = np.where(is_third & (event > 0), time * 1.5 * factor, NAN)
    y = make_target(time * factor, event, entry, upper if kind == "interval" else None)
    settings = {"max_epochs": 12, "learning_rate": 5e-3, "dropout": 0.1}
    return X, y, DeepSurvivalMachines(k=3, hidden=(16,), **settings).fit(X, y)


@pytest.mark.parametrize("kind", ["single", "competing", "truncated", "interval"])
def test_the_unit_of_time_makes_no_difference(kind):
    X, y, model = fit(kind)
    expected = model.predict_survival_function(X, DAYS)
    for factor, tolerance in ((1 / 365.25, 1e-4), (8.0, 1e-6)):  # 8 is exact in binary
        _, rescaled, other = fit(kind, factor)
        survival = other.predict_survival_function(X, DAYS * factor)
        np.testing.assert_allclose(survival, expected, atol=tolerance)
        n_exact = (~as_target(y).interval & (y["event"] > 0)).sum()
        difference = model.log_likelihood(X, y) - other.log_likelihood(X, rescaled)
        assert difference == pytest.approx(n_exact * np.log(factor), abs=100 * tolerance)
    parameters = model.network_.parameters, other.network_.parameters
    torch.testing.assert_close(*parameters, rtol=0, atol=1e-6)


def test_survival_starts_at_one_and_events_at_the_origin_count(quick, single):
    time = single.y["time"].copy()
    time[:40] = 0.0
    model = quick().fit(single.X, make_target(time, single.y["event"]))
    assert (model.predict_survival_function(single.X, 0.0) == 1).all()
    incidence = 1 - model.predict_survival_function(single.X, time[time > 0].min()).mean()
    assert incidence > 0.2 * single.y["event"][:40].sum() / 240
    # A row censored at the origin carries no information.
    X = np.vstack([single.X, single.X[:5]])
    y = make_target(*(np.append(single.y[name], np.zeros(5)) for name in ("time", "event")))
    models = quick(preprocessor=None).fit(X, y), quick(preprocessor=None).fit(*single)
    np.testing.assert_array_equal(*(model.predict(single.X) for model in models))
