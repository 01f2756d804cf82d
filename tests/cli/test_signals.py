"""A signal ends the program within two seconds, whatever it computes."""

import os
import signal
import subprocess
import sys
import time

import pytest

PROGRAM = """
import sys, time
from pathlib import Path
import numpy as np
from lifemix.cli.signals import end_soon
from lifemix.files import atomic_write
end_soon()
with atomic_write(Path(sys.argv[1]) / "file.txt") as partial:
    partial.write_text("half")
    x = np.random.default_rng(0).standard_normal((4000, 4000))
    print("computing", flush=True)
    if sys.argv[2] == "long":
        np.linalg.svd(x)
    time.sleep(60)
"""


@pytest.mark.parametrize("what", ["long", "short"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_program_soon_and_leaves_nothing_half_written(tmp_path, number, code, what):
    def usual():  # jobs in the background of a shell ignore SIGINT
        signal.signal(number, signal.SIG_DFL)

    call = [sys.executable, "-c", PROGRAM, tmp_path, what]
    with subprocess.Popen(
        call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=usual
    ) as process:
        assert process.stdout.readline() == "computing\n"
        time.sleep(0.3)
        start = time.perf_counter()
        process.send_signal(number)
        process.wait(30)
        seconds = time.perf_counter() - start
    assert seconds < (2.5 if what == "long" else 1.4)
    assert process.returncode in (code, -number)
    assert os.listdir(tmp_path) == []
