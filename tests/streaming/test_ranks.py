"""Two processes under torchrun take the same steps as one; when one is lost the other stops, and a run resumes."""

import os
import subprocess
import sys

import numpy as np
import pytest

from lifemix import DeepSurvivalMachines
from lifemix.streaming import TableSource
from lifemix.training import Callback

SETTINGS = {"hidden": (8,), "n_members": 2, "dropout": 0.2, "batch_size": 64, "learning_rate": 5e-3, "max_epochs": 3}
ROLES = {"time": "time", "event": "event", "drop": ["patient"], "weight": "weight", "shuffle_rows": 400}
SCRIPT = f"""
import os, signal, sys
from lifemix import DeepSurvivalMachines
from lifemix.streaming import TableSource
from lifemix.training import StreamFleet
from lifemix.training.checkpoint import Checkpoint

Checkpoint.__init__.__defaults__ = (1, 0.0, True)  # after every window
step, taken = StreamFleet.step, []


def step_or_die(self, *arguments):
    taken.append(1)
    if len(taken) == 35 and os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, *arguments)


each = TableSource(sys.argv[1], **{ROLES!r}, lanes=1)
model = DeepSurvivalMachines(**{SETTINGS | {"max_epochs": 1}!r}).fit(each)
if os.environ["RANK"] == "1":
    model.network_.parameters.numpy().tofile(sys.argv[3])
StreamFleet.step = step_or_die
source = TableSource(sys.argv[1], **{ROLES!r})
DeepSurvivalMachines(**{SETTINGS!r}, checkpoint=sys.argv[2]).fit(source)
"""


def test_two_ranks_one_of_which_is_lost(folder, tmp_path):
    script, kept = tmp_path / "script.py", tmp_path / "kept"
    script.write_text(SCRIPT)
    # The agent looks after its processes every few seconds, so that the one that is left can say why it stops.
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--monitor-interval", "8"]
    command = [sys.executable, *torchrun, str(script), str(folder), str(kept), str(tmp_path / "members")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode != 0
    assert "LostRankError: another process of this fit has ended" in done.stderr
    assert len(list(kept.glob("*.safetensors"))) == 1

    members = DeepSurvivalMachines(**SETTINGS | {"max_epochs": 1}).fit(TableSource(folder, **ROLES, lanes=1))
    found = np.fromfile(tmp_path / "members", dtype=np.float32).reshape(members.network_.parameters.shape)
    assert found == pytest.approx(members.network_.parameters.numpy(), abs=1e-5)

    source = TableSource(folder, **ROLES, lanes=2)
    alone = DeepSurvivalMachines(**SETTINGS).fit(source)
    seen = []
    count = Callback()
    count.on_rows = lambda state, done, total: seen.append(done)
    resumed = DeepSurvivalMachines(**SETTINGS, checkpoint=kept, callbacks=[count]).fit(source)
    assert 1 <= len(seen) <= 5  # of nine windows; four or more were trained on by two processes
    for one, other in zip(resumed.history_, alone.history_, strict=True):
        assert one == pytest.approx(other, abs=1e-5)
