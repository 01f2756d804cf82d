import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.metric_samples import tied_targets
from helpers.simulations import two_causes
from lifemix import make_target
from lifemix.baselines import AalenJohansen, MartingaleForest
from lifemix.baselines.base import incidences_of_hazards
from lifemix.baselines.martingale_forest import (
    leaf_hazards,
    martingale_residuals,
    observed_intervals,
)
from lifemix.target import as_target


@given(tied_targets(), st.integers(0, 10**6))
def test_residuals_and_life_tables(y, seed):
    y["event"][:2] = 1, 2
    target, weight = as_target(y), np.random.default_rng(seed).uniform(0.1, 5, len(y))
    residuals = martingale_residuals(target, weight, 2)
    assert weight @ residuals == pytest.approx(0, abs=1e-9 * weight.sum())
    # With ends at all times nobody enters or leaves within an interval: Aalen-Johansen.
    ends, leaf = np.arange(1.0, 12.0), np.zeros(len(y), dtype=int)
    hazards = leaf_hazards(leaf, weight, observed_intervals(target, ends), (1, 2, len(ends)))
    incidences = incidences_of_hazards(1.0 - hazards.sum(axis=1), hazards)[0]
    x = np.zeros((len(y), 1))
    model = AalenJohansen().fit(x, y, sample_weight=weight)
    expected = model.predict_cumulative_incidences(x[:1], ends)[:, 0]
    np.testing.assert_allclose(incidences, expected, atol=1e-12)


def test_an_interval_that_is_observed_in_part_counts_with_its_share():
    target = as_target(make_target([2.0, 3.0, 9.0, 1.5], [2, 0, 0, 1], entry=[0.0, 0.0, 0.0, 0.5]))
    weight, ends = np.array([1.0, 1.0, 1.0, 2.0]), np.array([1.0, 2.0, 4.0])
    intervals = observed_intervals(target, ends)
    hazards = leaf_hazards(np.zeros(4, int), weight, intervals, (1, 2, 3))[0]
    # At risk: 3 + 2 / 2 in the first interval, 5 in the second, 1.5 in the third.
    np.testing.assert_allclose(hazards, [[0, 2 / 5, 0], [0, 1 / 5, 0]])


def test_late_entry_is_accounted_for():
    # Exponential times of two rates, observed after a random entry.
    rng = np.random.default_rng(3)
    group = rng.integers(0, 2, 6000)
    time, entry = rng.exponential(np.where(group == 1, 0.5, 1.0)), rng.uniform(0, 1, 6000)
    enters = time > entry
    y = make_target(time[enters], np.ones(enters.sum(), int), entry=entry[enters])
    model = MartingaleForest(n_trees=30, max_features=1, min_samples_leaf=200, preprocessor=None)
    model.fit(group[enters, None], y)
    survival = model.predict_survival_function(np.array([[0.0], [1.0]]), [0.3, 1.0])
    np.testing.assert_allclose(survival, np.exp(-np.outer([1, 2], [0.3, 1.0])), atol=0.04)


def test_parallel_trees_are_the_same():
    x, y = two_causes(200, 5)
    serial, parallel = (MartingaleForest(n_trees=6, n_jobs=n).fit(x, y) for n in (1, 2))
    np.testing.assert_array_equal(serial._curves, parallel._curves)
