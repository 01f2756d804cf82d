"""Signals end the program soon, also in the middle of a long computation outside of Python.

Python obeys a signal between two of its own instructions; a decomposition of a large matrix is one instruction. So a
thread hears of signals too, and ends the program where it has not ended by itself.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from typing import Any

from ..files import remove_partials

__all__ = ["end_soon"]

_PATIENCE = 1.5  # seconds from a signal to the end
_DEADLY = (signal.SIGINT, signal.SIGTERM)


def end_soon() -> None:
    """Let SIGINT and SIGTERM end the program like an exit, within two seconds; call it once, in the main thread."""
    signal.signal(signal.SIGTERM, _exit)
    heard, told = socket.socketpair()
    told.setblocking(False)
    signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(heard, told), daemon=True).start()


def _exit(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)


def _watch(heard: socket.socket, told: socket.socket) -> None:
    """Wait for a signal, then for the end; ``told`` is held open as long as the thread lives."""
    while True:
        number = heard.recv(1)[0]
        if number in _DEADLY:
            time.sleep(_PATIENCE)
            remove_partials()
            os._exit(128 + number)
