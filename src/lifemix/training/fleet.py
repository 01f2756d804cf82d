"""The state of a fleet in training: the parameters of its models, the best so far, and which are still running."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..network import Architecture
from .batches import Randomness, dropout_masks, shuffled_rows
from .by_slopes import BySlopes
from .callbacks import Callback, TrainingState
from .config import Data, Job, TrainConfig
from .denormals import without_denormals
from .distributed import Ranks
from .fused import Fused
from .gradients import Autograd, Gradient, Parameters, Settings, penalties
from .optimizers import make_optimizer
from .threads import threads_for

__all__ = ["Fit", "Fleet"]

_VALIDATION_CHUNK = 8_192  # rows of all models together that are evaluated at once
_PREPARED_ROWS = 2**20  # rows of all models together whose targets are prepared at once
_KEPT = 2**22  # numbers of held-out inputs, all models together, that are kept from epoch to epoch


_HeldOut = tuple[Tensor, Any, Tensor]
"""Inputs, target and sum of weights of some held-out rows of each model."""


@dataclass
class Fit:
    """The result of training one model."""

    parameters: Tensor | None = None  # [parameters], the best ones
    best_epoch: int = 0
    best_loss: float = np.inf
    train_loss: list[float] = field(default_factory=list)
    validation_loss: list[float] = field(default_factory=list)

    def records(self, member: int) -> list[dict[str, Any]]:
        """Return one record per epoch, as in ``history_``."""
        return [
            {"member": member, "epoch": epoch, "train_loss": train, "validation_loss": held}
            for epoch, (train, held) in enumerate(
                zip(self.train_loss, self.validation_loss, strict=True), 1
            )
        ]


class Fleet:
    """Models that train together. Row i of every matrix belongs to job ``running[i]``."""

    def __init__(
        self,
        architecture: Architecture,
        data: Data,
        jobs: Sequence[Job],
        config: TrainConfig,
        ranks: Ranks | None = None,
    ) -> None:
        self.architecture, self.data, self.config = architecture, data, config
        self.ranks = ranks or Ranks()
        self.jobs = list(jobs)
        self.randoms = [Randomness(job.seed) for job in jobs]
        self.fits = [Fit() for _ in jobs]
        self.running = list(range(len(jobs)))
        self.epoch = 0
        self.stop_requested = False  # by a callback
        starts = [self._start(job, random) for job, random in zip(jobs, self.randoms, strict=True)]
        self.best = torch.stack(starts).to(data.x)  # [models, parameters]
        self.values = architecture.layout.pack(self.best)  # all models in one vector
        self.optimizer = make_optimizer(config.optimizer, self.values)
        if Fused.usable(architecture):
            self.gradient: Gradient = Fused(architecture, config)
        elif BySlopes.usable_with(architecture, config, data.observed):
            self.gradient = BySlopes(architecture, config)
        else:
            self.gradient = Autograd(architecture, config)
        self.gather_settings()

    def _start(self, job: Job, random: Randomness) -> Tensor:
        """Draw the starting parameters of a model, the same whoever trains beside it."""
        own = self.architecture
        if job.n_inputs is not None:
            own = replace(own, n_inputs=job.n_inputs)
        row = own.start(
            job.warm_start, self.config.spread, random.start, trained=self.config.max_epochs > 0
        )
        return row if job.n_inputs is None else self.architecture.widened(row, job.n_inputs)

    def gather_settings(self) -> None:
        """Stack what differs between the running models, and name the parts of their vectors."""
        self.parameters = Parameters(self.architecture.layout, self.values, len(self.running))
        self.slopes = Parameters(
            self.architecture.layout, torch.zeros_like(self.values), len(self.running)
        )
        self.held_out: list[_HeldOut] | None = None
        jobs = [self.jobs[number] for number in self.running]

        def column(name: str) -> Tensor:
            return torch.tensor([getattr(job, name) for job in jobs]).to(self.data.x)

        centres = [self.architecture.centres(job.warm_start) for job in jobs]
        self.settings = Settings(
            learning_rate=self._learning_rate([job.learning_rate for job in jobs]),
            discount=column("discount"),
            twice_prior=2 * column("prior_strength").view(-1, 1, 1, 1),
            head_prior=column("head_prior"),
            any_head_prior=any(job.head_prior > 0 for job in jobs),
            prior_centre=torch.stack([centre for centre, _ in centres]).to(self.data.x),
            fixed=torch.stack([fixed for _, fixed in centres]).to(self.data.x),
            decay=self._decay(column("weight_decay"))
            if any(job.weight_decay > 0 for job in jobs)
            else None,
        )

    def _learning_rate(self, rates: list[float]) -> Tensor | float:
        column = torch.tensor(rates, dtype=self.data.x.dtype)
        if bool((column == column[0]).all()):
            return float(column[0])
        layout = self.architecture.layout
        return layout.pack(column.to(self.data.x)[:, None].expand(-1, layout.size))

    def _decay(self, weight_decay: Tensor) -> Tensor:
        decay = torch.zeros_like(self.values)
        for name, block in self.architecture.layout.blocks(decay, len(self.running)).items():
            if name == "heads" or name.endswith("weight"):
                block.copy_(weight_decay.view(-1, *[1] * (block.dim() - 1)).expand_as(block))
        return decay

    def run_epoch(self) -> None:
        """Make one pass over the training rows of every running model, then evaluate the validation rows."""
        jobs = [self.jobs[number] for number in self.running]
        randoms = [self.randoms[number] for number in self.running]
        if self.architecture.module is not None:
            self.architecture.module.train()
        rows, present = shuffled_rows(jobs, randoms, self.config.batch_size, self.data.mapped)
        n_steps, n_rows = rows.shape[1:]
        losses = []
        masks = dropout_masks(
            jobs, randoms, n_rows, n_steps, self.architecture.hidden, self.values.device
        )
        rows, present = self.ranks.share(rows, 2), self.ranks.share(present, 2)
        x = self.values.new_empty(len(jobs), rows.shape[2], self.data.x.shape[1])
        n_prepared = max(1, _PREPARED_ROWS // (len(jobs) * n_rows))
        for first in range(0, n_steps, n_prepared):
            batches = rows[:, first : first + n_prepared].to(self.values.device)
            counted = present[:, first : first + n_prepared].to(self.values.device)
            weight = self.data.observed.weight[batches] * counted
            totals = weight.sum(-1)  # [models, steps]
            if self.ranks.size > 1:  # a share without weight counts as 0 in the average
                weight = torch.where(totals[..., None] > 0, weight, 1.0)
            targets = self.gradient.targets(self.data.observed, batches, weight, self.settings)
            steps = zip(
                batches.transpose(0, 1).contiguous(), targets, totals.unbind(1), strict=True
            )
            for batch, target, total in steps:
                losses.append(self.step(self.inputs(batch, x), target, next(masks), total))
        self.ranks.copy_from_first(self.values)  # equal already, unless machines round differently
        mean = torch.stack(losses).mean(0) + penalties(self.parameters.blocks, self.settings)
        self.epoch += 1
        validation = self.validation_loss()
        current = self.architecture.layout.unpack(self.values, len(jobs))
        for row, (number, loss) in enumerate(zip(self.running, mean.tolist(), strict=True)):
            held_out = len(jobs[row].validation_rows) > 0
            if self._record(self.fits[number], loss, validation[row], held_out):
                self.best[row] = current[row]
        self._retire()

    def inputs(self, rows: Tensor, out: Tensor | None = None) -> Tensor:
        """Return the inputs of some rows of each model, ``[models, rows, inputs]``, in memory that is given or new."""
        if out is None:
            out = self.data.x.new_empty(*rows.shape, self.data.x.shape[1])
        torch.index_select(
            self.data.x, 0, rows.reshape(-1), out=out.view(rows.numel(), out.shape[-1])
        )
        return out

    def step(self, x: Tensor, target: Any, masks: list[Tensor] | None, weight: Tensor) -> Tensor:
        """Take one optimiser step for every model; return the losses before the step, ``[models]``.

        weight: the sum over the rows, ``[models]``.
        """
        if masks is not None:
            masks = [self.ranks.share(mask, 1) for mask in masks]
        loss = self.gradient.loss_and_gradient(
            self.parameters, self.slopes, self.settings, x, target, masks
        )
        loss = self.ranks.average(loss, self.slopes, weight)
        self.slopes.clip_norm_(self.config.max_gradient_norm)
        self.optimizer.update(
            self.values, self.slopes.flat, self.settings.learning_rate, self.settings.decay
        )
        return loss

    @torch.no_grad()
    def validation_loss(self) -> list[float]:
        """Return the held-out value of the objective that is trained, without the penalties; NaN without such rows."""
        jobs = [self.jobs[number] for number in self.running]
        if len(jobs[0].validation_rows) == 0:
            return [np.nan] * len(jobs)
        if self.architecture.module is not None:
            self.architecture.module.eval()
        losses = torch.zeros(len(jobs), dtype=torch.float64, device=self.values.device)
        weights = torch.zeros_like(losses)
        for x, target, weight in self._held_out_parts(jobs):
            losses += self.gradient.held_out(self.parameters, self.settings, x, target)
            weights += weight
        self.ranks.copy_from_first(losses)
        return (losses / weights).tolist()

    def _held_out_parts(self, jobs: Sequence[Job]) -> Iterable[_HeldOut]:
        """Return the held-out rows in parts; they are gathered once where they are few."""
        if self.held_out is not None:
            return self.held_out
        rows, present = _padded([job.validation_rows for job in jobs], self.values.device)
        size = max(1, _VALIDATION_CHUNK // len(jobs))
        parts = map(self._held_out_part, rows.split(size, dim=1), present.split(size, dim=1))
        if rows.numel() * self.data.x.shape[1] > _KEPT:
            return parts
        self.held_out = list(parts)
        return self.held_out

    def _held_out_part(self, rows: Tensor, present: Tensor) -> _HeldOut:
        weight = self.data.observed.weight[rows] * present
        target = self.gradient.held_out_target(self.data.observed, rows, weight, self.settings)
        return self.inputs(rows), target, weight.double().sum(1)

    def _record(self, fit: Fit, train_loss: float, validation_loss: float, held_out: bool) -> bool:
        """Store the losses of an epoch; return whether it is the best so far (without validation rows, always)."""
        fit.train_loss.append(train_loss)
        fit.validation_loss.append(validation_loss)
        better = not held_out or validation_loss < fit.best_loss
        if better:
            fit.best_loss, fit.best_epoch = validation_loss, self.epoch
        return better

    def _retire(self) -> None:
        """Stop the models that have not improved for ``patience`` epochs, or all at the end."""
        stay = []
        for row, number in enumerate(self.running):
            fit = self.fits[number]
            last = self.epoch >= self.config.max_epochs or self.stop_requested
            if last or self.epoch - fit.best_epoch >= self.config.patience:
                fit.parameters = self.best[row].clone()
            else:
                stay.append(row)
        if len(stay) < len(self.running):
            self._keep(stay)

    def _keep(self, rows: list[int]) -> None:
        index = torch.tensor(rows, dtype=torch.long, device=self.values.device)
        self.running = [self.running[row] for row in rows]
        layout = self.architecture.layout
        n_models = len(self.best)
        self.best = self.best[index]
        self.values, *self.optimizer.moments = (
            layout.pack(layout.unpack(vector, n_models)[index])
            for vector in (self.values, *self.optimizer.moments)
        )
        if rows:
            self.gather_settings()

    def train(self, callbacks: Sequence[Callback] = ()) -> list[Fit]:
        """Train until every model has stopped."""
        state = TrainingState(self)
        for callback in callbacks:
            callback.on_fit_start(state)
        if self.epoch >= self.config.max_epochs or self.stop_requested:
            self._retire()
        with threads_for(3.0 * self.config.batch_size * self.values.numel()), without_denormals():
            while self.running:
                for callback in callbacks:
                    callback.on_epoch_start(state)
                self.run_epoch()
                for callback in callbacks:
                    callback.on_epoch_end(state)
                self.stop_requested = self.ranks.from_first(self.stop_requested)
                if self.stop_requested:
                    self._retire()
        for callback in callbacks:
            callback.on_fit_end(state)
        return self.fits


def _padded(rows: Sequence[Tensor], device: torch.device) -> tuple[Tensor, Tensor]:
    """Stack index lists of nearly equal length; also return which places are filled."""
    longest = max(len(part) for part in rows)
    index = torch.zeros(len(rows), longest, dtype=torch.long)
    present = torch.zeros(len(rows), longest, dtype=torch.bool)
    for number, part in enumerate(rows):
        index[number, : len(part)] = part
        present[number, : len(part)] = True
    return index.to(device), present.to(device)
