"""Training of a small network with early stopping, without touching the global random state."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import DivergedError, SettingError
from ..splits import train_validation_split
from ..target import Target

__all__ = ["Schedule", "seeded", "split_rows", "train"]


@dataclass(frozen=True)
class Schedule:
    """How to train: Adam, whose rate in epoch e is ``learning_rate / (1 + decay * e)``; no batch size is one batch."""

    learning_rate: float
    decay: float
    weight_decay: float
    batch_size: int | None
    max_epochs: int
    patience: int


@contextmanager
def seeded(random_state: Any) -> Iterator[int]:
    """Run PyTorch from a seed and give its global generator back as it was."""
    seed = int(np.random.default_rng(random_state).integers(2**31))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield seed


def split_rows(target: Target, fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """Return the rows to train on and those to stop by, both with events."""
    training, validation = train_validation_split(target, fraction=fraction, random_state=seed)
    for name, rows in (("training", training), ("validation", validation)):
        if not (target.event[rows] > 0).any():
            raise SettingError(
                f"the {name} part needs at least one event; got none among its {len(rows)} rows with "
                f"validation_fraction={fraction}. Change it, or give more rows."
            )
    return torch.from_numpy(training), torch.from_numpy(validation)


def train(
    network: nn.Module,
    training_loss: Callable[[Tensor], Tensor | None],
    validation_loss: Callable[[], Tensor],
    training: Tensor,
    schedule: Schedule,
) -> list[float]:
    """Train, go back to the weights of the best epoch, and return the validation loss of each epoch.

    ``training_loss`` takes the rows of a batch; None where the batch tells nothing. Random numbers come from the global
    generator: call within ``seeded``.
    """
    optimizer = torch.optim.AdamW(
        network.parameters(), schedule.learning_rate, weight_decay=schedule.weight_decay
    )
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda epoch: 1.0 / (1.0 + schedule.decay * epoch)
    )
    history: list[float] = []
    best, best_weights = np.inf, copy.deepcopy(network.state_dict())
    while (
        len(history) < schedule.max_epochs
        and len(history) - _best_epoch(history) < schedule.patience
    ):
        network.train()
        shuffled = training[torch.randperm(len(training))]
        for rows in torch.split(shuffled, schedule.batch_size or len(training)):
            if len(rows) > 1:  # batch normalisation cannot take a single row
                _step(optimizer, training_loss(rows))
        rates.step()
        network.eval()
        with torch.no_grad():
            history.append(float(validation_loss()))
        if history[-1] < best:
            best, best_weights = history[-1], copy.deepcopy(network.state_dict())
    if not np.isfinite(best):
        raise DivergedError(
            f"training diverged: no finite loss in {len(history)} epochs with learning_rate={schedule.learning_rate}. "
            "Lower learning_rate, and check that the columns are scaled (preprocessor='auto' does it)."
        )
    network.load_state_dict(best_weights)
    network.eval()
    return history


def _best_epoch(history: list[float]) -> int:
    """Return the number of epochs up to the best one."""
    return int(np.nanargmin(history)) + 1 if np.isfinite(history).any() else 0


def _step(optimizer: torch.optim.Optimizer, loss: Tensor | None) -> None:
    if loss is not None:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
