"""Long calls into linear algebra that a signal can end.

Python runs the handler of a signal between two of its own instructions, and a call into LAPACK is a single one, which
for thousands of columns takes minutes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["interruptible"]

_Result = TypeVar("_Result")
_PAUSE = 0.2  # seconds between two looks


def interruptible(call: Callable[[], _Result]) -> _Result:
    """Return what a call returns, or raise what it raises; signals are handled while it runs.

    It runs in a thread of its own while the caller waits. If a handler raises, such as on Ctrl-C, the thread is left
    to itself: it ends with its call, or with the process.
    """
    results: list[_Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_PAUSE)
    if errors:
        raise errors[0]
    return results[0]
