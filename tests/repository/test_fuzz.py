"""A small part of the fuzzing suite; ``python -m benchmarks.fuzz`` is the long one."""

import os

import numpy as np
import pytest
from benchmarks.fuzz.__main__ import run_case
from benchmarks.fuzz.cases import CASES
from benchmarks.fuzz.guard import watched
from benchmarks.harness import STATUS

from lifemix.errors import ModelFileError


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_random_cases_have_no_problem(kind):
    for number in range(40 if kind.endswith(("model", "checkpoint")) else 5):
        assert run_case(kind, number, seed=77) is None, f"--seed 77 --only {kind}:{number}"


def test_the_guard_reports_problems():
    def fail():
        raise KeyError("raw")

    def refuse():
        raise ModelFileError("in words")

    assert "KeyError" in watched(fail)
    assert watched(refuse) is None
    assert "code ran" in watched(lambda: os.system("true"))
    if STATUS.exists():
        assert "MB for a file" in watched(lambda: np.ones(2**25).sum(), size=10)
        assert watched(lambda: np.ones(2**25).sum(), size=2**28) is None
