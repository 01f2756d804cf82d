import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifemix import make_target
from lifemix.baselines import (
    AalenJohansen,
    CauseSpecific,
    CoxPH,
    FineGray,
    GradientBoosting,
    KaplanMeier,
    ModelAverage,
)
from lifemix.errors import SettingError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(200, 2))
TIME = RNG.exponential(np.exp(-X[:, 0])) + 0.01
EVENT = RNG.integers(0, 3, 200)
ONE, TWO = make_target(TIME, EVENT > 0), make_target(TIME, EVENT)
TIMES = np.array([0.0, 0.2, 1.0, 5.0])


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
        ({"estimators": [object()]}, "need fit and predict_survival_function and .* got object"),
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
