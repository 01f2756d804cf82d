"""The progress of long work, reported to a listener: a bar, or lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Listener", "listening", "progress_bar", "report_progress"]

Listener = Callable[[str, int, int], None]
_listener: ContextVar[Listener | None] = ContextVar("lifemix_progress", default=None)


def report_progress(title: str, completed: int, total: int) -> None:
    """Call the listener, if there is one, with a title, the completed work and all work."""
    listener = _listener.get()
    if listener is not None:
        listener(title, completed, total)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener`` when the work inside calls ``report_progress``."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def progress_bar() -> Iterator[None]:
    """Show a bar on the terminal that follows the work inside."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=None)

        def move(title: str, completed: int, total: int) -> None:
            progress.update(task, description=title, completed=completed, total=total)

        with listening(move):
            yield
