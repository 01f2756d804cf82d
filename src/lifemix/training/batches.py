"""Mini-batches for every model of a fleet: each has its own rows, its own shuffling and its own dropout.

A model draws from generators of its own, so what it sees does not depend on who trains beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from .config import Job

__all__ = ["Randomness", "dropout_bytes", "dropout_masks", "shuffled_rows", "steps_per_epoch"]


class Randomness:
    """The generators of one model: for its start, its shuffling and its dropout."""

    def __init__(self, seed: int) -> None:
        self.start, self.shuffle, self.dropout = (np.random.default_rng([seed, purpose]) for purpose in range(3))


def steps_per_epoch(n_rows: int, batch_size: int) -> int:
    """Return the number of batches; they are of nearly equal size, so that no short one is left over."""
    return math.ceil(n_rows / batch_size)


def shuffled_rows(jobs: Sequence[Job], randoms: Sequence[Randomness], batch_size: int) -> tuple[Tensor, Tensor]:
    """Return the rows of every step of an epoch, ``[models, steps, rows]``, and which of them count.

    Where its rows do not fill a batch, a model has its first row in the places that are left; it does not count there.
    """
    steps = steps_per_epoch(len(jobs[0].train_rows), batch_size)
    size = max(math.ceil(len(job.train_rows) / steps) for job in jobs)
    rows = torch.zeros(len(jobs), steps, size, dtype=torch.long)
    present = torch.zeros(len(jobs), steps, size, dtype=torch.bool)
    for model, (job, random) in enumerate(zip(jobs, randoms, strict=True)):
        order = job.train_rows[torch.from_numpy(random.shuffle.permutation(len(job.train_rows)))]
        rows[model] = job.train_rows[0]
        long, short = len(order) % steps, len(order) // steps  # as torch.tensor_split: the first parts have one more
        cut = long * (short + 1)
        if long:
            rows[model, :long, : short + 1] = order[:cut].view(long, short + 1)
            present[model, :long, : short + 1] = True
        rows[model, long:, :short] = order[cut:].view(steps - long, short)
        present[model, long:, :short] = True
    return rows, present


def dropout_bytes(jobs: Sequence[Job]) -> Tensor | None:
    """Return for each model how many of the 256 values of a byte leave a unit out; None where no model drops any."""
    out = torch.tensor([round(256 * job.dropout) for job in jobs])
    return out if bool((out > 0).any()) else None


def dropout_masks(
    out: Tensor, randoms: Sequence[Randomness], n_rows: int, widths: Sequence[int], device: torch.device
) -> list[Tensor]:
    """Draw one mask a layer: 0 where a unit is left out, else one over the share that is kept.

    Random bytes decide, so the share is a multiple of 1 / 256.
    """
    masks = []
    scale = (256 / (256 - out)).to(torch.float32)[:, None, None]
    for width in widths:
        draws = [random.dropout.integers(0, 256, (n_rows, width), dtype=np.uint8) for random in randoms]
        kept = torch.from_numpy(np.stack(draws)) >= out[:, None, None]
        masks.append((kept * scale).to(device))
    return masks
