"""A progress bar over epochs, shown only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from ..training import Fleet

__all__ = ["progress_bar", "task_bar"]


@contextmanager
def progress_bar(shown: bool, max_epochs: int, n_models: int) -> Iterator[Callable[[Fleet], None]]:
    """Yield a function to call after every epoch."""
    if not shown:
        yield lambda fleet: None
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    columns = [*Progress.get_default_columns(), TextColumn("{task.fields[state]}")]
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("training", total=max_epochs, state="")

        def show(fleet: Fleet) -> None:
            losses = [fit.best_loss for fit in fleet.fits if np.isfinite(fit.best_loss)]
            best = f", held-out loss {np.mean(losses):.4f}" if losses else ""
            state = f"epoch {fleet.epoch}, {len(fleet.running)} of {n_models} models running{best}"
            progress.update(task, completed=fleet.epoch if fleet.running else max_epochs, state=state)

        yield show


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
