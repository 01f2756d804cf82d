import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifemix.metrics.tree import compare, sum_beyond


@st.composite
def queries(draw):
    n = draw(st.integers(1, 40))
    by_rank = np.asarray(draw(st.permutations(range(n))))
    asked = draw(st.lists(st.tuples(st.integers(0, n), st.integers(0, n)), min_size=1, max_size=40))
    return by_rank, np.array([q[0] for q in asked]), np.array([q[1] for q in asked])


@given(queries(), st.booleans())
def test_sum_beyond_equals_the_double_loop(query, weighted):
    by_rank, start, limit = query
    n = len(by_rank)
    rank = np.argsort(by_rank)
    weight = np.linspace(0.5, 2, n) if weighted else None
    chosen = (np.arange(n) >= start[:, None]) & (rank < limit[:, None])
    expected = (chosen * (np.ones(n) if weight is None else weight)).sum(axis=1)
    np.testing.assert_allclose(
        sum_beyond(by_rank, start, limit, weight), expected, rtol=1e-13, atol=1e-13
    )


def double_loop(point_key, point_risk, case_key, case_risk, weight, tolerance):
    beyond = point_key[None, :] >= case_key[:, None]
    difference = point_risk[None, :] - case_risk[:, None]
    share = np.where(np.abs(difference) <= tolerance, 0.5, difference < 0)
    return (beyond * share) @ weight, beyond @ weight


@pytest.mark.parametrize(
    "n_cases", [1, 3, 40]
)  # few cases are compared one by one, many by the tree
@pytest.mark.parametrize("tolerance", [0.0, 1e-8, 0.3])
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
