"""Checks of the training history: early stopping, overfitting, losses that are not finite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..text import counted
from .findings import Finding

__all__ = ["check_training"]

_OVERFIT = 0.2


def check_training(
    history: Sequence[Mapping[str, float]],
    best_epoch: Sequence[int],
    max_epochs: int,
    patience: int,
) -> Iterator[Finding]:
    """Yield what stands out in the history of training.

    history: one record per epoch and member: ``member, epoch, train_loss, validation_loss``.
    best_epoch: for each member the epoch whose weights were kept.
    """
    members = [
        [record for record in history if record["member"] == number]
        for number in range(len(best_epoch))
    ]
    if not history or not all(members):
        return
    if all(np.isnan(record["validation_loss"]) for record in history):
        yield Finding(
            "note",
            "no early stopping",
            f"No rows were held out, so training ran for all {max_epochs} epochs without early stopping.",
            "Set validation_fraction, say to 0.15, or give validation_data.",
        )
        return
    pairs = list(zip(members, best_epoch, strict=True))
    unfinished = [
        best
        for one, best in pairs
        if len(one) >= max_epochs and 1 < best and max_epochs - best < patience
    ]
    at_once = [best for one, best in pairs if best <= 1 and len(one) > 1]
    if unfinished:
        yield Finding(
            "warn",
            "unfinished",
            f"Training ended at max_epochs = {max_epochs} before the held-out loss had stopped falling in "
            f"{_members(len(unfinished), len(members))} (best at epoch {max(unfinished)}).",
            "Raise max_epochs, or the learning rate.",
        )
    if at_once:
        yield Finding(
            "warn",
            "no improvement",
            f"The first epoch was the best in {_members(len(at_once), len(members))}: all later ones made the held-out "
            "loss worse. Either the learning rate is too high, or the covariates carry little information.",
            "Lower learning_rate (say to a third), add weight_decay or dropout, and compare with Kaplan-Meier.",
        )
    gaps = [one[best - 1]["validation_loss"] - one[best - 1]["train_loss"] for one, best in pairs]
    if float(np.median(gaps)) > _OVERFIT:
        yield Finding(
            "note",
            "overfitting",
            f"At the epoch that was kept the loss is {np.median(gaps):.2f} nats per row lower on the training rows "
            "than on the held-out ones: the model overfits.",
            "Try dropout, weight_decay, fewer units or an ensemble (n_members), and judge on held-out rows only.",
        )
    strange = sum(not np.isfinite(record["train_loss"]) for record in history)
    if strange:
        yield Finding(
            "warn",
            "loss not finite",
            f"The training loss was not finite in {counted(strange, 'epoch')}; those steps were undone.",
            "Lower learning_rate, and look for outliers in the table.",
        )


def _members(count: int, total: int) -> str:
    return "this model" if total == 1 else f"{count} of {total} members"
