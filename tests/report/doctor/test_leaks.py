"""Columns that contain the outcome, and honest ones."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifemix.report.doctor import check_table
from lifemix.report.doctor.leaks import expected_events
from lifemix.target import as_target

RNG = np.random.default_rng(1)
NORMAL, UNIFORM = pd.Series(RNG.normal(size=1000)), RNG.random(1000)
COLUMNS = {
    "a copy of the time": (lambda t, e: 7 * t + 1, "stop leak"),
    "the falling time": (lambda t, e: -np.log(t + 0.01), "stop leak"),
    "a copy of the event": (lambda t, e: e, "stop leak"),
    "the event as a word": (lambda t, e: np.where(e == 1, "dead", "alive"), "stop leak"),
    "nearly the event": (lambda t, e: e + NORMAL / 2, "warn leak"),
    "nearly the time": (lambda t, e: np.log(t) + 0.3 * NORMAL, "warn leak"),
    "the cause of death": (lambda t, e: 1.0 * (UNIFORM < 0.5) + 0 / (e == 1), "stop leak"),
    "a mark of events": (lambda t, e: np.where(UNIFORM < 0.04 + 0.91 * e, "x", None), "warn leak"),
    "the last visit": (lambda t, e: NORMAL.where(e == 0), "stop leak"),
    "informative gaps": (
        lambda t, e: NORMAL.mask(np.where(t < np.median(t), 0.6, 0.1) > UNIFORM),
        "note informative-missingness",
    ),
}


@pytest.mark.parametrize(("change", "expected"), COLUMNS.values(), ids=COLUMNS.keys())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_columns_that_contain_the_outcome_are_reported(clean, codes, change, expected):
    X, times, event = clean
    findings = check_table(X.assign(new=change(times, event)), (times, event))
    (finding,) = [finding for finding in findings if expected in codes([finding])]
    assert "new" in finding.text
    assert ("Leave new out" in finding.remedy) == (finding.code == "leak")


@pytest.mark.parametrize("seed", range(5))
def test_strong_but_honest_columns_are_no_leak(codes, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=1000)
    event, censoring = rng.exponential(np.exp(-1.5 * x)), rng.exponential(2.0, 1000)
    y = np.minimum(event, censoring), (event <= censoring).astype(int)
    assert not {"stop leak", "warn leak"} & codes(check_table(x[:, None], y))


def test_columns_that_contain_the_event_type_are_reported(clean, codes):
    X, times, event = clean
    event = event * (1 + (UNIFORM < 0.5))
    with_cause = X.assign(cause=np.where(event == 2, "b", "a"))
    assert "stop leak" in codes(check_table(with_cause, (times, event)))
    assert not {"stop leak", "warn leak"} & codes(check_table(X, (times, event)))


ROWS = st.lists(st.tuples(st.floats(0.01, 10), st.integers(0, 2)), min_size=1, max_size=30)


@given(ROWS)
def test_expected_events_sum_to_the_observed(rows):
    times, event = np.array(rows).T
    target = as_target((times, event.astype(int)))
    assert expected_events(target).sum() == pytest.approx((event > 0).sum())
