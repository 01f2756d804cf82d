"""Mini-batches for every model of a fleet: each has its own rows, its own shuffling and its own dropout.

A model draws from generators of its own, so what it sees does not depend on who trains beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..likelihood import Observations
from .config import Data, Job

__all__ = ["Batch", "Randomness", "epoch_batches", "steps_per_epoch"]


@dataclass(frozen=True, eq=False)
class Batch:
    """What one step sees."""

    x: Tensor  # [models, rows, inputs]
    observed: Observations  # [models, rows]
    masks: list[Tensor] | None  # one a hidden layer, [models, rows, width]


class Randomness:
    """The generators of one model: for its start, its shuffling and its dropout."""

    def __init__(self, seed: int) -> None:
        self.start, self.shuffle, self.dropout = (np.random.default_rng([seed, purpose]) for purpose in range(3))


def steps_per_epoch(n_rows: int, batch_size: int) -> int:
    """Return the number of batches; they are of nearly equal size, so that no short one is left over."""
    return math.ceil(n_rows / batch_size)


def epoch_batches(
    data: Data, jobs: Sequence[Job], randoms: Sequence[Randomness], batch_size: int, widths: Sequence[int]
) -> Iterator[Batch]:
    """Yield the batches of one epoch; models whose rows do not fill the last batch have rows of weight 0 in it."""
    steps = steps_per_epoch(len(jobs[0].train_rows), batch_size)
    size = max(math.ceil(len(job.train_rows) / steps) for job in jobs)
    order = torch.zeros(len(jobs), steps * size, dtype=torch.long)
    present = torch.zeros(len(jobs), steps * size, dtype=torch.bool)
    for model, (job, random) in enumerate(zip(jobs, randoms, strict=True)):
        shuffled = job.train_rows[torch.from_numpy(random.shuffle.permutation(len(job.train_rows)))]
        for step, part in enumerate(torch.tensor_split(shuffled, steps)):
            order[model, step * size : step * size + len(part)] = part
            present[model, step * size : step * size + len(part)] = True
    order = order.to(data.x.device)
    observed = data.observed.take(order)
    observed = observed.reweighted(observed.weight * present.to(order.device))
    everywhere = torch.arange(steps * size, device=order.device).view(steps, size)
    kept = _dropout(jobs)
    for step in range(steps):
        columns = everywhere[step]
        rows = order[:, columns]
        x = data.x.index_select(0, rows.reshape(-1)).view(*rows.shape, -1)
        masks = None if kept is None else _masks(randoms, kept, size, widths, x.device)
        yield Batch(x, observed.take((slice(None), columns)), masks)  # type: ignore[arg-type]


def _dropout(jobs: Sequence[Job]) -> Tensor | None:
    """Return for each model how many of 256 byte values leave a unit out; None where no model drops any."""
    out = torch.tensor([round(256 * job.dropout) for job in jobs])
    return out if bool((out > 0).any()) else None


def _masks(
    randoms: Sequence[Randomness], out: Tensor, n_rows: int, widths: Sequence[int], device: torch.device
) -> list[Tensor]:
    """Draw one mask a layer from random bytes: 0 with probability out / 256, else one over the share that is kept."""
    masks = []
    scale = (256 / (256 - out)).to(torch.float32)[:, None, None]
    for width in widths:
        size = n_rows * width
        drawn = torch.stack(
            [torch.frombuffer(bytearray(random.dropout.bytes(size)), dtype=torch.uint8) for random in randoms]
        )
        kept = drawn.view(len(randoms), n_rows, width) >= out[:, None, None]
        masks.append((kept * scale).to(device))
    return masks
