import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from helpers.metric_samples import tied_samples
from lifemix.errors import InputError, LifemixWarning
from lifemix.metrics import auc_td
from lifemix.metrics.censoring import censoring_curve

CLOSE = {"rtol": 0, "atol": 1e-12}


@pytest.mark.parametrize(("kind", "event"), [("score_any", None), ("score_1", 1), ("score_2", 2)])
def test_equals_risk_regression_in_r(name, kind, event, references, r_values):
    data, expected = references[name], r_values[name][kind]
    horizons = np.asarray(expected["horizons"])
    got = auc_td(data.y, data.y, data.incidence(event or 1, len(horizons)), horizons, event)
    np.testing.assert_allclose(got, expected["auc"], **CLOSE)


@pytest.mark.parametrize("event", [1, 2])
def test_compat_equals_scikit_survival(event, sksurv_reference, horizons):
    y_train, data, expected = sksurv_reference(event)
    times = horizons[: len(expected["auc"])]
    for risk, key in ((data.risk, "auc"), (data.incidence(event, len(times)), "auc_by_time")):
        got = auc_td(y_train, data.y, risk, times, event, compat="sksurv")
        np.testing.assert_allclose(got, expected[key], **CLOSE)


@given(tied_samples())
def test_equals_the_sum_over_pairs(sample):
    time, event, risk = sample
    case = (time <= 5) & (event == 1)
    assume(case.any())
    curve = censoring_curve(time, event == 0)
    weight = 1 / curve.before(time)
    later = 1 / curve.at(np.array([5.0]))
    control_weight = np.where(time > 5, later, np.where(event == 2, weight, 0.0))
    pairs = np.outer(weight * case, control_weight)
    wins = (risk[:, None] > risk) + 0.5 * (risk[:, None] == risk)
    y = (time, event)
    assert auc_td(y, y, risk, 5.0) == pytest.approx((pairs * wins).sum() / pairs.sum())


@given(tied_samples(), st.integers(0, 10**6))
def test_compat_ties_risks_as_scikit_survival_does(sample, seed):
    metrics = pytest.importorskip("sksurv.metrics")
    from sksurv.util import Surv

    time, event, risk = sample
    assume(((event == 1) & (time <= 5)).any() and time.min() < 5)
    y = Surv.from_arrays(event == 1, time)
    risk = risk * 1e-8 + np.random.default_rng(seed).choice([0.0, 5e-9, 2e-8], len(risk))
    expected = metrics.cumulative_dynamic_auc(y, y, risk, [5.0])[0][0]
    assert auc_td(y, y, risk, 5.0, compat="sksurv") == pytest.approx(expected, abs=1e-12)


def test_the_same_risk_serves_all_horizons(references, horizons):
    data = references["tied"]
    columns = np.repeat(data.risk[:, None], len(horizons), axis=1)
    np.testing.assert_array_equal(
        auc_td(data.y, data.y, data.risk, horizons), auc_td(data.y, data.y, columns, horizons)
    )
    assert isinstance(auc_td(data.y, data.y, data.risk, 3.0), float)
    with pytest.raises(InputError, match=r"risk must have shape \(\d+,\), or .*got \(2, 4\)"):
        auc_td(data.y, data.y, np.zeros((2, 4)), horizons)


def test_without_censoring_it_is_the_area_under_the_usual_roc_curve(rng):
    time, risk = rng.exponential(size=200), rng.normal(size=200).round(1)
    y = (time, np.ones(200, int))
    assert auc_td(y, y, risk, 1.0) == pytest.approx(roc_auc_score(time <= 1, risk), abs=1e-12)


@pytest.mark.parametrize(("missing", "horizon"), [("case", 1.0), ("control", 3.0)])
def test_without_a_case_or_a_control(missing, horizon):
    train = ([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    with pytest.warns(LifemixWarning, match=f"no {missing} at the horizon {horizon:g}"):
        assert np.isnan(auc_td(train, ([2.0, 3.0, 3.0], [1, 1, 0]), [1, 2, 3], horizon))
