"""Processes that ``torchrun`` started and that train one fleet: each takes a share of every batch.

They take the same steps as one process: gradients are averaged, weighted by the rows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from ..errors import LostRankError
from .autograd import FleetVector

__all__ = ["Ranks"]

_TIMEOUT = timedelta(seconds=1800)  # the other processes wait while the first writes the matrix


@dataclass(frozen=True)
class Ranks:
    """The position of this process among those of a fit; a process on its own is rank 0 of 1."""

    rank: int = 0
    size: int = 1

    @classmethod
    def current(cls, device: str) -> Ranks:
        """Return the rank of this process; join the others if ``torchrun`` started it."""
        if not dist.is_available():
            return cls()
        if not dist.is_initialized():
            if "TORCHELASTIC_RUN_ID" not in os.environ or os.environ.get("WORLD_SIZE", "1") == "1":
                return cls()
            uses_cuda = torch.cuda.is_available() and device != "cpu"
            _call(dist.init_process_group, "nccl" if uses_cuda else "gloo", timeout=_TIMEOUT)
        if torch.cuda.is_available() and "LOCAL_RANK" in os.environ:
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        return cls(dist.get_rank(), dist.get_world_size())

    def share(self, values: Tensor, dim: int) -> Tensor:
        """Return this process's rows of a batch."""
        return values if self.size == 1 else values.tensor_split(self.size, dim)[self.rank]

    def average(self, loss: Tensor, gradient: FleetVector, weight: Tensor) -> Tensor:
        """Average the gradient in place; return the mean loss. weight: of the rows, [n_models]."""
        if self.size == 1:
            return loss
        sums = torch.stack([loss * weight, weight])
        gradient.scale_models_(weight)
        _call(dist.all_reduce, gradient.flat)
        _call(dist.all_reduce, sums)
        loss_sum, total = sums[0], sums[1].clamp(min=1e-30)
        gradient.scale_models_(1 / total)
        return loss_sum / total

    def copy_from_first(self, values: Tensor) -> None:
        """Replace a tensor by that of the first process."""
        if self.size > 1:
            _call(dist.broadcast, values, 0)

    def from_first(self, value: Any) -> Any:
        """Return the value of the first process; the others wait for it."""
        values = [value]
        if self.size > 1:
            _call(dist.broadcast_object_list, values, 0)
        return values[0]


def _call(function: Any, *arguments: Any, **options: Any) -> None:
    """Call a function of torch.distributed; report a lost process."""
    try:
        function(*arguments, **options)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise LostRankError(
            "another process of this fit has ended or does not answer, so this one stops. Start "
            "the same command again: with checkpoint=... it resumes from the last full epoch. "
            f"PyTorch says: {reason}"
        ) from None
