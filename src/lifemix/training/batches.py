"""Mini-batches and dropout masks for every model of a fleet.

Each model has its own random generators, so its batches do not depend on the rest of the fleet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import repeat

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from .config import Job

__all__ = ["Randomness", "dropout_masks", "shuffled_rows", "steps_per_epoch"]

_BYTES_PER_DRAW = 2**22  # random bytes for dropout are drawn for many steps at once


class Randomness:
    """The random generators of one model: for its start, its shuffling and its dropout."""

    def __init__(self, seed: int) -> None:
        self.start, self.shuffle, self.dropout = (
            np.random.default_rng([seed, purpose]) for purpose in range(3)
        )


def steps_per_epoch(n_rows: int, batch_size: int) -> int:
    """Return the number of batches; they are of nearly equal size, so no short batch remains."""
    return math.ceil(n_rows / batch_size)


def shuffled_rows(
    jobs: Sequence[Job], randoms: Sequence[Randomness], batch_size: int, consecutive: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the rows of every step, ``[n_models, n_steps, n_rows]``, and which of them count.

    A short batch is padded with the first row of its model. If ``consecutive``, each batch is a run
    of consecutive rows, and the batches come in random order: a table on disk is then read in whole
    pages.
    """
    n_steps = steps_per_epoch(len(jobs[0].train_rows), batch_size)
    batches: list[Tensor] = []
    for job, random in zip(jobs, randoms, strict=True):
        n_rows = len(job.train_rows)
        if consecutive:
            order = job.train_rows.roll(-int(random.shuffle.integers(n_rows)))
            runs = order.tensor_split(n_steps)
            batches += [runs[step] for step in random.shuffle.permutation(n_steps)]
        else:
            order = job.train_rows[torch.from_numpy(random.shuffle.permutation(n_rows))]
            batches += order.tensor_split(n_steps)
    rows = pad_sequence(batches, batch_first=True, padding_value=-1).view(len(jobs), n_steps, -1)
    first_rows = torch.stack([job.train_rows[0] for job in jobs]).view(-1, 1, 1)
    return torch.where(rows < 0, first_rows, rows), rows >= 0


def dropout_masks(
    jobs: Sequence[Job],
    randoms: Sequence[Randomness],
    n_rows: int,
    n_steps: int,
    widths: Sequence[int],
    device: torch.device,
) -> Iterator[list[Tensor] | None]:
    """Yield the masks of every step, one per layer: 0 for a dropped unit, else 1 / (1 - dropout).

    None if no model uses dropout. Random bytes decide, so the rate is a multiple of 1 / 256. The
    masks of a step overwrite those of the step before.
    """
    threshold = np.array([round(256 * job.dropout) for job in jobs], dtype=np.uint8)
    if not threshold.any() or not widths:
        yield from repeat(None, n_steps)
        return
    scale = torch.tensor(256 / (256 - threshold.astype(np.float32)), device=device)[:, None, None]
    shapes = [(len(jobs), n_rows, width) for width in widths]
    masks = [torch.empty(shape, dtype=torch.float32, device=device) for shape in shapes]
    n_words = [math.ceil(n_rows * width / 4) for width in widths]  # of four bytes, per layer
    steps_per_draw = max(1, _BYTES_PER_DRAW // (4 * len(jobs) * sum(n_words)))
    for first_step in range(0, n_steps, steps_per_draw):
        shape = (min(steps_per_draw, n_steps - first_step), sum(n_words))
        random_bytes = np.stack(
            [
                random.dropout.integers(0, 2**32, shape, dtype=np.uint32).view(np.uint8)
                for random in randoms
            ]
        )  # [n_models, n_steps, n_bytes]
        is_active = torch.from_numpy(random_bytes >= threshold[:, None, None]).to(device)
        for step in is_active.unbind(1):
            layers = step.split([4 * n for n in n_words], dim=1)
            for mask, layer in zip(masks, layers, strict=True):
                mask.copy_(layer[:, : mask[0].numel()].view(mask.shape)).mul_(scale)
            yield masks
