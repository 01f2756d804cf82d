"""Peak memory of a task in a process of its own.

``resource.getrusage`` cannot be trusted here: on Linux the ``ru_maxrss`` of a new program starts at the peak of the
process that started it. ``VmHWM`` of /proc/self/status belongs to the program alone; elsewhere ``ru_maxrss`` it is.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["in_own_process", "peak_bytes"]

_STATUS = Path("/proc/self/status")


def peak_bytes() -> int:
    """Return the largest resident memory that this process has had so far."""
    if _STATUS.is_file():
        for line in _STATUS.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def in_own_process(module: str, function: str, *arguments: Any) -> dict[str, Any]:
    """Call ``function(*arguments)`` of a module of this package in a new process; it returns a dict for JSON.

    The dict gets ``memory_after_import``, the peak when the module and what it imports had been loaded, and
    ``peak_memory``, the peak when the task was done, both in bytes.
    """
    command = [sys.executable, "-m", "benchmarks.memory", module, function, json.dumps(arguments)]
    root = Path(__file__).parent.parent
    path = os.pathsep.join([str(root), *filter(None, sys.path)])
    done = subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    return json.loads(done.stdout.splitlines()[-1])


def allocate(size: int) -> dict[str, Any]:
    """Use so many bytes: a task to test this module with."""
    return {"size": len(b"x" * size)}


def _main(module: str, function: str, arguments: str) -> None:
    task = getattr(import_module(f".{module}", __package__), function)
    before = peak_bytes()
    result = task(*json.loads(arguments))
    print(json.dumps({**result, "memory_after_import": before, "peak_memory": peak_bytes()}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
