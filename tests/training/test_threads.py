"""Small steps run with one thread, and the number that was set before comes back; however many the machine has."""

import numpy as np
import pytest
import torch

from lifemix import DeepSurvivalMachines, make_target
from lifemix.training import Callback
from lifemix.training.threads import threads_for

SMALL, LARGE = 1e3, 1e12


@pytest.fixture
def threads(monkeypatch):
    """Return the numbers of threads that are set, the last one in force; PyTorch itself is left as it is."""
    numbers = [5]
    monkeypatch.setattr(torch, "get_num_threads", lambda: numbers[-1])
    monkeypatch.setattr(torch, "set_num_threads", numbers.append)
    return numbers


def test_a_small_step_has_one_thread_and_the_number_comes_back(threads):
    with threads_for(SMALL):
        assert threads == [5, 1]
    assert threads == [5, 1, 5]


def test_the_number_comes_back_after_an_error(threads):
    with pytest.raises(KeyboardInterrupt), threads_for(SMALL):
        raise KeyboardInterrupt
    assert threads == [5, 1, 5]


def test_a_large_step_keeps_its_threads(threads):
    with threads_for(LARGE):
        assert threads == [5]
    assert threads == [5]


def test_one_thread_is_left_alone(threads):
    threads[:] = [1]
    with threads_for(SMALL):
        assert threads == [1]
    assert threads == [1]


class Counter(Callback):
    def __init__(self, fails=False):
        self.seen, self.fails = [], fails

    def on_epoch_end(self, state):
        self.seen.append(torch.get_num_threads())
        if self.fails:
            raise RuntimeError("a callback failed")


@pytest.mark.parametrize("fails", [False, True])
def test_a_fit_trains_with_one_thread_and_leaves_the_number_as_it_was(fails):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), make_target(rng.weibull(1.5, 60), np.ones(60))
    counter = Counter(fails)
    model = DeepSurvivalMachines(hidden=(4,), k=2, max_epochs=2, callbacks=[counter])
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        if fails:
            with pytest.raises(RuntimeError, match="a callback failed"):
                model.fit(X, y)
        else:
            model.fit(X, y)
        after = torch.get_num_threads()
    finally:
        torch.set_num_threads(before)
    assert counter.seen == [1] * (1 if fails else 2)
    assert after == 3
