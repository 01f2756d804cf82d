"""Hooks into training: methods that are called at the start and the end of a fit and of every epoch.

The progress bar and the checkpoint are callbacks, as are those of ``DeepSurvivalMachines(callbacks=[...])``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import SettingError

if TYPE_CHECKING:
    from .fleet import Fleet

__all__ = ["Callback", "TrainingState", "check_callbacks"]

HOOKS = ("on_fit_start", "on_epoch_start", "on_epoch_end", "on_fit_end")


@dataclass(frozen=True, eq=False)
class TrainingState:
    """The state of the training as a callback sees it; ``stop`` ends the training.

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
        One record per epoch and member so far, as in ``history_``: member, epoch, train_loss, validation_loss.

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
        """Stop the training after this epoch; every model keeps the parameters of its best epoch so far."""
        self.fleet.stop_requested = True


class Callback:
    """Base class of callbacks; a subclass overrides the hooks that it needs.

    The hooks are called once for all members of an ensemble, which train together. With an encoder of the user's or an
    optimiser class, which train one model at a time, they are called for each member.

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


def check_callbacks(callbacks: Any) -> None:
    """Refuse anything but a sequence of callbacks."""
    if callbacks is None:
        return
    if not isinstance(callbacks, Sequence) or isinstance(callbacks, str):
        raise SettingError(f"callbacks must be a list of callbacks or None; got {callbacks!r}.")
    for callback in callbacks:
        missing = [hook for hook in HOOKS if not callable(getattr(callback, hook, None))]
        if missing or isinstance(callback, type):
            raise SettingError(
                f"callbacks must have the hooks {', '.join(HOOKS)}; got {callback!r}. Derive an object from "
                "lifemix.training.Callback."
            )
