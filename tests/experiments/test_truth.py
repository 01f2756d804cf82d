import numpy as np
import pytest

from experiments.truth import TrueSynthetic
from lifemix import datasets, make_target
from lifemix.baselines import CauseSpecific, CoxPH
from lifemix.errors import CovariateError, TargetError

DATA = datasets.make_synthetic(2000, truth=True, integer_times=False)
TIMES = np.array([0.0, 1.0, 10.0, 50.0, 300.0])


def test_predicts_the_distribution_that_the_rows_were_drawn_from():
    model = TrueSynthetic().fit(DATA.X, DATA.y)
    np.testing.assert_allclose(
        model.predict_survival_function(DATA.X, TIMES), DATA.truth.survival(TIMES)
    )
    for event in (1, 2):
        incidence = model.predict_cumulative_incidence(DATA.X, TIMES, event)
        np.testing.assert_allclose(incidence, DATA.truth.cumulative_incidence(TIMES, event))
    rounded = TrueSynthetic(rounded=True).fit(DATA.X, DATA.y)
    np.testing.assert_allclose(
        rounded.predict_survival_function(DATA.X, TIMES), DATA.truth.rounded.survival(TIMES)
    )


def test_is_better_than_a_fitted_model():
    uncensored = DATA.truth.y
    truth = TrueSynthetic().fit(DATA.X, uncensored).score(DATA.X, uncensored)
    cox = CauseSpecific(CoxPH()).fit(DATA.X, uncensored).score(DATA.X, uncensored)
    assert truth > cox + 0.1


def test_other_data_are_refused():
    with pytest.raises(TargetError, match="12 covariates and 2 event types; got 3 and 1"):
        TrueSynthetic().fit(np.zeros((4, 3)), make_target([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1]))
    with pytest.raises(CovariateError, match=r"positive mean times; got \[0\.0, 0\.0\] at row 0"):
        TrueSynthetic().fit(DATA.X, DATA.y).predict(DATA.X[:1] * 0)


def test_means_below_the_least_count_as_the_least():
    held = TrueSynthetic(least_mean=0.5).fit(DATA.X, DATA.y)
    survival = held.predict_survival_function(DATA.X[:1] * 0, [1.0])
    np.testing.assert_allclose(survival, np.exp(-2 / 0.5))


def test_net_survival_is_that_of_one_event_without_the_other():
    model = TrueSynthetic().fit(DATA.X, DATA.y)
    times = np.array([0.5, 3.0, 40.0])
    both = model.predict_net_survival(DATA.X, times, 1) * model.predict_net_survival(
        DATA.X, times, 2
    )
    np.testing.assert_allclose(both, model.predict_survival_function(DATA.X, times), rtol=1e-12)
    later = DATA.truth.means[:, 0].argsort()
    assert (np.diff(model.predict_net_survival(DATA.X, [30.0], 1)[later, 0]) >= 0).all()
