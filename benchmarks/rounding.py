"""Two ranks beside one process with the same batches: is what differs rounding?

``python -m benchmarks.rounding --folder FOLDER`` fits the table of ``benchmarks.disk`` with one process of two lanes,
and with two ranks: here two threads that add up what the processes of torchrun add up. It does so in single and in
double precision, and once more with one process in single precision whose starting values are moved to neighbouring
numbers. Where the difference of the losses after so many steps is rounding, it is as large as that of the neighbouring
start in single precision, and next to none in double precision. The default network is smooth; in one with kinks
(``--hidden 100 --activation relu6``) rounding decides on which side of them a unit is, and grows.
"""

from __future__ import annotations

import argparse
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor

from lifemix import DeepSurvivalMachines
from lifemix.estimators import streamed
from lifemix.streaming import TableSource
from lifemix.training import Callback, Data, Ranks, TrainingState

from .disk import make_table, widths
from .harness import one_thread

SETTINGS: dict[str, Any] = {"n_members": 1, "learning_rate": 4e-3, "patience": 1000}


class _Meeting:
    """Where ranks that are threads leave their values for each other."""

    def __init__(self, size: int) -> None:
        self.values: list[Any] = [None] * size
        self.barrier = threading.Barrier(size, timeout=600)

    def exchange(self, rank: int, value: Any) -> list[Any]:
        """Return the values of all ranks, in order."""
        self.values[rank] = value
        self.barrier.wait()
        found = list(self.values)
        self.barrier.wait()
        return found


@dataclass(frozen=True)
class ThreadRanks(Ranks):
    """A rank that is a thread."""

    meeting: _Meeting | None = None

    def gather(self, value: Any) -> list[Any]:
        """Return copies of the values of all ranks, in order."""
        assert self.meeting is not None
        return [pickle.loads(one) for one in self.meeting.exchange(self.rank, pickle.dumps(value))]

    def add_up(self, values: Tensor) -> Tensor:
        """Add up a tensor over all ranks, in place."""
        return values.copy_(torch.stack(self.gather(values)).sum(0))

    def share(self, values: Tensor) -> None:
        """Give all ranks the values of the first."""
        values.copy_(self.gather(values)[0])


class Neighbour(Callback):
    """Moves the starting values to neighbouring numbers, up or down at random."""

    def on_fit_start(self, state: TrainingState) -> None:
        """Move them."""
        values = state.fleet.values
        up = torch.from_numpy(np.random.default_rng(0).random(values.shape) < 0.5)
        values.copy_(torch.nextafter(values, torch.where(up, torch.inf, -torch.inf).to(values)))


def losses_of_one(path: Path, roles: dict[str, Any], settings: dict[str, Any]) -> np.ndarray:
    """Return the losses of one process with two lanes, ``[epochs, 2]``: in training and held out."""
    return _losses(DeepSurvivalMachines(**settings).fit(TableSource(path, **roles, lanes=2)))


def losses_of_ranks(path: Path, roles: dict[str, Any], settings: dict[str, Any], size: int = 2) -> np.ndarray:
    """Return the losses of several ranks, ``[epochs, 2]``."""
    meeting, own = _Meeting(size), threading.local()

    def fit(rank: int) -> np.ndarray:
        own.ranks = ThreadRanks(rank, size, meeting)
        try:
            return _losses(DeepSurvivalMachines(**settings).fit(TableSource(path, **roles)))
        except BaseException:
            meeting.barrier.abort()
            raise

    with patch.object(Ranks, "current", lambda device: own.ranks), ThreadPoolExecutor(size) as pool:
        first, *others = pool.map(fit, range(size))
    assert all(np.array_equal(first, other) for other in others), "the ranks have different losses"
    return first


def _losses(model: DeepSurvivalMachines) -> np.ndarray:
    return np.array([[record["train_loss"], record["validation_loss"]] for record in model.history_])


@contextmanager
def double_precision() -> Iterator[None]:
    """Train in double precision inside: the network has that of its inputs."""
    single = streamed._Inputs.data

    def double(self: Any, block: Any) -> Data:
        data = single(self, block)
        parts = {field.name: getattr(data.observed, field.name) for field in fields(data.observed)}
        wide = {k: v.double() if v is not None and v.dtype == torch.float32 else v for k, v in parts.items()}
        return Data(data.x.double(), type(data.observed)(**wide))

    with patch.object(streamed._Inputs, "data", double):
        yield


def differences(path: Path, roles: dict[str, Any], settings: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return by how much losses differ from those of one process, per epoch."""
    found = {}
    for precision in ("single", "double"):
        with ExitStack() as inside:
            if precision == "double":
                inside.enter_context(double_precision())
            one = losses_of_one(path, roles, settings)
            found[f"two ranks, {precision} precision"] = np.abs(losses_of_ranks(path, roles, settings) - one).max(1)
            if precision == "single":
                moved = losses_of_one(path, roles, settings | {"callbacks": [Neighbour()]})
                found["one process, neighbouring start, single precision"] = np.abs(moved - one).max(1)
    return found


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rounding", description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=200_000)
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--hidden", default="50,50")
    parser.add_argument("--activation", default="tanh")
    options = parser.parse_args()
    one_thread()
    path = make_table(options.folder, options.rows)
    settings = SETTINGS | {"batch_size": options.batch, "max_epochs": options.epochs}
    settings |= {"hidden": widths(options.hidden), "activation": options.activation}
    roles = {"time": "time", "event": "event"}
    for name, apart in differences(path, roles, settings).items():
        print(f"{name:50}", " ".join(f"{value:.0e}" for value in apart), flush=True)


if __name__ == "__main__":
    main()
