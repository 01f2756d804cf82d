"""Permutation importance, computed and drawn."""

import numpy as np
import pandas as pd
import pytest

from lifemix import make_target, plots
from lifemix.errors import InputError, SettingError
from lifemix.metrics import brier_score, permutation_importance

EVENT_TIME, CENSORED_AT = RNG.exponential(1 / RATE), RNG.uniform(0.5, 6, N)
def test_lines_are_the_most_important_features_in_order():
    importance = np.array([[0.0, 0.0], [0.2, 0.3], [0.1, 0.1]])
    axes = plots.importance_over_time(
        [1, 2], importance, importance / 10, features=["a", "b", "c"], show=2
    )
    first, second, zero = axes.lines
    assert (first.get_label(), second.get_label()) == ("b", "c")
    np.testing.assert_array_equal(first.get_ydata(), [0.2, 0.3])
    assert set(zero.get_ydata()) == {0}
    assert len(axes.collections) == 2
