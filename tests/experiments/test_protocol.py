"""Data and folds of the experiments."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from experiments.protocol import Protocol
from helpers.tiny_protocol import TINY
from lifemix import datasets
from lifemix.errors import SettingError


def n_events(y):
    return (y["event"] > 0).sum()


@pytest.mark.parametrize("level", [0.0, 0.5])
def test_only_rows_trained_on_are_censored_artificially(level):
    fold = TINY.fold(0, level)
    (_, inner), (_, validation) = fold.inner_train, fold.inner_validation
    n_inner = n_events(fold.y_original) - n_events(validation)
    assert n_events(inner) == n_inner - round(level * n_inner)
    assert n_events(fold.y_train) == n_events(inner) + n_events(validation)
    assert len(inner) + len(validation) == len(fold.y_train)
    assert len(fold.y_train) + len(fold.y_test) == 240
    assert_array_equal(TINY.fold(0, 0.0).y_test, fold.y_test)


def test_horizons_of_support_are_those_of_the_paper():
    assert Protocol.of("support").horizons().tolist() == [[14.0, 58.0, 252.0]]


def test_only_times_of_zero_are_raised():
    original, raised = datasets.make_synthetic().y, Protocol.of("synthetic").dataset().y
    is_zero = original["time"] == 0
    assert is_zero.sum() > 2
    assert_array_equal(raised["time"], np.where(is_zero, 0.25, original["time"]))
    assert_array_equal(raised["event"], original["event"])


def test_data_files_are_for_seer_and_synthetic():
    with pytest.raises(SettingError, match="give the path of your own file"):
        Protocol.of("seer").dataset()
    with pytest.raises(SettingError, match="--data is for synthetic and seer; got it with support"):
        Protocol.of("support", path="FILE")
