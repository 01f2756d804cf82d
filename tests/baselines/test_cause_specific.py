import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from lifemix import make_target
from lifemix.baselines import CauseSpecific, CoxPH, RandomSurvivalForest, base
from lifemix.errors import SettingError

REFERENCE = json.loads(
    (Path(__file__).parent.parent / "references/baselines/competing.json").read_text()
)
DATA = {name: np.array(values) for name, values in REFERENCE["data"].items()}
NEW, TIMES = np.array(REFERENCE["new"]), np.array(REFERENCE["times"])
Y = make_target(DATA["time"], DATA["event"])


class Exponential(BaseEstimator):
    """An estimator of someone else: constant hazard, the number of events over the time at risk."""

    def fit(self, X, y):
        self.rate_ = y["event"].sum() / y["time"].sum()
        return self

    def predict_survival_function(self, X, times):
        return np.exp(-self.rate_ * np.tile(times, (len(X), 1)))


@pytest.mark.parametrize("event", [1, 2, 3])
def test_product_limit_is_equal_to_csc_of_r(event):
    model = CauseSpecific(CoxPH(preprocessor=None), rule="product_limit").fit(DATA["x"], Y)
    got = model.predict_cumulative_incidence(NEW, TIMES, event)
    expected = np.array(REFERENCE["cause_specific"][event - 1]["product_limit"])
    # The last value of the last subject lies after a step with dH > 1, where R's incidences add up to more than 1.
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-4)
    np.testing.assert_allclose(got[:2], expected[:2], rtol=0, atol=1e-9)
    np.testing.assert_allclose(got[2, :-1], expected[2, :-1], rtol=0, atol=1e-9)


def test_the_two_rules_differ_by_the_size_of_the_steps():
    both = [
        CauseSpecific(CoxPH(preprocessor=None), rule=rule).fit(DATA["x"], Y)
        for rule in ("exponential", "product_limit")
    ]
    a, b = (model.predict_cumulative_incidence(NEW, TIMES, 1) for model in both)
    assert 1e-4 < np.abs(a - b).max() < 0.02


@pytest.mark.parametrize(
    "estimator", [CoxPH(), RandomSurvivalForest(n_trees=5)], ids=["cox", "forest"]
)
def test_one_kind_gives_back_the_model_itself(estimator):
    y = make_target(DATA["time"], DATA["event"] > 0)
    alone, wrapped = estimator.fit(DATA["x"], y), CauseSpecific(estimator).fit(DATA["x"], y)
    times = np.append(0.0, TIMES)
    np.testing.assert_allclose(
        wrapped.predict_survival_function(NEW, times),
        alone.predict_survival_function(NEW, times),
        atol=1e-12,
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=5).map(sorted))
def test_hazards_in_constant_ratio_are_integrated_exactly(times):
    model = CauseSpecific(Exponential()).fit(DATA["x"], Y)
    rates = np.array([model.estimators_[m].rate_ for m in (1, 2, 3)])
    total = rates.sum()
    for event in (1, 2, 3):
        expected = rates[event - 1] / total * -np.expm1(-total * np.array(times))
        np.testing.assert_allclose(
            model.predict_cumulative_incidence(NEW[:1], times, event)[0], expected, rtol=1e-9
        )


def test_each_model_sees_the_other_kinds_as_censored():
    model = CauseSpecific(CoxPH(preprocessor=None)).fit(DATA["x"], Y)
    alone = CoxPH(preprocessor=None).fit(DATA["x"], make_target(DATA["time"], DATA["event"] == 2))
    np.testing.assert_array_equal(model.estimators_[2].coef_, alone.coef_)


def test_an_event_at_the_origin_is_moved_to_the_first_time_of_any_kind():
    time = DATA["time"].copy()
    time[np.flatnonzero(DATA["event"] == 3)[0]] = 0.0
    model = CauseSpecific(CoxPH(preprocessor=None)).fit(DATA["x"], make_target(time, DATA["event"]))
    assert model.estimators_[3].event_times_[0] == time[(DATA["event"] > 0) & (time > 0)].min()


def test_blocks_of_rows_and_fewer_steps_change_little(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 2))
    times = rng.exponential(np.exp(-x))
    y = make_target(times.min(axis=1), times.argmin(axis=1) + 1)
    model = CauseSpecific(CoxPH(preprocessor=None), max_steps=None).fit(x, y)
    whole = model.predict_cumulative_incidence(x, [0.2, 0.5], 1)
    monkeypatch.setattr(base, "_CELLS", 3000)
    np.testing.assert_allclose(
        model.predict_cumulative_incidence(x, [0.2, 0.5], 1), whole, atol=1e-12
    )
    np.testing.assert_allclose(
        model.set_params(max_steps=100).predict_cumulative_incidence(x, [0.2, 0.5], 1),
        whole,
        atol=1e-3,
    )


def test_rows_of_a_table_are_taken_by_position_whatever_its_index(monkeypatch):
    X = pd.DataFrame(DATA["x"], index=np.arange(len(Y))[::-1] + 0.5)
    model = CauseSpecific(CoxPH()).fit(X, Y)
    whole = model.predict(X)
    monkeypatch.setattr(base, "_CELLS", 5000)
    np.testing.assert_allclose(model.predict(X), whole, atol=1e-12)


def test_a_survival_of_exactly_zero_leaves_finite_incidences():
    class Gone(Exponential):
        def predict_survival_function(self, X, times):
            return np.tile((np.asarray(times) < 5).astype(float), (len(X), 1))

    model = CauseSpecific(Gone()).fit(DATA["x"], Y)
    parts = [model.predict_cumulative_incidence(NEW, [1.0, 5.0, 6.0], event) for event in (1, 2, 3)]
    np.testing.assert_allclose(parts[0], np.tile([0, 1 / 3, 1 / 3], (3, 1)))
    np.testing.assert_array_equal(
        model.predict_survival_function(NEW, [1.0, 6.0]), np.tile([1.0, 0.0], (3, 1))
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": 3}, "estimator needs fit and predict_survival_function; got int"),
        (
            {"estimator": CoxPH(), "rule": "sum"},
            "rule must be one of 'exponential', 'product_limit'; got 'sum'",
        ),
        (
            {"estimator": CoxPH(), "max_steps": 0},
            "max_steps must be a whole number of at least 1 or None; got 0",
        ),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(SettingError, match=message):
        CauseSpecific(**options).fit(DATA["x"], Y)
