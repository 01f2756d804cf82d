import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from lifemix import make_target
from lifemix.errors import InputError, SettingError, TargetError
from lifemix.metrics import d_calibration

VALUES = [0.0, 0.05, 0.1, 0.37, 0.5, 0.999, 1.0]


@given(
    st.lists(st.tuples(st.sampled_from(VALUES), st.integers(0, 2)), min_size=1, max_size=40),
    st.sampled_from([2, 5, 10]),
    st.sampled_from([None, 1]),
)
def test_equals_the_original_definition(rows, bins, event):
    survival, kind = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    edges = np.linspace(0, 1, bins + 1)
    counts = np.zeros(bins)
    for s, k in zip(survival, kind, strict=True):
        part = min(int(s * bins), bins - 1)
        if (k > 0) if event is None else (k == event):
            counts[part] += 1
        elif s == 0:
            counts[0] += 1
        else:
            counts[part] += (s - edges[part]) / s
            counts[:part] += (1 / bins) / s
    result = d_calibration((np.ones(len(rows)), kind), survival, event, bins=bins)
    np.testing.assert_allclose(result.counts, counts, atol=1e-12)
    assert result.counts.sum() == pytest.approx(len(rows))
    expected = len(rows) / bins
    assert result.statistic == pytest.approx(((counts - expected) ** 2 / expected).sum(), abs=1e-9)
    assert result.p_value == pytest.approx(chi2.sf(result.statistic, bins - 1))


def test_by_hand():
    # One event with S = 0.75, one censored at S = 0.75: 0.25 / 0.75 above 1/2 and 0.5 / 0.75 below.
    result = d_calibration(([1.0, 2.0], [1, 0]), [0.75, 0.75], bins=2)
    np.testing.assert_allclose(result.counts, [2 / 3, 4 / 3])
    assert result.statistic == pytest.approx(2 / 9)


def test_a_value_on_an_edge_belongs_to_the_part_above():
    np.testing.assert_array_equal(d_calibration(([1.0], [1]), [0.5], bins=2).counts, [0, 1])


def test_without_censoring_the_p_values_of_the_true_model_are_uniform(rng):
    p_values = [
        d_calibration((np.ones(500), np.ones(500, int)), rng.random(500)).p_value
        for _ in range(400)
    ]
    counts = np.histogram(p_values, bins=5, range=(0, 1))[0]
    assert chi2.sf(((counts - 80) ** 2 / 80).sum(), 4) > 0.001


def test_it_tells_the_true_model_from_a_wrong_one(rng):
    n = 5000
    rate = np.exp(rng.normal(size=n))
    time, censoring = rng.exponential(1 / rate), rng.exponential(1.0, n)
    y = (np.minimum(time, censoring), (time <= censoring).astype(int))
    survival = np.exp(-rate * y[0])
    assert d_calibration(y, survival).p_value > 0.001
    assert d_calibration(y, survival**1.3).p_value < 1e-6


def test_truncated_rows_are_judged_given_their_entry(rng):
    n = 20_000
    time, entry = rng.exponential(1.0, n), rng.exponential(0.7, n)
    seen = time > entry
    y = make_target(time[seen], np.ones(seen.sum(), int), entry=entry[seen])
    assert d_calibration(y, np.exp(-(time - entry)[seen])).p_value > 0.001
    assert d_calibration(y, np.exp(-time[seen])).p_value < 1e-6


def test_net_survival_of_one_event_takes_the_others_as_censorings(rng):
    times = rng.exponential([1.0, 0.5], (5000, 2))
    y = (times.min(axis=1), times.argmin(axis=1) + 1)
    assert d_calibration(y, np.exp(-y[0]), event=1).p_value > 0.001
    assert d_calibration(y, np.exp(-y[0])).p_value < 1e-6


def test_bad_arguments_are_refused():
    y = ([1.0, 2.0], [1, 0])
    with pytest.raises(
        InputError, match=r"one value per row, \(2,\): S_i\(T_i\); got shape \(2, 2\)"
    ):
        d_calibration(y, np.full((2, 2), 0.5))
    with pytest.raises(InputError, match="probabilities"):
        d_calibration(y, [0.5, -0.1])
    with pytest.raises(SettingError, match="bins must be a whole number of at least 2; got 1"):
        d_calibration(y, [0.5, 0.5], bins=1)
    with pytest.raises(TargetError, match="interval"):
        d_calibration(make_target([1.0], [1], upper=[2.0]), [0.5])
