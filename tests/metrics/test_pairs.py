import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifemix.metrics.pairs import later_and_lower, later_pairs, nearly_tied

ROWS = st.lists(st.tuples(st.integers(0, 6), st.integers(-4, 4)), max_size=60)


@given(st.integers(1, 70).flatmap(lambda n: st.permutations(range(n))))
def test_later_and_lower_counts_inversions(by_rank):
    rank = np.argsort(by_rank)
    expected = [int(np.sum(rank[i + 1 :] < rank[i])) for i in range(len(rank))]
    assert later_and_lower(np.asarray(by_rank)).tolist() == expected


@given(ROWS)
def test_later_pairs_equal_the_double_loop(rows):
    key = np.array([row[0] for row in rows], dtype=np.uint64)
    risk = np.array([row[1] for row in rows], dtype=float)
    concordant, comparable = later_pairs(key, risk)
    later = key[None, :] > key[:, None]
    share = (risk[None, :] < risk[:, None]) + 0.5 * (risk[None, :] == risk[:, None])
    np.testing.assert_array_equal(concordant, (later * share).sum(axis=1))
    np.testing.assert_array_equal(comparable, later.sum(axis=1))


@pytest.mark.parametrize("n", [2**10 - 1, 2**10, 2**10 + 1])
def test_sizes_about_a_power_of_two(n, rng):
    key, risk = rng.permutation(n).astype(np.uint64), rng.normal(size=n)
    concordant, _ = later_pairs(key, risk)
    later = key[None, :] > key[:, None]
    np.testing.assert_array_equal(concordant, (later & (risk[None, :] < risk[:, None])).sum(axis=1))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30), st.sampled_from([1.0, 3.0]))
def test_nearly_tied_rows_have_another_value_within_the_tolerance(values, tolerance):
    risk = np.asarray(values, dtype=float)
    difference = np.abs(risk[:, None] - risk[None, :])
    expected = ((difference > 0) & (difference <= tolerance)).any(axis=1)
    np.testing.assert_array_equal(nearly_tied(risk, tolerance), expected)


def test_memory_grows_with_the_rows_not_with_the_pairs(rng):
    peaks = []
    for n in (20_000, 80_000):
        key, risk = rng.integers(0, 300, n).astype(np.uint64), rng.normal(size=n)
        tracemalloc.start()
        later_pairs(key, risk)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 5 * peaks[0]
    assert peaks[0] < 300 * 20_000  # bytes: a matrix of pairs would take 400 million
