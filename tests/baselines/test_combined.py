import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from lifemix import make_target
from lifemix.baselines import (
    AalenJohansen,
    CauseSpecific,
    CoxPH,
    FineGray,
    GradientBoosting,
    KaplanMeier,
    ModelAverage,
    RandomSurvivalForest,
    base,
)
from lifemix.errors import SettingError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(200, 2))
TIME = RNG.exponential(np.exp(-X[:, 0])) + 0.01
EVENT = RNG.integers(0, 3, 200)
ONE, TWO = make_target(TIME, EVENT > 0), make_target(TIME, EVENT)
TIMES = np.array([0.0, 0.2, 1.0, 5.0])

REFERENCE = json.loads(
    (Path(__file__).parent.parent / "references/baselines/competing.json").read_text()
)
R_DATA = {name: np.array(values) for name, values in REFERENCE["data"].items()}
R_NEW, R_TIMES = np.array(REFERENCE["new"]), np.array(REFERENCE["times"])
R_Y = make_target(R_DATA["time"], R_DATA["event"])


def test_curves_are_the_mean_of_the_models_curves():
    parts = [CoxPH(), KaplanMeier(), GradientBoosting(max_iter=10)]
    model = ModelAverage(parts).fit(X, ONE)
    expected = np.mean(
        [part.fit(X, ONE).predict_survival_function(X, TIMES) for part in parts], axis=0
    )
    np.testing.assert_allclose(model.predict_survival_function(X, TIMES), expected, atol=1e-12)


@settings(deadline=None, max_examples=10)
@given(weights=st.lists(st.floats(0.01, 100.0), min_size=2, max_size=2))
def test_models_count_by_their_weights(weights):
    parts = [CoxPH(), KaplanMeier()]
    curves = [part.fit(X, ONE).predict_survival_function(X, TIMES) for part in parts]
    model = ModelAverage(parts, weights=weights).fit(X, ONE)
    expected = (weights[0] * curves[0] + weights[1] * curves[1]) / sum(weights)
    np.testing.assert_allclose(model.predict_survival_function(X, TIMES), expected, atol=1e-12)
    model.set_params(weights=[1.0, 1000.0])  # what is fitted stays as it is
    np.testing.assert_allclose(model.predict_survival_function(X, TIMES), expected, atol=1e-12)


def test_a_model_twice_is_one_of_weight_two():
    twice = ModelAverage([CoxPH(), KaplanMeier(), KaplanMeier()]).fit(X, ONE)
    double = ModelAverage([CoxPH(), KaplanMeier()], weights=(1, 2)).fit(X, ONE)
    np.testing.assert_allclose(
        twice.predict_survival_function(X, TIMES),
        double.predict_survival_function(X, TIMES),
        atol=1e-12,
    )


def test_incidences_and_survival_add_up_to_one():
    model = ModelAverage([AalenJohansen(), GradientBoosting(max_iter=10)], weights=[1, 3]).fit(
        X, TWO
    )
    total = sum(model.predict_cumulative_incidence(X, TIMES, event) for event in (1, 2))
    np.testing.assert_allclose(total + model.predict_survival_function(X, TIMES), 1.0, atol=1e-12)


@settings(deadline=None, max_examples=20)
@given(discount=st.floats(0.01, 1.0))
def test_the_discount_is_a_weight_of_censored_rows(discount):
    model = ModelAverage([KaplanMeier()], discount).fit(X, ONE)
    weighted = KaplanMeier().fit(X, ONE, sample_weight=np.where(EVENT > 0, 1.0, discount))
    np.testing.assert_allclose(
        model.predict_survival_function(X[:1], TIMES),
        weighted.predict_survival_function(X[:1], TIMES),
        atol=1e-12,
    )


def test_weights_of_rows_are_handed_on():
    weight = RNG.integers(1, 4, 200)
    model = ModelAverage([CoxPH()], 0.5).fit(X, ONE, sample_weight=weight)
    alone = CoxPH().fit(X, ONE, sample_weight=np.where(EVENT > 0, weight, 0.5 * weight))
    np.testing.assert_array_equal(
        model.predict_survival_function(X, TIMES), alone.predict_survival_function(X, TIMES)
    )


def test_the_mean_has_a_smaller_squared_error_than_the_models_have_on_average():
    parts = [CoxPH(), GradientBoosting(max_iter=10), KaplanMeier()]
    truth = np.exp(-np.outer(np.exp(X[:, 0]), TIMES))
    errors = [
        np.mean((part.fit(X, ONE).predict_survival_function(X, TIMES) - truth) ** 2)
        for part in parts
    ]
    mean = ModelAverage(parts).fit(X, ONE).predict_survival_function(X, TIMES)
    assert np.mean((mean - truth) ** 2) < np.mean(errors)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimators": []}, "at least one model; got "),
        (
            {"estimators": [object()]},
            "a model with fit and predict_survival_function and .* got object",
        ),
        ({"estimators": [CoxPH()], "discount": 0.0}, "above 0 and at most 1; got 0.0"),
        ({"estimators": [CoxPH()], "discount": 1.5}, "above 0 and at most 1; got 1.5"),
        (
            {"estimators": [CoxPH()], "weights": [1, 2]},
            "one number above 0 for each of the 1 models; got .1, 2.",
        ),
        ({"estimators": [CoxPH()], "weights": [0.0]}, "one number above 0"),
        ({"estimators": [CoxPH()], "weights": [np.inf]}, "one number above 0"),
        ({"estimators": [CoxPH()], "weights": ["2"]}, "one number above 0"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(options, message):
    with pytest.raises(SettingError, match=message):
        ModelAverage(**options).fit(X, ONE)


def test_the_average_has_a_net_law_where_all_its_models_have_one():
    parts = [GradientBoosting(max_iter=10), CauseSpecific(CoxPH()), AalenJohansen()]
    model = ModelAverage(parts, weights=[1, 2, 3]).fit(X, TWO)
    nets = [part.fit(X, TWO).predict_net_survival(X, TIMES, 2) for part in parts]
    expected = np.average(nets, axis=0, weights=[1, 2, 3])
    np.testing.assert_allclose(model.predict_net_survival(X, TIMES, 2), expected, atol=1e-12)
    assert not hasattr(ModelAverage([*parts, FineGray()]).fit(X, TWO), "predict_net_survival")


# One model per event type.


class Exponential(BaseEstimator):
    """An estimator of someone else: constant hazard, the number of events over the time at risk."""

    def fit(self, X, y):
        self.rate_ = y["event"].sum() / y["time"].sum()
        return self

    def predict_survival_function(self, X, times):
        return np.exp(-self.rate_ * np.tile(times, (len(X), 1)))


@pytest.mark.parametrize("event", [1, 2, 3])
def test_product_limit_is_equal_to_csc_of_r(event):
    model = CauseSpecific(CoxPH(preprocessor=None), rule="product_limit").fit(R_DATA["x"], R_Y)
    got = model.predict_cumulative_incidence(R_NEW, R_TIMES, event)
    expected = np.array(REFERENCE["cause_specific"][event - 1]["product_limit"])
    # The last value of the last subject lies after a step with dH > 1, where R's incidences add up to more than 1.
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-4)
    np.testing.assert_allclose(got[:2], expected[:2], rtol=0, atol=1e-9)
    np.testing.assert_allclose(got[2, :-1], expected[2, :-1], rtol=0, atol=1e-9)


def test_the_two_rules_differ_by_the_size_of_the_steps():
    both = [
        CauseSpecific(CoxPH(preprocessor=None), rule=rule).fit(R_DATA["x"], R_Y)
        for rule in ("exponential", "product_limit")
    ]
    a, b = (model.predict_cumulative_incidence(R_NEW, R_TIMES, 1) for model in both)
    assert 1e-4 < np.abs(a - b).max() < 0.02


@pytest.mark.parametrize(
    "estimator", [CoxPH(), RandomSurvivalForest(n_trees=5)], ids=["cox", "forest"]
)
def test_one_kind_gives_back_the_model_itself(estimator):
    y = make_target(R_DATA["time"], R_DATA["event"] > 0)
    alone, wrapped = estimator.fit(R_DATA["x"], y), CauseSpecific(estimator).fit(R_DATA["x"], y)
    times = np.append(0.0, R_TIMES)
    np.testing.assert_allclose(
        wrapped.predict_survival_function(R_NEW, times),
        alone.predict_survival_function(R_NEW, times),
        atol=1e-12,
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=5).map(sorted))
def test_hazards_in_constant_ratio_are_integrated_exactly(times):
    model = CauseSpecific(Exponential()).fit(R_DATA["x"], R_Y)
    rates = np.array([model.estimators_[m].rate_ for m in (1, 2, 3)])
    total = rates.sum()
    for event in (1, 2, 3):
        expected = rates[event - 1] / total * -np.expm1(-total * np.array(times))
        np.testing.assert_allclose(
            model.predict_cumulative_incidence(R_NEW[:1], times, event)[0], expected, rtol=1e-9
        )


def test_each_model_sees_the_other_kinds_as_censored():
    model = CauseSpecific(CoxPH(preprocessor=None)).fit(R_DATA["x"], R_Y)
    alone = CoxPH(preprocessor=None).fit(
        R_DATA["x"], make_target(R_DATA["time"], R_DATA["event"] == 2)
    )
    np.testing.assert_array_equal(model.estimators_[2].coef_, alone.coef_)


def test_an_event_at_the_origin_is_moved_to_the_first_time_of_any_kind():
    time = R_DATA["time"].copy()
    time[np.flatnonzero(R_DATA["event"] == 3)[0]] = 0.0
    model = CauseSpecific(CoxPH(preprocessor=None)).fit(
        R_DATA["x"], make_target(time, R_DATA["event"])
    )
    assert model.estimators_[3].event_times_[0] == time[(R_DATA["event"] > 0) & (time > 0)].min()


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
    X = pd.DataFrame(R_DATA["x"], index=np.arange(len(R_Y))[::-1] + 0.5)
    model = CauseSpecific(CoxPH()).fit(X, R_Y)
    whole = model.predict(X)
    monkeypatch.setattr(base, "_CELLS", 5000)
    np.testing.assert_allclose(model.predict(X), whole, atol=1e-12)


def test_a_survival_of_exactly_zero_leaves_finite_incidences():
    class Gone(Exponential):
        def predict_survival_function(self, X, times):
            return np.tile((np.asarray(times) < 5).astype(float), (len(X), 1))

    model = CauseSpecific(Gone()).fit(R_DATA["x"], R_Y)
    parts = [
        model.predict_cumulative_incidence(R_NEW, [1.0, 5.0, 6.0], event) for event in (1, 2, 3)
    ]
    np.testing.assert_allclose(parts[0], np.tile([0, 1 / 3, 1 / 3], (3, 1)))
    np.testing.assert_array_equal(
        model.predict_survival_function(R_NEW, [1.0, 6.0]), np.tile([1.0, 0.0], (3, 1))
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"estimator": 3},
            "estimator: expected a model with fit and predict_survival_function; got int",
        ),
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
def test_bad_settings_of_cause_specific_models_are_refused(options, message):
    with pytest.raises(SettingError, match=message):
        CauseSpecific(**options).fit(R_DATA["x"], R_Y)
