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
        self.start = np.random.default_rng([seed, 0])
        self.shuffle = np.random.default_rng([seed, 1])
        self.dropout = np.random.default_rng([seed, 2])


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
            order = torch.from_numpy(random.shuffle.permutation(n_rows))
            batches += job.train_rows[order].tensor_split(n_steps)
    padded = pad_sequence(batches, batch_first=True, padding_value=-1)
    rows = padded.view(len(jobs), n_steps, -1)
    is_present = rows >= 0
    first_rows = torch.stack([job.train_rows[0] for job in jobs])
    first_rows = first_rows.view(-1, 1, 1)
    return torch.where(is_present, rows, first_rows), is_present


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
    inverse_rate = 256 / (256 - threshold.astype(np.float32))
    scale = torch.tensor(inverse_rate, device=device)[:, None, None]
    masks = [torch.empty(len(jobs), n_rows, width, device=device) for width in widths]
    n_bytes = [4 * math.ceil(n_rows * width / 4) for width in widths]  # per layer
    n_words = sum(n_bytes) // 4
    steps_per_draw = max(1, _BYTES_PER_DRAW // (len(jobs) * sum(n_bytes)))
    for first_step in range(0, n_steps, steps_per_draw):
        shape = (min(steps_per_draw, n_steps - first_step), n_words)
        draws = [random.dropout.integers(0, 2**32, shape, dtype=np.uint32) for random in randoms]
        random_bytes = np.stack(draws).view(np.uint8)  # [n_models, n_steps, n_bytes]
        is_active = torch.from_numpy(random_bytes >= threshold[:, None, None]).to(device)
        for step in is_active.unbind(1):
            for mask, layer in zip(masks, step.split(n_bytes, dim=1), strict=True):
                active = layer[:, : mask[0].numel()].view(mask.shape)
                mask.copy_(active).mul_(scale)
            yield masks
