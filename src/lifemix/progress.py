"""The progress of long work, reported to a listener: a bar, or lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["Listener", "listening", "parallel_results", "progress_bar", "report_progress"]

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


def parallel_results(tasks: Iterable[Any], n_jobs: int | None) -> Iterable[Any]:
    """Return the results of joblib's tasks in their order, each as soon as it is known.

    A backend that cannot return them one by one, such as Ray's, returns all at the end.
    """
    import joblib  # with NumPy, which the command line imports only when it computes
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return_as = "generator" if backend.supports_return_generator else "list"
    results: Iterable[Any] = joblib.Parallel(n_jobs=n_jobs, return_as=return_as)(tasks)
    return results
