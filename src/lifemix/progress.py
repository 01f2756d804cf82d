"""Long work tells how far it is to whoever listens: a bar, or lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Listener", "listening", "tell_progress"]

Listener = Callable[[str, int, int], None]
_listener: ContextVar[Listener | None] = ContextVar("lifemix_progress", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener`` with a title, how much is done and how much there is, as the work inside goes on."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def tell_progress(title: str, done: int, total: int) -> None:
    """Tell the listener, where there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(title, done, total)
