"""Mini-batches for every model of a fleet: each has its own rows, its own shuffling and its own dropout.

A model draws from generators of its own, so what it sees does not depend on who trains beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import repeat

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..devices import on_host
from .config import Job

__all__ = ["Randomness", "dropout_masks", "shuffled_rows", "steps_per_epoch"]

_DRAWN = 2**22  # bytes of dropout drawn at once


class Randomness:
    """The generators of one model: for its start, its shuffling and its dropout."""

    def __init__(self, seed: int) -> None:
        self.start, self.shuffle, self.dropout = (
            np.random.default_rng([seed, purpose]) for purpose in range(3)
        )


def steps_per_epoch(n_rows: int, batch_size: int) -> int:
    """Return the number of batches; they are of nearly equal size, so that no short one is left over."""
    return math.ceil(n_rows / batch_size)


def shuffled_rows(
    jobs: Sequence[Job], randoms: Sequence[Randomness], batch_size: int, consecutive: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the rows of every step of an epoch, ``[models, steps, rows]``, and which of them count.

    Where its rows do not fill a batch, a model has its first row in the places that are left; it does not count there.
    If ``consecutive``, each batch is a run of consecutive rows, from a random first row on, and the batches come in
    random order: a table larger than memory, whose rows are shuffled already, is read in whole pages.
    """
    steps = steps_per_epoch(len(jobs[0].train_rows), batch_size)
    size = max(math.ceil(len(job.train_rows) / steps) for job in jobs)
    rows = torch.zeros(len(jobs), steps, size, dtype=torch.long)
    present = torch.zeros(len(jobs), steps, size, dtype=torch.bool)
    for model, (job, random) in enumerate(zip(jobs, randoms, strict=True)):
        n_rows = len(job.train_rows)
        if consecutive:
            order = job.train_rows.roll(-int(random.shuffle.integers(n_rows)))
        else:
            order = job.train_rows[torch.from_numpy(random.shuffle.permutation(n_rows))]
        rows[model] = job.train_rows[0]
        long, short = (
            len(order) % steps,
            len(order) // steps,
        )  # as torch.tensor_split: the first parts have one more
        cut = long * (short + 1)
        if long:
            rows[model, :long, : short + 1] = order[:cut].view(long, short + 1)
            present[model, :long, : short + 1] = True
        rows[model, long:, :short] = order[cut:].view(steps - long, short)
        present[model, long:, :short] = True
        if consecutive:
            step_order = torch.from_numpy(random.shuffle.permutation(steps))
            rows[model], present[model] = rows[model, step_order], present[model, step_order]
    return rows, present


def dropout_masks(
    jobs: Sequence[Job],
    randoms: Sequence[Randomness],
    n_rows: int,
    n_steps: int,
    widths: Sequence[int],
    device: torch.device,
) -> Iterator[list[Tensor] | None]:
    """Yield the masks of every step, one per layer: 0 where a unit is left out, else one over the share that is kept.

    None where no model leaves any out. Random bytes decide, so the share is a multiple of 1 / 256. They are drawn for
    many steps at once, which is far quicker; on another device than the CPU they are drawn there. The masks of the next
    step take the memory of those before.
    """
    out = np.array([round(256 * job.dropout) for job in jobs], dtype=np.uint8)
    if not out.any() or not widths:
        yield from repeat(None, n_steps)
        return
    scale = torch.tensor(256 / (256 - out.astype(np.float32)), device=device)[:, None, None]
    masks = [
        torch.empty(len(jobs), n_rows, width, dtype=torch.float32, device=device)
        for width in widths
    ]
    words = [math.ceil(n_rows * width / 4) for width in widths]
    many = max(1, _DRAWN // (4 * len(jobs) * sum(words)))
    draw = _draw_here
    if not on_host(device):
        draw, many = (
            _draw_there,
            max(1, _DRAWN // (4 * sum(words))),
        )  # however many models: each draw has its own seed
    for first in range(0, n_steps, many):
        kept = draw(randoms, out, min(many, n_steps - first), sum(words), device)
        for step in kept.unbind(1):
            for mask, own in zip(masks, step.split([4 * count for count in words], 1), strict=True):
                mask.copy_(own[:, : mask[0].numel()].view(mask.shape)).mul_(scale)
            yield masks


def _draw_here(
    randoms: Sequence[Randomness],
    out: NDArray[np.uint8],
    n_steps: int,
    n_words: int,
    device: torch.device,
) -> Tensor:
    """Draw which units are kept by NumPy, ``[models, steps, bytes]``."""
    shape = (
        n_steps,
        n_words,
    )  # NumPy draws single bytes from words too, those of a layer from a new one
    drawn = [
        random.dropout.integers(0, 2**32, shape, dtype=np.uint32).view(np.uint8)
        for random in randoms
    ]
    return torch.from_numpy(np.stack(drawn) >= out[:, None, None]).to(device)


def _draw_there(
    randoms: Sequence[Randomness],
    out: NDArray[np.uint8],
    n_steps: int,
    n_words: int,
    device: torch.device,
) -> Tensor:
    """Draw which units are kept on the device itself: only the seeds of its generators come from here."""
    kept = torch.empty(len(randoms), n_steps, 4 * n_words, dtype=torch.bool, device=device)
    generator = torch.Generator(device)
    for own, random, share in zip(kept, randoms, out.tolist(), strict=True):
        generator.manual_seed(int(random.dropout.integers(2**63)))
        drawn = torch.randint(
            0, 256, own.shape, dtype=torch.uint8, device=device, generator=generator
        )
        torch.ge(drawn, share, out=own)
    return kept
