"""Progress of long work: a bar on the terminal, and a listener of the caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from ..training import Callback, TrainingState

__all__ = ["EpochBar", "progress_bar"]

Move = Callable[[int, int, str], None]


class EpochBar(Callback):
    """Moves a bar after every epoch."""

    def __init__(self, move: Move) -> None:
        self.move = move

    def on_epoch_end(self, state: TrainingState) -> None:
        """Show the epoch, the number of models that still train, and their mean loss."""
        losses = [fit.best_loss for fit in state.fleet.fits if np.isfinite(fit.best_loss)]
        loss = f", held-out loss {np.mean(losses):.4f}" if losses else ""
        text = f"epoch {state.epoch}, {state.n_running} of {state.n_models} models running{loss}"
        self.move(state.epoch if state.n_running else state.max_epochs, state.max_epochs, text)


@contextmanager
def progress_bar(title: str) -> Iterator[Move]:
    """Yield a function of the completed work, all work and a text, which moves a bar."""
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    columns = [*Progress.get_default_columns(), TextColumn("{task.fields[state]}")]
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=None, state="")
        yield lambda completed, total, text: progress.update(
            task, completed=completed, total=total, state=text
        )
