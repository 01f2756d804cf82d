import numpy as np
import pytest

from lifemix import make_target
from lifemix.baselines import CoxPH, FineGray


@pytest.mark.parametrize("event", [1, 2, 3])
def test_equals_crr_of_r(event, competing):
    model = FineGray(coherent=False, preprocessor=None).fit(competing.x, competing.y)
    expected = competing.fine_gray[event - 1]
    np.testing.assert_allclose(model.coef_[event], expected["coef"], atol=1e-9)
    errors = model.summary.set_index("event").loc[event, "standard_error"]
    np.testing.assert_allclose(errors, expected["standard_errors"], rtol=1e-9)
    incidence = model.predict_cumulative_incidence(competing.new, competing.times, event)
    np.testing.assert_allclose(incidence, expected["incidence"], rtol=0, atol=1e-9)


def test_coherent_incidences_equal_crr_until_they_add_up_to_one(competing):
    model = FineGray(preprocessor=None).fit(competing.x, competing.y)
    expected = np.array([values["incidence"] for values in competing.fine_gray])
    got = np.array(
        [
            model.predict_cumulative_incidence(competing.new, competing.times, event)
            for event in (1, 2, 3)
        ]
    )
    is_above = expected.sum(axis=0) > 1
    assert is_above.any(), "the reference needs a subject whose incidences pass 1"
    np.testing.assert_allclose(got[:, ~is_above], expected[:, ~is_above], atol=1e-9)
    np.testing.assert_allclose(got.sum(axis=0)[is_above], 1, atol=1e-12)
    assert (got <= expected + 1e-12).all()


def test_a_single_event_type_is_cox_regression(competing):
    models = [FineGray(preprocessor=None), CoxPH(preprocessor=None, ties="breslow")]
    fine_gray, cox = (model.fit(competing.x, competing.any_event) for model in models)
    np.testing.assert_allclose(fine_gray.coef_[1], cox.coef_, atol=1e-12)
    survival, expected = (
        model.predict_survival_function(competing.new, competing.times) for model in models
    )
    np.testing.assert_allclose(survival, expected, atol=1e-12)


def test_recovers_the_model_it_assumes():
    # Fine and Gray (1999), section 5: F_1(t | x) = 1 - (1 - p (1 - exp(-t)))^exp(x b).
    rng = np.random.default_rng(3)
    n, p, b = 6000, 0.5, 0.8
    x = rng.normal(size=(n, 1))
    ratio = np.exp(b * x[:, 0])
    first = rng.random(n) < 1 - (1 - p) ** ratio
    u = rng.random(n) * (1 - (1 - p) ** ratio)
    t1 = -np.log(1 - (1 - (1 - u) ** (1 / ratio)) / p, where=first, out=np.full(n, np.inf))
    time, censoring = np.where(first, t1, rng.exponential(1, n)), rng.uniform(0, 4, n)
    event = np.where(time > censoring, 0, np.where(first, 1, 2))
    model = FineGray(preprocessor=None).fit(x, make_target(np.minimum(time, censoring), event))
    error = model.summary["standard_error"][0]
    assert model.coef_[1][0] == pytest.approx(b, abs=3 * error)
    assert 0.01 < error < 0.03
    times, new = np.array([0.2, 0.5, 1.0, 2.0]), np.array([[-1.0], [0.0], [1.0]])
    expected = 1 - (1 - p * (1 - np.exp(-times))) ** np.exp(b * new)
    incidence = model.predict_cumulative_incidence(new, times, 1)
    np.testing.assert_allclose(incidence, expected, atol=0.025)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::lifemix.errors.LifemixWarning")
def test_columns_that_depend_on_earlier_ones_have_no_standard_errors():
    rng = np.random.default_rng(4)
    time, event, x = rng.exponential(size=300), rng.integers(0, 3, 300), rng.normal(size=(300, 3))
    rare = (rng.random((300, 2)) < 0.03) & (event != 2)[:, None]  # true only without event 2
    columns = [x, rare, x @ rng.normal(size=(3, 4)), rare[:, 0] + x[:, 0], rare[:, 1] - x[:, 1]]
    model = FineGray(preprocessor=None).fit(np.column_stack(columns), make_target(time, event))
    errors = model.summary.set_index("event").loc[2, "standard_error"].to_numpy()
    assert (errors[:3] > 0).all()
    assert np.isnan(errors[5:]).all()
