"""What every case is watched for: code that runs, memory, time, and errors that are not ours."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lifemix.errors import LifemixError

__all__ = ["watched"]

_MEMORY = 100 * 2**20
_SECONDS = 30
_CODE = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "subprocess.Popen",
    "pickle.find_class",
    "socket.connect",
)
_STATUS = Path("/proc/self/status")
_heard: list[str] = []
_hooked: list[bool] = []


def _listen(event: str, arguments: Any) -> None:
    if event in _CODE:
        _heard.append(event)


def _too_long(*arguments: Any) -> None:
    raise TimeoutError(f"more than {_SECONDS} seconds")


def _kilobytes(name: str) -> int:
    """Return a number of this process's status: ``VmHWM`` is the most memory since it was last set back."""
    if not _STATUS.exists():
        return 0
    return next(
        int(line.split()[1]) for line in _STATUS.read_text().splitlines() if line.startswith(name)
    )


def watched(case: Callable[[], None], size: int = 0, memory: bool = True) -> str | None:
    """Run a case; return what is wrong, or None. Errors of ours are right: they are refusals in words."""
    if not _hooked:
        sys.addaudithook(_listen)
        _hooked.append(True)
    _heard.clear()
    memory = memory and _STATUS.exists()
    if memory:
        Path("/proc/self/clear_refs").write_text("5")
        before = _kilobytes("VmRSS")
    handler = signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(_SECONDS)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            case()
    except LifemixError:
        pass
    except Exception as error:
        return f"{type(error).__name__}: {error!s:.200}"
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
    if _heard:
        return f"code ran: {_heard}"
    if memory and (grown := (_kilobytes("VmHWM") - before) * 1024) > _MEMORY + size:
        return f"{grown / 2**20:.0f} MB for a file of {size} bytes"
    return None
