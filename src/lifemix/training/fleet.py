"""The training loop: many models at once, each with its own early stopping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..network import Architecture
from .analytic_gradient import AnalyticLoss
from .autograd import AutogradLoss, FleetVector, Settings, penalties
from .batches import Randomness, dropout_masks, shuffled_rows
from .config import Callback, Data, Job, TrainConfig, TrainingState
from .distributed import Ranks
from .optimizers import OPTIMIZERS

__all__ = ["Fit", "Fleet", "ModuleFleet", "training_arithmetic"]

_VALIDATION_ROWS = 8_192  # rows of all models together that are evaluated at once
_PREPARED_ROWS = 2**20  # rows of all models together whose batches are prepared at once
_PARALLEL_STEP = 2e8  # multiplications in a step, from which several threads are faster than one


@dataclass
class Fit:
    """The result of training one model."""

    parameters: Tensor | None = None  # [n_parameters], those of the best epoch
    best_epoch: int = 0
    best_loss: float = np.inf
    train_loss: list[float] = field(default_factory=list)
    validation_loss: list[float] = field(default_factory=list)

    def records(self, member: int) -> list[dict[str, Any]]:
        """Return one record per epoch, as in ``history_``."""
        losses = zip(self.train_loss, self.validation_loss, strict=True)
        return [
            {"member": member, "epoch": epoch, "train_loss": train, "validation_loss": validation}
            for epoch, (train, validation) in enumerate(losses, 1)
        ]


class Fleet:
    """Models that train together. Model i of every tensor belongs to job ``running[i]``."""

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
        self.best = torch.stack(starts).to(data.x)  # [n_models, n_parameters], of the best epochs
        values = architecture.layout.pack(self.best)
        self.optimizer = OPTIMIZERS[config.optimizer](values)
        self.set_parameters(values)

    def _start(self, job: Job, random: Randomness) -> Tensor:
        """Return the starting parameters of a model, which do not depend on its fleet."""
        is_trained = self.config.max_epochs > 0
        return self.architecture.start(
            job.warm_start, self.config.spread, random.start, trained=is_trained
        )

    def state(self) -> dict[str, Any]:
        """Return the state of the training between two epochs."""
        return {
            "epoch": self.epoch,
            "running": self.running,
            "fits": [vars(fit) for fit in self.fits],
            "parameters": self.parameters.flat,
            "best": self.best,
            "n_steps": self.optimizer.n_steps,
            "moments": self.optimizer.moments,
            "shuffle": [random.shuffle.bit_generator.state for random in self.randoms],
            "dropout": [random.dropout.bit_generator.state for random in self.randoms],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what ``state`` returned."""
        self.epoch, self.running = state["epoch"], state["running"]
        self.fits = [Fit(**fit) for fit in state["fits"]]
        self.best = state["best"]
        self.optimizer.n_steps, self.optimizer.moments = state["n_steps"], state["moments"]
        for random, shuffle, dropout in zip(
            self.randoms, state["shuffle"], state["dropout"], strict=True
        ):
            random.shuffle.bit_generator.state = shuffle
            random.dropout.bit_generator.state = dropout
        if self.running:
            self.set_parameters(state["parameters"])

    def set_parameters(self, values: Tensor) -> None:
        """Set the vector of the parameters of the running models, and collect their settings."""
        layout, n_models = self.architecture.layout, len(self.running)
        self.parameters = FleetVector(layout, values, n_models)
        self.gradient = FleetVector(layout, torch.zeros_like(values), n_models)
        is_analytic = AnalyticLoss.is_applicable(self.architecture, self.config, self.data.observed)
        loss = AnalyticLoss if is_analytic else AutogradLoss
        self.loss = loss(self.architecture, self.config)
        jobs = [self.jobs[number] for number in self.running]

        def column(name: str) -> Tensor:
            return torch.tensor([getattr(job, name) for job in jobs]).to(values)

        learning_rate: Tensor | float = jobs[0].learning_rate
        if any(job.learning_rate != learning_rate for job in jobs):
            learning_rate = self._per_parameter(column("learning_rate"))
        weight_decay = None
        if any(job.weight_decay > 0 for job in jobs):
            weight_decay = self._per_parameter(column("weight_decay"), weights_only=True)
        centres = [self.architecture.prior_centre(job.warm_start) for job in jobs]
        self.settings = Settings(
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            discount=column("discount"),
            prior_strength=column("prior_strength"),
            head_prior=column("head_prior"),
            prior_centre=torch.stack(centres).to(values),
        )

    def _per_parameter(self, per_model: Tensor, weights_only: bool = False) -> Tensor:
        """Return the number of its model for every parameter; if weights_only, 0 for biases."""
        factors = torch.ones_like(self.parameters.flat)
        vector = FleetVector(self.architecture.layout, factors, len(per_model))
        for name, block in vector.blocks.items():
            if weights_only and name != "heads" and not name.endswith("weight"):
                block.zero_()
        vector.scale_models_(per_model)
        return vector.flat

    def train(self, callbacks: Sequence[Callback] = ()) -> list[Fit]:
        """Train until every model has stopped; return their results."""
        state = TrainingState(self)
        for callback in callbacks:
            callback.on_fit_start(state)
        if self.epoch >= self.config.max_epochs or self.stop_requested:
            self._stop_models()
        n_multiplications = 3.0 * self.config.batch_size * self.parameters.flat.numel()
        with training_arithmetic(n_multiplications):
            while self.running:
                for callback in callbacks:
                    callback.on_epoch_start(state)
                self.run_epoch()
                for callback in callbacks:
                    callback.on_epoch_end(state)
                self.stop_requested = self.ranks.from_first(self.stop_requested)
                if self.stop_requested:
                    self._stop_models()
        for callback in callbacks:
            callback.on_fit_end(state)
        return self.fits

    def run_epoch(self) -> None:
        """Make one pass over the training rows of every running model, then evaluate them."""
        jobs = [self.jobs[number] for number in self.running]
        if self.architecture.module is not None:
            self.architecture.module.train()
        train_loss = self._train_steps(jobs)
        self.ranks.copy_from_first(self.parameters.flat)  # machines may round differently
        self.epoch += 1
        validation_loss = self.validation_loss()
        current = self.architecture.layout.unpack(self.parameters.flat, len(jobs))
        for index, (job, number) in enumerate(zip(jobs, self.running, strict=True)):
            fit = self.fits[number]
            fit.train_loss.append(train_loss[index])
            fit.validation_loss.append(validation_loss[index])
            if len(job.validation_rows) == 0 or validation_loss[index] < fit.best_loss:
                fit.best_loss, fit.best_epoch = validation_loss[index], self.epoch
                self.best[index] = current[index]
        self._stop_models()

    def _train_steps(self, jobs: Sequence[Job]) -> list[float]:
        """Take the steps of an epoch; return the mean loss of each model, penalties included."""
        randoms = [self.randoms[number] for number in self.running]
        device, observed = self.data.x.device, self.data.observed
        rows, present = shuffled_rows(jobs, randoms, self.config.batch_size, self.data.mapped)
        n_steps, n_rows = rows.shape[1:]
        masks = dropout_masks(jobs, randoms, n_rows, n_steps, self.architecture.hidden, device)
        rows = self.ranks.share(rows, 2)
        present = self.ranks.share(present, 2)
        steps_at_once = max(1, _PREPARED_ROWS // (len(jobs) * n_rows))
        losses = []
        for first_step in range(0, n_steps, steps_at_once):
            steps = slice(first_step, first_step + steps_at_once)
            index = rows[:, steps].to(device)
            weight = observed.weight[index] * present[:, steps].to(device)
            weight_sum = weight.sum(-1)  # [n_models, n_steps]
            if self.ranks.size > 1:  # a rank whose share has no weight counts 0 in the average
                weight = torch.where(weight_sum[..., None] > 0, weight, 1.0)
            step_rows = observed.take(index).reweighted(weight)
            for step, batch in enumerate(self.loss.batches(step_rows, self.settings)):
                x = self.inputs(index[:, step])
                loss = self.step(x, batch, next(masks), weight_sum[:, step])
                losses.append(loss)
        mean = torch.stack(losses).mean(0)
        total: Tensor = mean + penalties(self.parameters, self.settings)
        return total.tolist()

    def inputs(self, rows: Tensor) -> Tensor:
        """Return the inputs ``[n_models, n_rows, n_inputs]`` of some rows of each model."""
        n_inputs = self.data.x.shape[1]
        x = self.data.x.index_select(0, rows.flatten())
        return x.view(*rows.shape, n_inputs)

    def step(self, x: Tensor, batch: Any, masks: list[Tensor] | None, weight: Tensor) -> Tensor:
        """Take one optimiser step for every model; return the losses before it, ``[n_models]``.

        weight: the sum of the weights of the rows, ``[n_models]``.
        """
        if masks is not None:
            masks = [self.ranks.share(mask, 1) for mask in masks]
        parameters, gradient = self.parameters, self.gradient
        settings = self.settings
        loss = self.loss.with_gradient(parameters, gradient, settings, x, batch, masks)
        loss = self.ranks.average(loss, gradient, weight)
        gradient.clip_norms_(self.config.max_gradient_norm)
        if settings.weight_decay is not None:  # decoupled from the gradient, as in AdamW
            decay = parameters.flat * settings.weight_decay * settings.learning_rate
            parameters.flat.sub_(decay)
        self.optimizer.step(parameters.flat, gradient.flat, settings.learning_rate)
        return loss

    @torch.no_grad()
    def validation_loss(self) -> list[float]:
        """Return the trained objective on the validation rows, without penalties; NaN if none."""
        validation_rows = [self.jobs[number].validation_rows for number in self.running]
        if len(validation_rows[0]) == 0:
            return [np.nan] * len(validation_rows)
        if self.architecture.module is not None:
            self.architecture.module.eval()
        observed = self.data.observed
        padded = pad_sequence(validation_rows, batch_first=True, padding_value=-1)
        padded = padded.to(observed.time.device)
        loss_sum = torch.zeros(len(padded), dtype=torch.float64, device=padded.device)
        weight_sum = torch.zeros_like(loss_sum)
        rows_at_once = max(1, _VALIDATION_ROWS // len(padded))
        for rows in padded.split(rows_at_once, dim=1):
            index = rows.clamp(min=0)
            weight = observed.weight[index] * (rows >= 0)
            one_step = observed.take(index[:, None]).reweighted(weight[:, None])
            (batch,) = self.loss.batches(one_step, self.settings)
            x = self.inputs(index)
            loss_sum += self.loss.held_out(self.parameters, self.settings, x, batch)
            weight_sum += weight.double().sum(1)
        self.ranks.copy_from_first(loss_sum)
        return (loss_sum / weight_sum).tolist()

    def _stop_models(self) -> None:
        """Stop the models that have not improved for ``patience`` epochs, or all at the end."""
        at_end = self.epoch >= self.config.max_epochs or self.stop_requested
        indices = []
        for index, number in enumerate(self.running):
            fit = self.fits[number]
            if at_end or self.epoch - fit.best_epoch >= self.config.patience:
                fit.parameters = self.best[index].clone()
            else:
                indices.append(index)
        if len(indices) == len(self.running):
            return
        layout, n_models = self.architecture.layout, len(self.running)
        self.running = [self.running[index] for index in indices]
        self.best = self.best[indices]

        def select(flat: Tensor) -> Tensor:
            rows = layout.unpack(flat, n_models)
            return layout.pack(rows[indices])

        self.optimizer.moments = [select(moment) for moment in self.optimizer.moments]
        if self.running:
            self.set_parameters(select(self.parameters.flat))


class ModuleFleet(Fleet):
    """A fleet of one model whose encoder is a module of the user's; training changes the module.

    The module may draw from PyTorch's global random generators (dropout): during an epoch they
    continue from the model's own states, and then they are restored. It may have buffers (batch
    normalisation): those of the best epoch are kept.
    """

    def __init__(
        self, architecture: Architecture, data: Data, job: Job, config: TrainConfig
    ) -> None:
        if architecture.module is not None:
            architecture.module.to(data.x.device)
        super().__init__(architecture, data, [job], config)
        self.best_buffers = self.buffers()
        self._cuda_devices = [data.x.device] if data.x.device.type == "cuda" else []
        self.random_states = [
            torch.Generator(device).manual_seed(job.seed).get_state()
            for device in (torch.device("cpu"), *self._cuda_devices)
        ]

    def run_epoch(self) -> None:
        """Make one pass over the training rows, then evaluate the validation rows."""
        with self._random_numbers():
            super().run_epoch()
        if self.fits[0].best_epoch == self.epoch:
            self.best_buffers = self.buffers()
        if not self.running:
            self.set_buffers(self.best_buffers)

    def state(self) -> dict[str, Any]:
        """Return the state of the training between two epochs."""
        return super().state() | {
            "random_states": self.random_states,
            "buffers": self.buffers(),
            "best_buffers": self.best_buffers,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what ``state`` returned."""
        super().restore(state)
        self.random_states = [random_state.cpu() for random_state in state["random_states"]]
        self.set_buffers(state["buffers"])
        self.best_buffers = state["best_buffers"]

    def buffers(self) -> dict[str, Tensor]:
        """Return copies of the tensors that the module has beside its trained parameters."""
        return {name: buffer.clone() for name, buffer in self.architecture.module_state().items()}

    def set_buffers(self, buffers: dict[str, Tensor]) -> None:
        """Copy the tensors that ``buffers`` returned into the module."""
        for name, buffer in self.architecture.module_state().items():
            buffer.copy_(buffers[name])

    @contextmanager
    def _random_numbers(self) -> Iterator[None]:
        """Use this model's states of the global random generators, and restore these afterwards."""
        with torch.random.fork_rng(devices=self._cuda_devices):
            torch.set_rng_state(self.random_states[0])
            for device, state in zip(self._cuda_devices, self.random_states[1:], strict=True):
                torch.cuda.set_rng_state(state, device)
            yield
            cuda_states = [torch.cuda.get_rng_state(device) for device in self._cuda_devices]
            self.random_states = [torch.get_rng_state(), *cuda_states]


@contextmanager
def training_arithmetic(n_multiplications: float) -> Iterator[None]:
    """Flush denormal numbers to 0, and compute small steps with one thread.

    Responsibilities of exp(-100) make gradients that are denormal numbers, which processors compute
    slowly. If a step has few multiplications, threads cost more than they save.
    """
    n_threads = torch.get_num_threads()
    torch.set_flush_denormal(True)
    if n_multiplications < _PARALLEL_STEP:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(n_threads)
