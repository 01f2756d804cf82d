import os
import signal
import threading
import time

import numpy as np
import pytest

from lifemix.baselines._interruptible import interruptible


def test_results_and_errors_come_through():
    assert interruptible(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)


@pytest.fixture
def interrupts():
    """Let SIGINT raise, also where the shell that started the tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_a_signal_ends_a_long_call_at_once():
    matrix = np.eye(2500) + 0.1

    def forever():
        end = time.monotonic() + 10
        while time.monotonic() < end and not over.is_set():
            np.linalg.eigh(matrix[:400, :400])

    over = threading.Event()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interruptible(forever)
    over.set()
    assert time.monotonic() - start < 2
