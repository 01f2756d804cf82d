import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifemix.metrics._pair_counts import compare


def by_matrix(point_key, point_risk, case_key, case_risk, weight, tolerance=0.0):
    later = point_key >= case_key[:, None]
    difference = point_risk - case_risk[:, None]
    wins = np.where(np.abs(difference) <= tolerance, 0.5, difference < 0)
    return (later * wins) @ weight, later @ weight


@pytest.mark.parametrize("tolerance", [0.0, 5e-9, 0.25])
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 40))
def test_compare_equals_the_matrix_of_pairs(tolerance, seed, n, n_cases):
    rng = np.random.default_rng(seed)
    point_key, case_key = rng.integers(0, 5, n), rng.integers(0, 6, n_cases)
    point_risk, case_risk = (
        rng.integers(0, 4, size) * 0.1 + rng.choice([0, 1e-8, 3e-9], size) for size in (n, n_cases)
    )
    for weight in (rng.uniform(0.5, 2, n), None):
        got = compare(point_key, point_risk, case_key, case_risk, weight, tolerance)
        counts = np.ones(n) if weight is None else weight
        expected = by_matrix(point_key, point_risk, case_key, case_risk, counts, tolerance)
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [2**10 - 1, 2**10, 2**10 + 1])
def test_sizes_about_a_power_of_two(n, rng):
    key, risk = rng.permutation(n), rng.normal(size=n)
    expected = by_matrix(key, risk, key + 1, risk, np.ones(n))
    np.testing.assert_array_equal(compare(key, risk, key + 1, risk), expected)


def test_memory_grows_with_the_rows_not_with_the_pairs(rng):
    key, risk = rng.integers(0, 300, 20_000), rng.normal(size=20_000)
    tracemalloc.start()
    compare(key, risk, key + 1, risk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300 * 40_000  # bytes per point and case; a matrix takes 400 million
