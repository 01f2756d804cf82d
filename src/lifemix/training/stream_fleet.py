"""A fleet whose rows come from disk, one window of some hundred thousand rows after the other.

Every process of a fit runs one lane or several (see ``lifemix.streaming.schedule``); the lanes of all processes
together make the batches. Shuffling and dropout of a window depend on seed, epoch, window and lane alone, so that a fit
goes on from any window, and several processes take the same steps as one with as many lanes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import accumulate
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from ..likelihood import Observations
from ..model import Architecture
from .batches import Randomness, divided_rows, dropout_masks
from .callbacks import Callback, TrainingState
from .config import Data, Job, TrainConfig
from .fleet import Fit, Fleet
from .gradients import Parameters
from .ranks import Ranks

__all__ = ["Stream", "StreamFleet", "Window"]


@dataclass(frozen=True, eq=False)
class Window:
    """Rows that are shuffled together, those of each lane apart; every lane has at least one, maybe of weight 0."""

    number: int
    lanes: list[tuple[int, Data]]  # the number of each lane that this process runs, and its rows
    rows: int  # that all lanes of all processes read
    expected: float  # training rows among them


class Stream(Protocol):
    """What a fleet reads."""

    @property
    def rows(self) -> int:
        """Rows of an epoch, of all processes."""

    def windows(self, epoch: int, first: int) -> Iterator[Window]:
        """Yield the windows of an epoch from one of them on."""


class StreamFleet(Fleet):
    """Models that train together on a stream; ``data`` are the held-out rows of this process."""

    def __init__(
        self,
        architecture: Architecture,
        data: Data,
        jobs: Sequence[Job],
        config: TrainConfig,
        stream: Stream,
        ranks: Ranks,
        identity: str,
    ) -> None:
        self.stream, self.ranks, self.identity = stream, ranks, identity
        self.window, self.rows_done, self.steps_done = 0, 0, 0
        self.losses = torch.zeros(len(jobs), dtype=torch.float64)  # sums over the steps of this epoch, of all jobs
        self.hooks: Sequence[Callback] = ()
        self._weight: Tensor | None = None  # of the rows of a step, [models]
        super().__init__(architecture, data, jobs, config)

    def position(self) -> dict[str, Any]:
        """Return how far this epoch has come."""
        return {
            "window": self.window,
            "rows": self.rows_done,
            "steps": self.steps_done,
            "losses": self.losses.tolist(),
        }

    def go_to(self, position: dict[str, Any]) -> None:
        """Go on from there."""
        numbers = [position[name] for name in ("window", "rows", "steps")]
        if not all(type(number) is int and 0 <= number < 2**53 for number in numbers):
            raise ValueError("a window that never was")
        self.window, self.rows_done, self.steps_done = numbers
        self.losses = torch.tensor([float(loss) for loss in position["losses"]], dtype=torch.float64)
        if len(self.losses) != len(self.jobs):
            raise ValueError(f"losses of {len(self.losses)} models")

    def train(self, callbacks: Sequence[Callback] = ()) -> list[Fit]:
        """Train until every model has stopped."""
        self.hooks = callbacks
        return super().train([*callbacks, _StopTogether(self.ranks)])

    def run_epoch(self) -> None:
        """Make one pass over the rows of the stream, or the rest of one, then evaluate the held-out rows."""
        state = TrainingState(self)
        for window in self.stream.windows(self.epoch, self.window):
            self._train_on(window)
            self.window, self.rows_done = window.number + 1, self.rows_done + window.rows
            for callback in self.hooks:
                told = getattr(callback, "on_rows", None)
                if told is not None:
                    told(state, self.rows_done, self.stream.rows)
        mean = self.losses[self.running] / max(self.steps_done, 1)
        self.window, self.rows_done, self.steps_done = 0, 0, 0
        self.losses = torch.zeros_like(self.losses)
        self.ranks.share(self.values)  # they are equal already, unless machines round differently
        self.end_epoch(mean.to(self.values))

    def _train_on(self, window: Window) -> None:
        """Take the steps of one window."""
        jobs = [self.jobs[number] for number in self.running]
        steps = max(1, math.ceil(window.expected / self.config.batch_size))
        lanes = [self._lane(window.number, lane, data, jobs, steps) for lane, data in window.lanes]
        table, rows, weight = _side_by_side(lanes)
        weights = weight.sum(-1)  # [models, steps]
        targets = self.gradient.targets(table, rows, torch.where((weights <= 0)[..., None], 1.0, weight), self.settings)
        losses = torch.zeros(len(jobs), dtype=torch.float64, device=self.values.device)
        memory = self.values.new_empty(len(jobs), rows.shape[-1], self.data.x.shape[1])
        for step, target in enumerate(targets):
            masks = [next(lane.masks) for lane in lanes]
            self._weight = weights[:, step]
            losses += self.step(_inputs(lanes, step, memory), target, _joined_masks(masks))
        self.losses[self.running] += losses.cpu()
        self.steps_done += steps

    def _lane(self, window: int, lane: int, data: Data, jobs: Sequence[Job], steps: int) -> _Lane:
        """Divide the rows of a lane among the steps, in an order of each model's own."""
        index = torch.arange(len(data.x))
        randoms = [Randomness(_seed(job.seed, self.epoch, window, lane)) for job in jobs]
        rows, present = divided_rows([replace(job, train_rows=index) for job in jobs], randoms, steps)
        rows, present = rows.to(data.x.device), present.to(data.x.device)
        masks = dropout_masks(jobs, randoms, rows.shape[2], steps, self.architecture.hidden, rows.device)
        return _Lane(data, rows, data.observed.weight[rows] * present, rows.transpose(0, 1).contiguous(), masks)

    def combined(self, loss: Tensor) -> Tensor:
        """Return the loss of the whole batch and write its slopes: one all-reduce."""
        if self.ranks.size == 1:
            return loss
        assert self._weight is not None
        size, models, flat = self.slopes.flat.numel(), len(loss), self.slopes.flat
        sums = flat.new_empty(size + 2 * models)
        torch.mul(flat, self._spread(self._weight), out=sums[:size])
        torch.mul(loss, self._weight, out=sums[size : size + models])
        sums[size + models :] = self._weight
        self.ranks.add_up(sums)
        total = sums[size + models :].clamp(min=1e-30)
        torch.div(sums[:size], self._spread(total), out=flat)
        return sums[size : size + models] / total

    def _spread(self, values: Tensor) -> Tensor:
        """Return one value per parameter of numbers of each model."""
        if len(values) == 1:
            return values
        spread = Parameters(self.architecture.layout, torch.empty_like(self.values), len(values))
        for block in spread.blocks.values():
            block.copy_(values.view(-1, *[1] * (block.dim() - 1)).expand_as(block))
        return spread.flat

    def held_out_sums(self, jobs: Sequence[Job]) -> tuple[Tensor, Tensor]:
        """Return sums over the held-out rows of all processes."""
        losses, weights = super().held_out_sums(jobs) if len(self.data.x) else self._nothing(jobs)
        both = self.ranks.add_up(torch.stack([losses, weights]))
        return both[0], both[1]

    def _nothing(self, jobs: Sequence[Job]) -> tuple[Tensor, Tensor]:
        zeros = torch.zeros(2, len(jobs), dtype=torch.float64, device=self.values.device)
        return zeros[0], zeros[1]


class _StopTogether(Callback):
    """Lets all processes stop where a callback of one of them has asked for it."""

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks

    def on_fit_start(self, state: TrainingState) -> None:
        """Ask the others."""
        self.on_epoch_end(state)

    def on_epoch_end(self, state: TrainingState) -> None:
        """Ask the others."""
        asked = self.ranks.add_up(torch.tensor([float(state.fleet.stop_requested)], device=state.fleet.values.device))
        if bool(asked > 0):
            state.stop()


@dataclass(frozen=True, eq=False)
class _Lane:
    """The rows of a lane in a window: which of them each step takes, their weights, and dropout."""

    data: Data
    rows: Tensor  # [models, steps, rows of a step]
    weight: Tensor  # likewise
    by_step: Tensor  # the rows, [steps, models, rows of a step]
    masks: Iterator[list[Tensor] | None]


def _seed(seed: int, epoch: int, window: int, lane: int) -> int:
    return int(np.random.SeedSequence([seed, epoch, window, lane]).generate_state(1, np.uint64)[0])


def _inputs(lanes: Sequence[_Lane], step: int, memory: Tensor) -> Tensor:
    """Return the inputs of a step, ``[models, rows, inputs]``."""
    if len(memory) > 1 and len(lanes) > 1:
        return torch.cat([lane.data.x[lane.by_step[step]] for lane in lanes], dim=1)
    flat, first = memory.view(-1, memory.shape[-1]), 0
    for lane in lanes:
        rows = lane.by_step[step].reshape(-1)
        torch.index_select(lane.data.x, 0, rows, out=flat[first : first + len(rows)])
        first += len(rows)
    return memory


def _joined_masks(masks: Sequence[list[Tensor] | None]) -> list[Tensor] | None:
    first = masks[0]
    if first is None or len(masks) == 1:
        return first
    return [torch.cat([own[layer] for own in masks if own is not None], dim=1) for layer in range(len(first))]


def _side_by_side(lanes: Sequence[_Lane]) -> tuple[Observations, Tensor, Tensor]:
    """Return the outcomes of all lanes as one table, and which of its rows each step takes, with their weights."""
    if len(lanes) == 1:
        return lanes[0].data.observed, lanes[0].rows, lanes[0].weight
    firsts = accumulate((len(lane.data.x) for lane in lanes), initial=0)
    rows = [lane.rows + first for lane, first in zip(lanes, firsts, strict=False)]
    table = _one_after_another([lane.data.observed for lane in lanes])
    return table, torch.cat(rows, dim=-1), torch.cat([lane.weight for lane in lanes], dim=-1)


def _one_after_another(parts: Sequence[Observations]) -> Observations:
    """Join tables; all of them have the same fields."""
    joined: dict[str, Any] = {}
    for field in fields(Observations):
        values = [getattr(part, field.name) for part in parts]
        joined[field.name] = None if values[0] is None else torch.cat(values)
    return Observations(**joined)
