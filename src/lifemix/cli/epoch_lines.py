"""The progress of a fit as lines, where no bar can be drawn: in a pipe, a log or a batch job."""

from __future__ import annotations

from ..training import Callback, TrainingState
from .output import Screen

__all__ = ["EpochLines"]


class EpochLines(Callback):
    """Writes a line with the epoch to stderr every few seconds."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen

    def on_fit_start(self, state: TrainingState) -> None:
        """Begin to count."""
        self.advance = self.screen.lines("epoch", state.max_epochs, time_left=False)  # training may stop early

    def on_epoch_end(self, state: TrainingState) -> None:
        """Count one epoch."""
        self.advance(1)
