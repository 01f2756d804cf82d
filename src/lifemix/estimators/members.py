"""Training of the members of an ensemble: all in one fleet, or one after the other where they have a module."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from ..errors import SettingError
from ..model import Architecture
from ..training import Checkpoint, Data, Fit, Fleet, Job, ModuleFleet, TrainConfig
from .progress import progress_bar

__all__ = ["train_members"]


def train_members(
    architecture: Architecture,
    data: Data,
    jobs: Sequence[Job],
    config: TrainConfig,
    folder: str | os.PathLike[str] | None,
    verbose: bool,
) -> tuple[list[Fit], tuple[Architecture, ...]]:
    """Return what training gives for each job, and one architecture, or one a job where each has its own module.

    folder: where checkpoints are written, removed once all members are trained.
    """
    fits: list[Fit] = []
    architectures, checkpoints = [], []
    for number, fleet in enumerate(_fleets(architecture, data, jobs, config)):
        checkpoint = None
        if folder is not None:
            checkpoint = Checkpoint(Path(folder) / f"lifemix-checkpoint-{number}.safetensors", fleet)
            checkpoint.restore(fleet)
            checkpoints.append(checkpoint)
        fits += _train(fleet, checkpoint, verbose)
        architectures.append(fleet.architecture)
    _check_finite(fits)
    for checkpoint in checkpoints:
        checkpoint.remove()
    return fits, tuple(architectures)


def _fleets(architecture: Architecture, data: Data, jobs: Sequence[Job], config: TrainConfig) -> Iterator[Fleet]:
    if architecture.module is None:
        yield Fleet(architecture, data, jobs, config)
        return
    for job in jobs:
        yield ModuleFleet(replace(architecture, module=copy.deepcopy(architecture.module)), data, job, config)


def _train(fleet: Fleet, checkpoint: Checkpoint | None, verbose: bool) -> list[Fit]:
    with progress_bar(verbose, fleet.config.max_epochs, len(fleet.jobs)) as show:

        def after_epoch(state: Fleet) -> None:
            if checkpoint is not None:
                checkpoint.save_if_due(state)
            show(state)

        return fleet.train(after_epoch)


def _check_finite(fits: Sequence[Fit]) -> None:
    weights = torch.stack([fit.parameters for fit in fits if fit.parameters is not None])
    bad = (~torch.isfinite(weights).all(dim=1)).nonzero()[:, 0].tolist()
    if bad:
        raise SettingError(
            f"training diverged: the weights of {len(bad)} of {len(fits)} models are not finite after "
            f"{len(fits[bad[0]].train_loss)} epochs. Lower learning_rate, or scale X (preprocessor='auto' does)."
        )
