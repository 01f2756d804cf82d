"""What a fleet trains on (data, jobs, settings) and the callbacks that follow its training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..likelihood import Observations

if TYPE_CHECKING:
    from .fleet import Fleet

__all__ = ["Callback", "Data", "Job", "TrainConfig", "TrainingState"]


@dataclass(frozen=True, eq=False)
class Data:
    """All rows that the models of a fleet may use; jobs refer to them by index.

    If ``mapped``, the rows lie on disk, already shuffled: each batch is a run of consecutive rows.
    """

    x: Tensor  # [n_rows, n_inputs]
    observed: Observations  # [n_rows]
    mapped: bool = False

    def to(self, device: torch.device) -> Data:
        """Return the data on a device."""
        observed = self.observed.map(lambda values: values.to(device))
        return Data(self.x.to(device), observed, self.mapped)


@dataclass(frozen=True, eq=False)
class Job:
    """One model of a fleet: its rows, its seed, and the settings that may differ within a fleet.

    A model with fewer inputs than its fleet has ``n_inputs``; its other inputs have weight 0.
    """

    train_rows: Tensor
    validation_rows: Tensor
    warm_start: Tensor  # [n_events, n_parameters of the primitive]
    seed: int
    learning_rate: float = 1e-3
    discount: float = 1.0
    prior_strength: float = 0.0
    head_prior: float = 0.0
    dropout: float = 0.0
    weight_decay: float = 0.0


@dataclass(frozen=True)
class TrainConfig:
    """The settings that all models of a fleet share."""

    objective: str = "exact"
    batch_size: int = 100
    max_epochs: int = 200
    patience: int = 10
    optimizer: str = "adam"
    spread: float = 0.5
    max_gradient_norm: float = 10.0


@dataclass(frozen=True, eq=False)
class TrainingState:
    """The state of the training as a callback sees it.

    Attributes
    ----------
    fleet : Fleet
        The models that train together; internal.
    epoch : int
        Number of epochs done.
    max_epochs : int
        Maximum number of epochs.
    n_models : int
        Number of models that train together: the members of an ensemble.
    n_running : int
        Number of models that have not stopped.
    history : list of dict
        One record per epoch and member so far, as in ``history_``: member, epoch, train_loss and
        validation_loss.

    """

    fleet: Fleet

    @property
    def epoch(self) -> int:
        """Number of epochs done."""
        return self.fleet.epoch

    @property
    def max_epochs(self) -> int:
        """Maximum number of epochs."""
        return self.fleet.config.max_epochs

    @property
    def n_models(self) -> int:
        """Number of models that train together."""
        return len(self.fleet.jobs)

    @property
    def n_running(self) -> int:
        """Number of models that have not stopped."""
        return len(self.fleet.running)

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record per epoch and member so far."""
        return [
            record for member, fit in enumerate(self.fleet.fits) for record in fit.records(member)
        ]

    def stop(self) -> None:
        """Stop after this epoch; every model keeps the parameters of its best epoch so far."""
        self.fleet.stop_requested = True


class Callback:
    """Base class of callbacks; a subclass overrides the hooks that it needs.

    The hooks are called once for all members of an ensemble, which train together. With an encoder
    of the user, members train one at a time, and the hooks are called for each.

    Examples
    --------
    >>> from lifemix.training import Callback
    >>> class StopAfter(Callback):
    ...     def __init__(self, epochs):
    ...         self.epochs = epochs
    ...
    ...     def on_epoch_end(self, state):
    ...         if state.epoch >= self.epochs:
    ...             state.stop()

    """

    def on_fit_start(self, state: TrainingState) -> None:
        """Called before the first epoch.

        Parameters
        ----------
        state : TrainingState
            The state of the training.
        """

    def on_epoch_start(self, state: TrainingState) -> None:
        """Called before every epoch.

        Parameters
        ----------
        state : TrainingState
            The state of the training.
        """

    def on_epoch_end(self, state: TrainingState) -> None:
        """Called after every epoch, with the losses in ``state.history``.

        Parameters
        ----------
        state : TrainingState
            The state of the training.
        """

    def on_fit_end(self, state: TrainingState) -> None:
        """Called after the last epoch.

        Parameters
        ----------
        state : TrainingState
            The state of the training.
        """
