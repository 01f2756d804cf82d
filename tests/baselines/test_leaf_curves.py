"""Curves of leaves whose steps are moved to other places."""

import numpy as np

from lifemix.baselines._leaf_curves import LeafCurves


def test_steps_that_meet_become_one_with_the_last_value():
    curves = LeafCurves(5, np.array([0, 1, 2, 4, 10, 13]), np.array([1.0, 0.8, 0.6, 0.2, 1.0, 0.5]))
    moved = curves.moved(np.array([1, 1, 2, 2]), 3)
    assert moved.keys.tolist() == [0, 1, 2, 6, 8]
    assert moved.survival.tolist() == [1.0, 0.6, 0.2, 1.0, 0.5]
    same = curves.moved(np.arange(1, 5), 5)
    assert np.array_equal(same.keys, curves.keys)
