"""Training of the members of an ensemble: all in one fleet, or one after the other where they have a module."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from ..errors import DivergedError
from ..model import Architecture
from ..training import Checkpoint, Data, Fit, Fleet, Job, ModuleFleet, TrainConfig
from .progress import progress_bar

__all__ = ["check_finite", "train_members"]


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
    check_finite(fits)
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


def check_finite(fits: Sequence[Fit]) -> None:
    """Refuse fits that came to nothing."""
    bad = [fit for fit in fits if _diverged(fit)]
    if bad:
        raise DivergedError(
            f"training diverged: the weights or the loss of {len(bad)} of {len(fits)} models are not finite after "
            f"{len(bad[0].train_loss)} epochs. Lower learning_rate, or scale X (preprocessor='auto' does)."
        )


def _diverged(fit: Fit) -> bool:
    """Tell whether a fit has no epoch to go back to: by its held-out loss, or by the training loss at the end."""
    losses = [fit.best_loss, *fit.train_loss[-1:]]
    finite = fit.parameters is None or bool(torch.isfinite(fit.parameters).all())
    return not finite or (bool(fit.train_loss) and not any(math.isfinite(loss) for loss in losses))
