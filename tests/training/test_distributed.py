"""Two processes under torchrun take the same steps as one, and say so if one of them is lost."""

import os
import subprocess
import sys

import numpy as np
import pytest

from helpers.disk_tables import make_table, write_shards
from lifemix import DeepSurvivalMachines
from lifemix.streaming import TableSource

pytest.importorskip("pyarrow")

SETTINGS = {
    "hidden": (8,),
    "n_members": 2,
    "dropout": 0.2,
    "batch_size": 63,
    "learning_rate": 5e-3,
    "max_epochs": 2,
}
ROLES = {"time": "time", "event": "event", "drop": ["patient"], "weight": "weight"}
SCRIPT = f"""
import os, signal, sys
from lifemix import DeepSurvivalMachines
from lifemix.streaming import TableSource
from lifemix.training import Fleet

source = TableSource(sys.argv[1], **{ROLES!r})
model = DeepSurvivalMachines(**{SETTINGS!r}, checkpoint=sys.argv[2]).fit(source)
model.network_.parameters.numpy().tofile(sys.argv[2] + os.environ["RANK"])
average_step, n_steps = Fleet.step, 0


def step_or_die(self, *arguments):
    global n_steps
    n_steps += 1
    if n_steps == 12 and os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    return average_step(self, *arguments)


Fleet.step = step_or_die
DeepSurvivalMachines(**{SETTINGS!r}, checkpoint=sys.argv[2]).fit(source)
"""


@pytest.mark.slow
def test_two_processes_take_the_steps_of_one_and_report_a_lost_one(tmp_path):
    folder = write_shards(make_table(600), tmp_path / "shards")
    (tmp_path / "script.py").write_text(SCRIPT)
    # torchrun looks after its processes every few seconds, so that the remaining one can report why it stops.
    torchrun = [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "--monitor-interval",
        "8",
    ]
    command = [
        sys.executable,
        *torchrun,
        str(tmp_path / "script.py"),
        str(folder),
        str(tmp_path / "state"),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert process.returncode != 0
    assert "LostRankError: another process of this fit has ended" in process.stderr
    assert len(list((tmp_path / "state").glob("*.pt"))) == 1  # after one epoch

    single = DeepSurvivalMachines(**SETTINGS).fit(TableSource(folder, **ROLES))
    ranks = [np.fromfile(tmp_path / f"state{rank}", dtype=np.float32) for rank in (0, 1)]
    assert np.array_equal(*ranks)
    assert ranks[0] == pytest.approx(single.network_.parameters.numpy().ravel(), abs=2e-5)
