"""Several processes that ``torchrun`` started and that train one model: each takes its share of every batch.

The processes take the same steps as one process: gradients are averaged by the weights of the rows.
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
from .gradients import Parameters

__all__ = ["Ranks"]

_TIMEOUT = timedelta(seconds=1800)  # while the first process writes the matrix, the others wait


@dataclass(frozen=True)
class Ranks:
    """A process among those of a fit; a process without others is rank 0 of 1."""

    rank: int = 0
    size: int = 1

    @classmethod
    def current(cls, device: str) -> Ranks:
        """Return the rank of this process; join the others if ``torchrun`` started it."""
        if not dist.is_available():
            return cls()
        if not dist.is_initialized():
            if (
                "TORCHELASTIC_RUN_ID" not in os.environ
                or int(os.environ.get("WORLD_SIZE", "1")) < 2
            ):
                return cls()
            use_cuda = torch.cuda.is_available() and device != "cpu"
            _call(dist.init_process_group, "nccl" if use_cuda else "gloo", timeout=_TIMEOUT)
        if torch.cuda.is_available() and "LOCAL_RANK" in os.environ:
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        return cls(dist.get_rank(), dist.get_world_size())

    def share(self, values: Tensor, dim: int) -> Tensor:
        """Return this process's rows of a batch."""
        if self.size == 1:
            return values
        index = torch.arange(self.rank, values.shape[dim], self.size, device=values.device)
        return values.index_select(dim, index)

    def average(self, loss: Tensor, gradient: Parameters, weight: Tensor) -> Tensor:
        """Average the gradient in place and return the average loss; ``weight`` is that of the rows, [models]."""
        if self.size == 1:
            return loss
        sums = torch.stack([loss * weight, weight])
        for block in gradient.blocks.values():
            block.mul_(weight.view(-1, *[1] * (block.dim() - 1)))
        _call(dist.all_reduce, gradient.flat)
        _call(dist.all_reduce, sums)
        total = sums[1].clamp(min=1e-30)
        for block in gradient.blocks.values():
            block.div_(total.view(-1, *[1] * (block.dim() - 1)))
        return sums[0] / total

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
    """Call a function of torch.distributed; an error says that another process has ended."""
    try:
        function(*arguments, **options)
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:200]
        raise LostRankError(
            "another process of this fit has ended or does not answer, so this one stops. Start the same command "
            f"again: with checkpoint=... it resumes from the last full epoch. PyTorch says: {reason}"
        ) from None
