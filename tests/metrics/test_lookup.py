import numpy as np

from lifemix.metrics.lookup import look_up


def test_look_up_is_searchsorted(rng):
    ordered, wanted = np.sort(rng.integers(0, 50, 80)), rng.integers(-5, 60, 30)
    for side in ("left", "right"):
        np.testing.assert_array_equal(
            look_up(ordered, wanted, side), np.searchsorted(ordered, wanted, side=side)
        )
