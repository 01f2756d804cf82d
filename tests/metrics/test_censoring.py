import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lifemix.metrics import kaplan_meier
from lifemix.metrics.censoring import censoring_curve

ROWS = st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=40)


@given(ROWS)
def test_product_limit_with_events_before_censorings(rows):
    time = np.array([row[0] for row in rows], dtype=float)
    censored = np.array([row[1] for row in rows])
    curve = censoring_curve(time, censored)
    value, after = 1.0, {}
    for t in range(1, 10):
        at_risk = np.sum(time >= t) - np.sum((time == t) & ~censored)
        lost = np.sum((time == t) & censored)
        before, value = value, value * (1 - lost / at_risk) if lost else value
        after[t] = (before, value)
    inside = np.arange(1.0, time.max() + 1)
    np.testing.assert_allclose(curve.before(inside), [after[t][0] for t in inside], atol=1e-15)
    np.testing.assert_allclose(curve.at(inside), [after[t][1] for t in inside], atol=1e-15)


@given(ROWS)
def test_survival_times_censoring_is_the_share_at_risk(rows):
    # S(t-) G(t-) = #(T >= t) / n, which holds just when the events come before the censorings.
    time = np.array([row[0] for row in rows], dtype=float)
    event = np.array([not row[1] for row in rows], dtype=int)
    times = np.unique(time)
    survival = np.append(1.0, kaplan_meier((time, event)).estimate[:-1])
    share = (time[:, None] >= times).mean(axis=0)
    np.testing.assert_allclose(
        survival * censoring_curve(time, event == 0).before(times), share, atol=1e-14
    )


def test_nothing_is_known_beyond_the_follow_up():
    curve = censoring_curve(np.array([1.0, 2.0, 3.0]), np.array([True, False, False]))
    assert np.isnan(curve.at(np.array([3.5]))).all()
    assert np.isnan(curve.before(np.array([3.5]))).all()
    np.testing.assert_allclose(curve.at(np.array([0.0, 1.0, 3.0])), [1, 2 / 3, 2 / 3])


def test_without_censoring_the_curve_is_one():
    curve = censoring_curve(np.array([1.0, 2.0]), np.array([False, False]))
    np.testing.assert_array_equal(curve.at(np.array([0.5, 1.0, 2.0])), 1.0)
