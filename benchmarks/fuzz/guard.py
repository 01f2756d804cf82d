"""Watch a case: code that runs, memory, time, and errors that are not lifemix's own."""

from __future__ import annotations

import signal
import sys
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from lifemix.errors import LifemixError

from ..harness import STATUS, Call, process_memory

MEMORY_LIMIT = 100 * 2**20
SECONDS_LIMIT = 30
CODE_EVENTS = {"os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "pickle.find_class"}
CODE_EVENTS |= {"socket.connect"}


@cache
def audit_log() -> list[str]:
    """Install the audit hook once, and return the list of events that it appends to."""
    log: list[str] = []
    sys.addaudithook(lambda event, arguments: log.append(event) if event in CODE_EVENTS else None)
    return log


def _raise_timeout(*arguments: Any) -> None:
    raise TimeoutError(f"more than {SECONDS_LIMIT} seconds")


def watched(case: Call, size: int = 0, limit_memory: bool = True) -> str | None:
    """Run a case; return its problem, or None. lifemix's own errors are refusals, and right."""
    limit_memory = limit_memory and STATUS.exists()
    log = audit_log()
    log.clear()
    if limit_memory:
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        initial_memory = process_memory("VmRSS")
    handler = signal.signal(signal.SIGALRM, _raise_timeout)
    signal.alarm(SECONDS_LIMIT)
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
    if log:
        return f"code ran: {log}"
    if limit_memory:
        used_memory = process_memory("VmHWM") - initial_memory
        if used_memory > MEMORY_LIMIT + size:
            return f"{used_memory / 2**20:.0f} MB for a file of {size} bytes"
    return None
