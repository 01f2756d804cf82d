"""A progress bar over epochs, shown only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..training import Callback, TrainingState

__all__ = ["progress_bar", "task_bar"]


class _EpochBar(Callback):
    """Moves a bar after every epoch."""

    def __init__(self, progress: Any) -> None:
        self.progress = progress
        self.task = progress.add_task("training", total=None, state="")

    def on_epoch_end(self, state: TrainingState) -> None:
        losses = [fit.best_loss for fit in state.fleet.fits if np.isfinite(fit.best_loss)]
        best = f", held-out loss {np.mean(losses):.4f}" if losses else ""
        text = f"epoch {state.epoch}, {state.n_running} of {state.n_models} models running{best}"
        done = state.epoch if state.n_running else state.max_epochs
        self.progress.update(self.task, completed=done, total=state.max_epochs, state=text)


@contextmanager
def progress_bar(shown: bool) -> Iterator[Callback]:
    """Yield a callback that shows the progress of a training, or none."""
    if not shown:
        yield Callback()
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    columns = [*Progress.get_default_columns(), TextColumn("{task.fields[state]}")]
    with Progress(*columns, console=Console(stderr=True)) as progress:
        yield _EpochBar(progress)


@contextmanager
def task_bar(shown: bool, total: int, title: str) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of tasks just done."""
    if not shown:
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    columns = [*Progress.get_default_columns(), MofNCompleteColumn()]
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=total)
        yield lambda done: progress.advance(task, done)
