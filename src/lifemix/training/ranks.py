"""The processes of one fit, started by ``torchrun``: each has a rank, and all take the same steps.

Where ``torch.distributed`` is initialised its default group is used; a process that ``torchrun`` has started and that
has not is initialised here: gloo on processors, NCCL on GPUs, and a time after which a missing answer is an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from ..errors import LostRankError

__all__ = ["Ranks"]

_TIMEOUT = timedelta(seconds=300)


@dataclass(frozen=True)
class Ranks:
    """A process among those of a fit; alone it is rank 0 of 1."""

    rank: int = 0
    size: int = 1

    @classmethod
    def current(cls, device: torch.device) -> Ranks:
        """Return the rank of this process, and meet the others where that has not happened yet."""
        if not dist.is_available():
            return cls()
        if not dist.is_initialized():
            if "TORCHELASTIC_RUN_ID" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) < 2:
                return cls()  # torchrun has not started it
            with _others_needed():
                dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=_TIMEOUT)
        return cls(dist.get_rank(), dist.get_world_size())

    @staticmethod
    def own_device(device: torch.device) -> torch.device:
        """Return the GPU of this process, where there are several of each."""
        if device.type != "cuda" or getattr(device, "index", None) is not None or "LOCAL_RANK" not in os.environ:
            return device
        return torch.device("cuda", int(os.environ["LOCAL_RANK"]))

    def add_up(self, values: Tensor) -> Tensor:
        """Add up a tensor over all ranks, in place."""
        if self.size > 1:
            with _others_needed():
                dist.all_reduce(values)
        return values

    def share(self, values: Tensor) -> None:
        """Give all ranks the values of the first."""
        if self.size > 1:
            with _others_needed():
                dist.broadcast(values, 0)

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all ranks, in order."""
        if self.size == 1:
            return [value]
        found: list[Any] = [None] * self.size
        with _others_needed():
            dist.all_gather_object(found, value)
        return found


@contextmanager
def _others_needed() -> Iterator[None]:
    """Say in one sentence that another process has gone, whatever PyTorch says of it."""
    try:
        yield
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise LostRankError(
            "another process of this fit has ended or does not answer, so this one stops. Start the same command "
            f"again: with checkpoint=... it goes on from the last checkpoint. PyTorch says: {reason}"
        ) from None
