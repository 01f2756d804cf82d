"""A bounded part of the fuzzing suite (``python -m benchmarks.fuzz`` is the long one), and all that it once found."""

import json
import os
from pathlib import Path

import benchmarks.fuzz
import numpy as np
import pytest
from benchmarks.fuzz.__main__ import run_case
from benchmarks.fuzz.guard import watched
from benchmarks.fuzz.kinds import FILES, KINDS, OTHERS

from lifemix.errors import ModelFileError

SEEDS = json.loads(Path(benchmarks.fuzz.__file__).with_name("seeds.json").read_text())


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"{seed['kind']}-{seed['number']}")
def test_what_was_found_once_stays_mended(seed):
    assert run_case(seed["kind"], seed["number"], seed["seed"]) is None


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_breaks_it(kind):
    for number in range(40 if kind in FILES else 5):
        assert run_case(kind, number, seed=77) is None, (
            f"python -m benchmarks.fuzz --seed 77 --only {kind}:{number}"
        )
    assert set(FILES) | set(OTHERS) == set(KINDS)


def test_the_guard_sees_what_it_is_there_for():
    def fails():
        raise KeyError("raw")

    def refuses():
        raise ModelFileError("in words")

    assert "KeyError" in watched(fails)
    assert watched(refuses) is None
    assert "code ran" in watched(lambda: os.system("true"))
    if Path("/proc/self/clear_refs").exists():
        assert "MB for a file" in watched(lambda: np.ones(2**25).sum(), size=10)
        assert watched(lambda: np.ones(2**25).sum(), size=2**28) is None
