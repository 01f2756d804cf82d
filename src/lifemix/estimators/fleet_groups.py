"""From prepared fits to trained models: the members of one fit, or many fits at once.

Models of the same shape train together as a fleet, in one matrix product: the members of an
ensemble, and the fits of a search or of any list of fits.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..encoders import redrawn
from ..errors import DivergedError, LifemixError
from ..files import folder_lock
from ..likelihood import Observations
from ..network import Architecture
from ..preprocessing import TableLike
from ..progress import progress_bar, report_progress
from ..target import TargetLike
from ..training import (
    Callback,
    Checkpoint,
    Data,
    Fit,
    Fleet,
    ModuleFleet,
    Ranks,
    TrainConfig,
    TrainingState,
    steps_per_epoch,
)
from .preparation import PreparedFit, TrainingSet, prepare

if TYPE_CHECKING:
    from .dsm import DeepSurvivalMachines

__all__ = [
    "FitRequest",
    "FitResult",
    "TrainedFit",
    "check_finite",
    "fit_fleet",
    "fit_many",
    "group_fits",
    "prepare_fleets",
    "train",
    "train_together",
]

_MAX_JOINED_BYTES = 2**28  # inputs of several folds are copied into one matrix up to this size


@dataclass(frozen=True, eq=False)
class TrainedFit:
    """What training returned for each job, and the architecture of each fleet."""

    fits: list[Fit]
    architectures: tuple[Architecture, ...]


def train(
    prepared: PreparedFit,
    checkpoint_folder: str | os.PathLike[str] | None = None,
    callbacks: Sequence[Callback] = (),
    verbose: bool = False,
    ranks: Ranks | None = None,
) -> TrainedFit:
    """Train the members of one fit.

    While it trains, no other fit may use its checkpoint folder; the checkpoints are removed at the
    end. Of several processes, the first calls the callbacks and writes the checkpoints, and all
    read them.
    """
    ranks = ranks or Ranks()
    is_first = ranks.rank == 0
    folder = None if checkpoint_folder is None else Path(checkpoint_folder)
    fits: list[Fit] = []
    architectures, checkpoints = [], []
    lock = nullcontext() if folder is None or not is_first else folder_lock(folder, "checkpoint")
    with lock:
        for number, fleet in enumerate(_fleets_of(prepared, ranks)):
            hooks = [*callbacks] if is_first else []
            if folder is not None:
                path = folder / f"lifemix-checkpoint-{number}.pt"
                checkpoint = Checkpoint(path, fleet, writes=is_first)
                checkpoint.restore(fleet)
                checkpoints.append(checkpoint)
                hooks.insert(0, checkpoint)  # before the user's, which may fail
            with progress_bar() if verbose and is_first else nullcontext():
                fits += fleet.train([*hooks, _EpochProgress()] if verbose else hooks)
            architectures.append(fleet.architecture)
        check_finite(fits)
        for checkpoint in checkpoints:
            checkpoint.remove()
    return TrainedFit(fits, tuple(architectures))


def _fleets_of(prepared: PreparedFit, ranks: Ranks | None = None) -> Iterator[Fleet]:
    """Yield the fleets of one fit: all members together, or one by one if they must."""
    architecture, data, config = prepared.architecture, prepared.data, prepared.config
    if architecture.module is not None:
        for job in prepared.jobs:
            module = redrawn(architecture.module, job.seed)
            yield ModuleFleet(replace(architecture, module=module), data, job, config)
    else:
        yield Fleet(architecture, data, prepared.jobs, config, ranks)


class _EpochProgress(Callback):
    """Reports the epochs of training."""

    def on_epoch_end(self, state: TrainingState) -> None:
        """Report the epoch and the mean held-out loss of the best epochs."""
        losses = [fit.best_loss for fit in state.fleet.fits if np.isfinite(fit.best_loss)]
        loss = f", held-out loss {np.mean(losses):.4f}" if losses else ""
        completed = state.epoch if state.n_running else state.max_epochs
        report_progress(f"training, epoch {state.epoch}{loss}", completed, state.max_epochs)


def check_finite(fits: Sequence[Fit]) -> None:
    """Raise ``DivergedError`` if the weights, or best and last loss, of any fit are not finite."""
    diverged = []
    for fit in fits:
        has_loss = any(math.isfinite(loss) for loss in [fit.best_loss, *fit.train_loss[-1:]])
        has_weights = fit.parameters is None or bool(torch.isfinite(fit.parameters).all())
        if not has_weights or (fit.train_loss and not has_loss):
            diverged.append(fit)
    if diverged:
        raise DivergedError(
            f"training diverged: the weights or the loss of {len(diverged)} of {len(fits)} models "
            f"are not finite after {len(diverged[0].train_loss)} epochs. Lower learning_rate, or "
            "scale X (preprocessor='auto' does)."
        )


# Many fits.


@dataclass(frozen=True, eq=False)
class FitRequest:
    """A model and what it is fitted to; requests with the same objects share preparation."""

    model: DeepSurvivalMachines
    X: TableLike
    y: TargetLike
    validation_data: tuple[Any, Any] | None = None
    sample_weight: Any = None


@dataclass(frozen=True, eq=False)
class FitResult:
    """The number of the request, its model, its error, and its share of processor time."""

    number: int
    model: DeepSurvivalMachines
    error: LifemixError | None
    seconds: float


@dataclass(frozen=True, eq=False)
class FleetMember:
    """A request that is ready to train."""

    number: int
    model: DeepSurvivalMachines
    prepared: PreparedFit


def fit_many(requests: Sequence[FitRequest], max_fleet: int = 32) -> Iterator[FitResult]:
    """Fit models in fleets and yield their results; a model that diverges has an error.

    Which models train together depends on the requests alone, so the same list gives the same
    numbers.
    """
    for fleet in prepare_fleets(requests, max_fleet):
        yield from fit_fleet(fleet)


def prepare_fleets(requests: Sequence[FitRequest], max_fleet: int) -> list[list[FleetMember]]:
    """Prepare all requests, and group those that can train together."""
    tables: dict[tuple[int, ...], TrainingSet] = {}
    members = []
    for number, request in enumerate(requests):
        request.model._check_settings()
        rows = (request.X, request.y, request.sample_weight, request.validation_data)
        key = tuple(map(id, rows))
        if key not in tables:
            tables[key] = TrainingSet(*rows)
        members.append(FleetMember(number, request.model, prepare(request.model, tables[key])))
    groups = group_fits([member.prepared for member in members], max_fleet)
    return [[members[index] for index in group] for group in groups]


def fit_fleet(members: Sequence[FleetMember]) -> list[FitResult]:
    """Train the models of one fleet together."""
    start = time.process_time()
    trained = train_together([member.prepared for member in members])
    seconds = (time.process_time() - start) / len(members)
    results = []
    for member, fit in zip(members, trained, strict=True):
        error: LifemixError | None = None
        try:
            check_finite(fit.fits)
            member.model._set_fitted(member.prepared, fit)
        except LifemixError as problem:
            error = problem
        results.append(FitResult(member.number, member.model, error, seconds))
    return results


@dataclass(frozen=True)
class FleetKey:
    """What fits must have in common to train together."""

    architecture: Architecture
    config: TrainConfig
    steps_per_epoch: frozenset[int]
    has_validation: bool
    missing_fields: tuple[str, ...]  # of the observations
    device: str
    matrix: int | None  # of large inputs, which are not copied
    module: int | None  # of a fit with an encoder of the user, which trains alone

    @classmethod
    def of(cls, index: int, prepared: PreparedFit) -> FleetKey:
        """Return the key of a fit in a list of fits."""
        x, observed, config = prepared.data.x, prepared.data.observed, prepared.config
        sizes = {len(job.train_rows) for job in prepared.jobs}
        is_large = x.numel() * x.element_size() > _MAX_JOINED_BYTES
        return cls(
            prepared.architecture,
            config,
            frozenset(steps_per_epoch(size, config.batch_size) for size in sizes),
            len(prepared.jobs[0].validation_rows) > 0,
            tuple(name for name, values in vars(observed).items() if values is None),
            str(x.device),
            id(x) if is_large else None,
            None if prepared.architecture.module is None else index,
        )


def group_fits(prepared: Sequence[PreparedFit], max_fleet: int) -> list[list[int]]:
    """Return the positions of the fits that train together, in groups of nearly equal size.

    Parameters
    ----------
    prepared : sequence of PreparedFit
        All fits.
    max_fleet : int
        The most models, members of ensembles counted, in a group; a fit is never split.

    Returns
    -------
    list of list of int
    """
    indices_by_key: dict[FleetKey, list[int]] = {}
    for index, fit in enumerate(prepared):
        indices_by_key.setdefault(FleetKey.of(index, fit), []).append(index)
    groups = []
    for indices in indices_by_key.values():
        max_fits = max(1, max_fleet // len(prepared[indices[0]].jobs))
        n_groups = -(-len(indices) // max_fits)
        edges = [number * len(indices) // n_groups for number in range(n_groups + 1)]
        groups += [indices[start:stop] for start, stop in zip(edges[:-1], edges[1:], strict=True)]
    return groups


def train_together(prepared: Sequence[PreparedFit]) -> list[TrainedFit]:
    """Train the fits of one group; fits that diverge are included."""
    first = prepared[0]
    if first.architecture.module is not None:
        fleets = list(_fleets_of(first))
        fits = [fit for fleet in fleets for fit in fleet.train()]
        return [TrainedFit(fits, tuple(fleet.architecture for fleet in fleets))]
    data, offsets = _joined_data([fit.data for fit in prepared])
    jobs = [
        replace(
            job,
            train_rows=job.train_rows + offset,
            validation_rows=job.validation_rows + offset,
        )
        for fit, offset in zip(prepared, offsets, strict=True)
        for job in fit.jobs
    ]
    results = iter(Fleet(first.architecture, data, jobs, first.config).train())
    return [TrainedFit([next(results) for _ in fit.jobs], (fit.architecture,)) for fit in prepared]


def _joined_data(data_of_fits: Sequence[Data]) -> tuple[Data, list[int]]:
    """Return the rows of all folds, and the position of the first row of each fit."""
    folds = list({id(data): data for data in data_of_fits}.values())
    first_rows = np.cumsum([0, *(len(data.x) for data in folds[:-1])]).tolist()
    first_row_of = {id(data): row for data, row in zip(folds, first_rows, strict=True)}
    offsets = [first_row_of[id(data)] for data in data_of_fits]
    if len(folds) == 1:
        return folds[0], offsets
    columns: dict[str, Any] = dict(vars(folds[0].observed))
    for name, values in columns.items():
        if values is not None:
            columns[name] = torch.cat([getattr(data.observed, name) for data in folds])
    x = torch.cat([data.x for data in folds])
    return Data(x, Observations(**columns)), offsets
