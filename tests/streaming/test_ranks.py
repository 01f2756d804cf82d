"""Two processes take the same steps as one; where one is lost the other stops, and the run is resumed by torchrun."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

from lifemix import DeepSurvivalMachines
from lifemix.streaming import TableSource

SCRIPT = """
import json, os, signal, sys
import torch.distributed as dist
from lifemix import DeepSurvivalMachines
from lifemix.streaming import TableSource
from lifemix.training import StreamFleet
from lifemix.training.checkpoint import Checkpoint

folder, kept, killed = sys.argv[1:]
if killed == "yes":
    dist.init_process_group("gloo")
    Checkpoint.__init__.__defaults__ = (1, 0.0, True)
    if dist.get_rank() == 1:
        step, taken = StreamFleet.step, []
        def last(self, *arguments):
            taken.append(1)
            if len(taken) == 25:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(self, *arguments)
        StreamFleet.step = last
source = TableSource(folder, "time", "event", drop=["patient"], weight="weight", shuffle_rows=400)
settings = dict(hidden=(8,), n_members=2, dropout=0.2, batch_size=64, learning_rate=5e-3, max_epochs=3)
model = DeepSurvivalMachines(**settings, checkpoint=kept).fit(source)
if int(os.environ["RANK"]) == 0:
    print(json.dumps(model.history_))
"""


def test_two_ranks(folder, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    arguments = [str(path), str(folder), str(tmp_path / "kept")]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {**os.environ, "OMP_NUM_THREADS": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = [
        subprocess.Popen(
            [sys.executable, *arguments, "yes"],
            env=shared | {"RANK": str(rank), "WORLD_SIZE": "2"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [rank.communicate(timeout=120)[1] for rank in ranks]
    assert ranks[1].returncode == -signal.SIGKILL
    assert ranks[0].returncode == 1
    assert "LostRankError: another process of this fit has ended" in said[0]
    (checkpoint,) = (tmp_path / "kept").glob("*.safetensors")

    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *arguments, "no"]
    done = subprocess.run(command, env=shared, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    history = json.loads(done.stdout.splitlines()[-1])
    assert not checkpoint.exists()

    source = TableSource(folder, "time", "event", drop=["patient"], weight="weight", shuffle_rows=400, lanes=2)
    settings = {"hidden": (8,), "n_members": 2, "dropout": 0.2, "batch_size": 64, "learning_rate": 5e-3}
    alone = DeepSurvivalMachines(**settings, max_epochs=3).fit(source)
    for one, other in zip(history, alone.history_, strict=True):
        assert one == pytest.approx(other, abs=1e-5)
