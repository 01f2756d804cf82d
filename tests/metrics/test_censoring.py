import numpy as np
from hypothesis import given

from helpers.metric_samples import tied_samples
from lifemix.metrics import kaplan_meier
from lifemix.metrics.censoring import censoring_curve


@given(tied_samples())
def test_product_limit_with_events_before_censorings(sample):
    time, event, _ = sample
    curve, value = censoring_curve(time, event == 0), 1.0
    for t in np.arange(1.0, 10.0):
        np.testing.assert_allclose(curve.before(np.array([t])), value, atol=1e-15)
        n_censored = ((time == t) & (event == 0)).sum()
        at_risk = (time >= t).sum() - ((time == t) & (event > 0)).sum()
        value *= 1 - n_censored / max(at_risk, 1)
        np.testing.assert_allclose(curve.at(np.array([t])), value, atol=1e-15)


@given(tied_samples())
def test_survival_times_censoring_is_the_share_at_risk(sample):
    # S(t-) G(t-) = #(T >= t) / n, which holds if events come before censorings.
    time, event, _ = sample
    times = np.unique(time)
    survival = np.append(1.0, kaplan_meier((time, event), event=None).estimate[:-1])
    censoring = censoring_curve(time, event == 0).before(times)
    share = (time[:, None] >= times).mean(axis=0)
    np.testing.assert_allclose(survival * censoring, share, atol=1e-14)


def test_the_curve_is_unknown_beyond_the_follow_up():
    curve = censoring_curve(np.array([1.0, 2.0, 3.0]), np.array([True, False, False]))
    np.testing.assert_allclose(curve.at(np.array([0.0, 1.0, 3.0, 3.5])), [1, 2 / 3, 2 / 3, np.nan])
    assert np.isnan(curve.before(np.array([3.5]))).all()
