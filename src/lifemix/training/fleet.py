"""The state of a fleet in training: the parameters of its models, their best so far, and who is still running."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ..likelihood import base_penalty, combined_loss, contributions, head_penalty
from ..model import Architecture
from .batches import Batch, Randomness, epoch_batches
from .config import Data, Job, TrainConfig
from .optimizers import make_optimizer

__all__ = ["Fit", "Fleet"]

_VALIDATION_CHUNK = 16_384  # rows of all models together that are evaluated at once


@dataclass
class Fit:
    """What training gives for one model."""

    parameters: Tensor | None = None  # [parameters], the best ones
    best_epoch: int = 0
    best_loss: float = np.inf
    train_loss: list[float] = field(default_factory=list)
    validation_loss: list[float] = field(default_factory=list)


class Fleet:
    """Models that train together. Row i of every matrix belongs to job ``running[i]``."""

    def __init__(self, architecture: Architecture, data: Data, jobs: Sequence[Job], config: TrainConfig) -> None:
        self.architecture, self.data, self.config = architecture, data, config
        self.jobs = list(jobs)
        self.randoms = [Randomness(job.seed) for job in jobs]
        self.fits = [Fit() for _ in jobs]
        self.running = list(range(len(jobs)))
        self.epoch = 0
        starts = [
            architecture.start(job.warm_start, config.spread, random.start)
            for job, random in zip(jobs, self.randoms, strict=True)
        ]
        self.values = torch.stack(starts).to(data.x)  # [models, parameters]
        self.best = self.values.clone()
        self.optimizer = make_optimizer(config.optimizer, self.values)
        self.gather_settings()

    def gather_settings(self) -> None:
        """Stack what differs between the running models."""
        jobs = [self.jobs[number] for number in self.running]

        def column(name: str) -> Tensor:
            return torch.tensor([getattr(job, name) for job in jobs]).to(self.data.x)

        self.discount = column("discount")
        self.prior_strength, self.head_prior = column("prior_strength"), column("head_prior")
        self.learning_rate = column("learning_rate")[:, None]
        centres = [self.architecture.base_of(job.warm_start) for job in jobs]
        self.prior_centre = torch.stack(centres).to(self.data.x)  # [models, events, 2]
        self.decay = self._decay(column("weight_decay"))

    def _decay(self, weight_decay: Tensor) -> Tensor | None:
        if not bool((weight_decay > 0).any()):
            return None
        decay = torch.zeros_like(self.values)
        for name, view in self.architecture.layout.views(decay).items():
            if name == "heads" or name.endswith("weight"):
                view.copy_(weight_decay.view(-1, *[1] * (view.dim() - 1)).expand_as(view))
        return decay

    def run_epoch(self) -> None:
        """Take one pass over the training rows of every running model, then look at the held-out rows."""
        jobs = [self.jobs[number] for number in self.running]
        randoms = [self.randoms[number] for number in self.running]
        if self.architecture.module is not None:
            self.architecture.module.train()
        total = torch.zeros(len(jobs), device=self.values.device)
        steps = 0
        for batch in epoch_batches(self.data, jobs, randoms, self.config.batch_size, self.architecture.hidden):
            total += self.step(batch)
            steps += 1
        self.epoch += 1
        validation = self.validation_loss()
        for row, (number, loss) in enumerate(zip(self.running, (total / steps).tolist(), strict=True)):
            self._record(row, self.fits[number], loss, validation[row])
        self._retire()

    def step(self, batch: Batch) -> Tensor:
        """Move every model down the gradient of its loss; return the losses before the step, ``[models]``."""
        loss, gradient = self.loss_and_gradient(batch)
        norm = torch.linalg.vector_norm(gradient, dim=1, keepdim=True, dtype=torch.float64)
        gradient.mul_((self.config.max_gradient_norm / norm).clamp(max=1.0).to(gradient))
        self.optimizer.update(self.values, gradient, self.learning_rate, self.decay)
        return loss

    def loss_and_gradient(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the loss of each model and its gradient, ``[models]`` and ``[models, parameters]``."""
        values = self.values.detach().requires_grad_()
        parameters = self.architecture.layout.views(values)
        mixtures = self.architecture.mixtures(parameters, batch.x, batch.masks)
        terms = contributions(mixtures, batch.observed, self.config.objective, self.config.t_max)
        prior = base_penalty(parameters["base"], self.prior_centre)
        loss = combined_loss(terms, batch.observed.weight, self.discount, self.prior_strength, prior)
        loss = loss + self.head_prior * head_penalty(parameters["heads"])
        (gradient,) = torch.autograd.grad(loss.sum(), values)
        return loss.detach(), gradient

    @torch.no_grad()
    def validation_loss(self) -> list[float]:
        """Return the held-out value of the objective that is trained, without the penalties; NaN without such rows."""
        jobs = [self.jobs[number] for number in self.running]
        if len(jobs[0].validation_rows) == 0:
            return [np.nan] * len(jobs)
        if self.architecture.module is not None:
            self.architecture.module.eval()
        parameters = self.architecture.layout.views(self.values)
        rows, present = _padded([job.validation_rows for job in jobs], self.values.device)
        losses = torch.zeros(len(jobs), dtype=torch.float64, device=self.values.device)
        weights = torch.zeros_like(losses)
        size = max(1, _VALIDATION_CHUNK // len(jobs))
        for part, here in zip(rows.split(size, dim=1), present.split(size, dim=1), strict=True):
            x = self.data.x.index_select(0, part.reshape(-1)).view(*part.shape, -1)
            observed = self.data.observed.take(part)
            terms = contributions(
                self.architecture.mixtures(parameters, x), observed, self.config.objective, self.config.t_max
            )
            weight = (observed.weight * here).double()
            losses -= (weight * terms.total(self.discount[:, None])).sum(1)
            weights += weight.sum(1)
        return (losses / weights).tolist()

    def _record(self, row: int, fit: Fit, train_loss: float, validation_loss: float) -> None:
        fit.train_loss.append(train_loss)
        fit.validation_loss.append(validation_loss)
        if np.isnan(validation_loss) or validation_loss < fit.best_loss:
            fit.best_loss, fit.best_epoch = validation_loss, self.epoch
            self.best[row] = self.values[row]

    def _retire(self) -> None:
        """Let the models go that have not become better for long enough."""
        stay = []
        for row, number in enumerate(self.running):
            fit = self.fits[number]
            done = self.epoch >= self.config.max_epochs or self.epoch - fit.best_epoch >= self.config.patience
            if done:
                fit.parameters = self.best[row].clone()
            else:
                stay.append(row)
        if len(stay) < len(self.running):
            self._keep(stay)

    def _keep(self, rows: list[int]) -> None:
        index = torch.tensor(rows, dtype=torch.long, device=self.values.device)
        self.running = [self.running[row] for row in rows]
        self.values, self.best = self.values[index], self.best[index]
        self.optimizer.keep(index)
        if rows:
            self.gather_settings()

    def train(self, after_epoch: Callable[[Fleet], None] | None = None) -> list[Fit]:
        """Train until every model has stopped."""
        if self.epoch >= self.config.max_epochs:
            self._retire()
        while self.running:
            self.run_epoch()
            if after_epoch is not None:
                after_epoch(self)
        return self.fits


def _padded(rows: Sequence[Tensor], device: torch.device) -> tuple[Tensor, Tensor]:
    """Stack index lists of nearly equal length; the places that are not filled are marked."""
    longest = max(len(part) for part in rows)
    index = torch.zeros(len(rows), longest, dtype=torch.long)
    present = torch.zeros(len(rows), longest, dtype=torch.bool)
    for number, part in enumerate(rows):
        index[number, : len(part)] = part
        present[number, : len(part)] = True
    return index.to(device), present.to(device)
