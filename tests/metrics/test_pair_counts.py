import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifemix.metrics._pair_counts import compare


def double_loop(point_key, point_risk, case_key, case_risk, weight, tolerance):
    beyond = point_key[None, :] >= case_key[:, None]
    difference = point_risk[None, :] - case_risk[:, None]
    share = np.where(np.abs(difference) <= tolerance, 0.5, difference < 0)
    return (beyond * share) @ weight, beyond @ weight


@pytest.mark.parametrize("n_cases", [1, 3, 40])
@pytest.mark.parametrize("tolerance", [0.0, 5e-9, 0.25])
@given(data=st.data())
def test_compare_equals_the_double_loop(n_cases, tolerance, data):
    seed = data.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    n = data.draw(st.integers(1, 60))
    point_key, case_key = rng.integers(0, 5, n), rng.integers(0, 6, n_cases)
    point_risk, case_risk = (
        rng.integers(0, 4, size) * 0.1 + rng.choice([0, 1e-8, 3e-9], size) for size in (n, n_cases)
    )
    weight = rng.uniform(0.5, 2, n)
    expected = double_loop(point_key, point_risk, case_key, case_risk, weight, tolerance)
    got = compare(point_key, point_risk, case_key, case_risk, weight, tolerance)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    expected = double_loop(point_key, point_risk, case_key, case_risk, np.ones(n), tolerance)
    np.testing.assert_array_equal(
        compare(point_key, point_risk, case_key, case_risk, None, tolerance), expected
    )


@pytest.mark.parametrize("n", [2**10 - 1, 2**10, 2**10 + 1])
def test_sizes_about_a_power_of_two(n, rng):
    key, risk = rng.permutation(n), rng.normal(size=n)
    expected = double_loop(key, risk, key + 1, risk, np.ones(n), 0.0)
    np.testing.assert_array_equal(compare(key, risk, key + 1, risk), expected)


def test_memory_grows_with_the_rows_not_with_the_pairs(rng):
    peaks = []
    for n in (20_000, 80_000):
        key, risk = rng.integers(0, 300, n), rng.normal(size=n)
        tracemalloc.start()
        compare(key, risk, key + 1, risk)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 5 * peaks[0]
    # Bytes per point and per case; a matrix of pairs would take 400 million.
    assert peaks[0] < 300 * (20_000 + 20_000)
