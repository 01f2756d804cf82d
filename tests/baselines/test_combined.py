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

RNG = np.random.default_rng(3)
X = RNG.normal(size=(200, 2))
TIME = RNG.exponential(np.exp(-X[:, 0])) + 0.01
EVENT = RNG.integers(0, 3, 200)
Y_ANY, Y = make_target(TIME, EVENT > 0), make_target(TIME, EVENT)
TIMES = np.array([0.0, 0.2, 1.0, 5.0])


def assert_same_survival(model, other, x=X, times=TIMES):
    survival, expected = (m.predict_survival_function(x, times) for m in (model, other))
    np.testing.assert_allclose(survival, expected, atol=1e-12)


class TestModelAverage:
    @settings(max_examples=10)
    @given(weights=st.lists(st.floats(0.01, 100.0), min_size=2, max_size=2))
    def test_curves_are_the_weighted_mean_of_the_models_curves(self, weights):
        models = [CoxPH(), KaplanMeier()]
        curves = [model.fit(X, Y_ANY).predict_survival_function(X, TIMES) for model in models]
        expected = np.average(curves, axis=0, weights=weights)
        average = ModelAverage(models, weights=weights).fit(X, Y_ANY)
        average.set_params(weights=[1.0, 1000.0])  # without effect on the fitted model
        survival = average.predict_survival_function(X, TIMES)
        np.testing.assert_allclose(survival, expected, atol=1e-12)

    def test_a_model_twice_has_twice_the_weight(self):
        twice = ModelAverage([CoxPH(), KaplanMeier(), KaplanMeier()]).fit(X, Y_ANY)
        double = ModelAverage([CoxPH(), KaplanMeier()], weights=(1, 2)).fit(X, Y_ANY)
        assert_same_survival(twice, double)

    @settings(max_examples=10)
    @given(discount=st.floats(0.01, 1.0))
    def test_the_discount_is_a_weight_of_censored_rows(self, discount):
        weight = RNG.integers(1, 4, 200)
        average = ModelAverage([CoxPH()], discount).fit(X, Y_ANY, sample_weight=weight)
        discounted = np.where(EVENT > 0, weight, discount * weight)
        assert_same_survival(average, CoxPH().fit(X, Y_ANY, sample_weight=discounted))

    def test_has_net_survival_if_all_its_models_have(self):
        models = [GradientBoosting(max_iter=10), CauseSpecific(CoxPH()), AalenJohansen()]
        average = ModelAverage(models, weights=[1, 2, 3]).fit(X, Y)
        nets = [model.fit(X, Y).predict_net_survival(X, TIMES, 2) for model in models]
        expected = np.average(nets, axis=0, weights=[1, 2, 3])
        np.testing.assert_allclose(average.predict_net_survival(X, TIMES, 2), expected, atol=1e-12)
        assert not hasattr(ModelAverage([*models, FineGray()]).fit(X, Y), "predict_net_survival")


class Exponential(BaseEstimator):
    """An estimator of another package: the constant hazard of all rows."""

    def fit(self, X, y):
        self.rate_ = y["event"].sum() / y["time"].sum()
        return self

    def predict_survival_function(self, X, times):
        return np.exp(-self.rate_ * np.tile(times, (len(X), 1)))


class Deterministic(Exponential):
    def predict_survival_function(self, X, times):
        return np.tile((np.asarray(times) < 5).astype(float), (len(X), 1))


class TestCauseSpecific:
    @pytest.mark.parametrize("event", [1, 2, 3])
    def test_product_limit_equals_csc_of_r(self, event, competing):
        both = [
            CauseSpecific(CoxPH(preprocessor=None), rule=rule).fit(competing.x, competing.y)
            for rule in ("product_limit", "exponential")
        ]
        got, exponential = (
            model.predict_cumulative_incidence(competing.new, competing.times, event)
            for model in both
        )
        expected = np.array(competing.cause_specific[event - 1]["product_limit"])
        # The last value of the last subject follows a step with dH > 1, where R's incidences add
        # up to more than 1.
        np.testing.assert_allclose(got[-1, -1], expected[-1, -1], rtol=0, atol=1e-4)
        got[-1, -1] = expected[-1, -1]
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9)
        assert 1e-4 < np.abs(exponential - expected).max() < 0.05

    @pytest.mark.parametrize("estimator", [CoxPH(), RandomSurvivalForest(n_trees=5)], ids=str)
    def test_for_a_single_event_type_it_is_the_model_itself(self, estimator, competing):
        model = CauseSpecific(estimator).fit(competing.x, competing.any_event)
        estimator.fit(competing.x, competing.any_event)
        assert_same_survival(model, estimator, competing.new, np.append(0.0, competing.times))

    @given(st.lists(st.floats(0.01, 100), min_size=1, max_size=5).map(sorted))
    def test_hazards_in_constant_ratio_are_integrated_exactly(self, times):
        model = CauseSpecific(Exponential()).fit(X, Y)
        rates = np.array([model.estimators_[event].rate_ for event in (1, 2)])
        for event, rate in enumerate(rates, start=1):
            expected = rate / rates.sum() * -np.expm1(-rates.sum() * np.array(times))
            incidence = model.predict_cumulative_incidence(X[:1], times, event)[0]
            np.testing.assert_allclose(incidence, expected, rtol=1e-9)

    def test_models_treat_other_events_as_censored(self):
        model = CauseSpecific(CoxPH(preprocessor=None)).fit(X, Y)
        alone = CoxPH(preprocessor=None).fit(X, make_target(TIME, EVENT == 2))
        np.testing.assert_array_equal(model.estimators_[2].coef_, alone.coef_)

    def test_an_event_at_the_origin_moves_to_the_first_time_of_any_event(self):
        time = np.where(np.arange(200) == np.flatnonzero(EVENT == 2)[0], 0.0, TIME)
        model = CauseSpecific(CoxPH(preprocessor=None)).fit(X, make_target(time, EVENT))
        assert model.estimators_[2].event_times_[0] == time[(EVENT > 0) & (time > 0)].min()

    def test_blocks_of_rows_change_nothing_and_fewer_steps_little(self, monkeypatch):
        table = pd.DataFrame(X, index=np.arange(200)[::-1] + 0.5)
        model = CauseSpecific(CoxPH(), max_steps=None).fit(table, Y)
        expected = model.predict_cumulative_incidence(table, TIMES, 1)
        monkeypatch.setattr(base, "_CELLS", 3000)
        blocks = model.predict_cumulative_incidence(table, TIMES, 1)
        np.testing.assert_allclose(blocks, expected, atol=1e-12)
        model.set_params(max_steps=40)
        coarse = model.predict_cumulative_incidence(table, TIMES, 1)
        np.testing.assert_allclose(coarse, expected, atol=1e-2)

    def test_survival_of_exactly_zero_leaves_finite_incidences(self):
        model = CauseSpecific(Deterministic()).fit(X, Y)
        incidence = model.predict_cumulative_incidence(X[:3], [1.0, 5.0, 6.0], 1)
        np.testing.assert_allclose(incidence, np.tile([0, 1 / 2, 1 / 2], (3, 1)))
        survival = model.predict_survival_function(X[:3], [1.0, 6.0])
        np.testing.assert_array_equal(survival, np.tile([1.0, 0.0], (3, 1)))
