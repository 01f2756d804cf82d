import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.simulations import two_causes
from lifemix import make_target
from lifemix.baselines import AalenJohansen, MartingaleForest
from lifemix.baselines.base import incidences_of_hazards
from lifemix.baselines.martingale_forest import (
    leaf_hazards,
    martingale_residuals,
    observed_intervals,
)
from lifemix.metrics import concordance_td
from lifemix.target import as_target


@st.composite
def targets(draw):
    n = draw(st.integers(4, 30))
    entry = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    stay = draw(st.lists(st.integers(1, 6), min_size=n, max_size=n))
    event = [1, 2] + draw(st.lists(st.integers(0, 2), min_size=n - 2, max_size=n - 2))
    weight = draw(st.lists(st.floats(0.1, 5), min_size=n, max_size=n))
    return as_target(
        make_target(np.add(entry, stay).astype(float), event, entry=np.array(entry, float))
    ), np.array(weight)


@given(targets())
def test_residuals_add_up_to_nothing(case):
    target, weight = case
    np.testing.assert_allclose(
        weight @ martingale_residuals(target, weight, 2), 0, atol=1e-9 * weight.sum()
    )


@given(targets())
def test_life_tables_with_whole_intervals_are_the_estimate_of_aalen_and_johansen(case):
    target, weight = case
    ends = np.arange(1.0, 12.0)  # nobody comes or goes within an interval
    leaf = np.zeros(len(target), dtype=int)
    hazards = leaf_hazards(leaf, weight, observed_intervals(target, ends), (1, 2, len(ends)))
    expected = AalenJohansen().fit(
        np.zeros((len(target), 1)), target.to_array(), sample_weight=weight
    )
    incidences = incidences_of_hazards(1.0 - hazards.sum(axis=1), hazards)[0]
    np.testing.assert_allclose(
        incidences, expected.predict_cumulative_incidences(np.zeros((1, 1)), ends)[:, 0], atol=1e-12
    )


def test_an_interval_that_is_seen_in_part_counts_with_its_share():
    target = as_target(make_target([2.0, 3.0, 9.0, 1.5], [2, 0, 0, 1], entry=[0.0, 0.0, 0.0, 0.5]))
    weight, ends = np.array([1.0, 1.0, 1.0, 2.0]), np.array([1.0, 2.0, 4.0])
    intervals = observed_intervals(target, ends)
    hazards = leaf_hazards(np.zeros(4, int), weight, intervals, (1, 2, 3))[0]
    # at risk: 3 + 2 / 2 in the first interval, 5 in the second, 1 and a half in the third
    np.testing.assert_allclose(hazards, [[0, 2 / 5, 0], [0, 1 / 5, 0]])


def test_learns_effects_and_stays_calibrated_on_the_whole():
    x, y = two_causes(1500, 0)
    new, truth = two_causes(1500, 1)
    model = MartingaleForest(n_trees=60, preprocessor=None).fit(x, y)
    floor = AalenJohansen().fit(x, y)
    at = np.array([0.1, 0.3, 0.7])
    for event in (1, 2):
        incidence = model.predict_cumulative_incidence(new, at, event)
        expected = floor.predict_cumulative_incidence(new[:1], at, event)[0]
        np.testing.assert_allclose(incidence.mean(axis=0), expected, atol=0.03)
        assert concordance_td(y, truth, incidence[:, 1], 0.3, event) > 0.62


def test_late_entry_is_accounted_for():
    # Exponential times of two rates, seen from a random entry on by those who reach it.
    rng = np.random.default_rng(3)
    group = rng.integers(0, 2, 6000)
    time, entry = rng.exponential(np.where(group == 1, 0.5, 1.0)), rng.uniform(0, 1, 6000)
    seen = time > entry
    y = make_target(time[seen], np.ones(seen.sum(), int), entry=entry[seen])
    model = MartingaleForest(n_trees=30, max_features=1, min_samples_leaf=200, preprocessor=None)
    survival = model.fit(group[seen, None], y).predict_survival_function(
        np.array([[0.0], [1.0]]), [0.3, 1.0]
    )
    np.testing.assert_allclose(survival, np.exp(-np.outer([1, 2], [0.3, 1.0])), atol=0.04)


def test_weights_move_the_incidence():
    x, y = two_causes(400, 4)
    heavy = np.where(y["event"] == 1, 5.0, 1.0)
    at = [0.5]
    plain, weighted = (
        MartingaleForest(n_trees=20, preprocessor=None)
        .fit(x, y, sample_weight=w)
        .predict_cumulative_incidence(x, at)
        for w in (None, heavy)
    )
    assert weighted.mean() > plain.mean() + 0.1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_same_seed_same_forest(n_jobs):
    x, y = two_causes(200, 5)
    one = MartingaleForest(n_trees=6).fit(x, y)
    other = MartingaleForest(n_trees=6, n_jobs=n_jobs).fit(x, y)
    np.testing.assert_array_equal(one._curves, other._curves)


def test_at_the_ends_of_intervals_survival_is_the_product_of_the_net_ones():
    x, y = two_causes(400, 0)
    model = MartingaleForest(n_trees=10, n_intervals=5).fit(x, y)
    product = np.prod(
        [model.predict_net_survival(x, model.grid_, event) for event in (1, 2)], axis=0
    )
    np.testing.assert_allclose(product, model.predict_survival_function(x, model.grid_), atol=1e-9)


def test_rows_far_beyond_single_precision_are_predicted():
    x, y = two_causes(100, 6)
    model = MartingaleForest(n_trees=3, preprocessor=None).fit(x, y)
    assert np.isfinite(model.predict(np.array([[1e300, -1e300, 0.0]]))).all()
