"""What all benchmarks share: one thread, alternating calls, memory of a process, tables, results as JSON."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("lifemix", "torch", "numpy", "scipy", "scikit-learn", "pandas")
PACKAGES += ("pycox", "scikit-survival", "auton-survival")


@dataclass(frozen=True)
class Table:
    """Rows under named columns; numbers are shortened when the table is shown."""

    title: str
    columns: list[str]
    rows: list[list[Any]]
    note: str = ""

    def text(self) -> str:
        """Return the table in columns of equal width."""
        cells = [self.columns, *[[shorten(value) for value in row] for row in self.rows]]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
            for row in cells
        ]
        return "\n".join([self.title, *lines, self.note]).rstrip()

    def markdown(self) -> str:
        """Return the table for a page."""
        lines = ["| " + " | ".join(map(shorten, row)) + " |" for row in self.rows]
        header = [
            "| " + " | ".join(self.columns) + " |",
            "|---|" + "---:|" * (len(self.columns) - 1),
        ]
        return "\n".join([f"**{self.title}**", "", *header, *lines, "", self.note]).rstrip()


def shorten(value: Any) -> str:
    """Return a value with three or four significant digits; a dash for None."""
    if value is None:
        return "-"
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    if value != 0 and abs(value) < 1e-3:
        return f"{value:.2e}"
    digits = 4 if abs(value) < 1 else 3 if abs(value) < 10 else 1 if abs(value) < 1000 else 0
    return f"{value:,.{digits}f}"


def one_thread() -> None:
    """Let PyTorch use one thread; numpy reads its limit from the environment."""
    torch.set_num_threads(1)


def clock(call: Callable[[], Any]) -> dict[str, float]:
    """Return the wall-clock and CPU seconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def alternate(calls: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, dict[str, float]]:
    """Run the functions in turn; return the least wall-clock and CPU seconds of each.

    Everything that disturbs a run makes it slower, so the minimum is the best estimate.
    """
    for call in calls.values():
        call()  # imports and first allocations are not measured
    timings = [{name: clock(call) for name, call in calls.items()} for _ in range(repeats)]
    return {
        name: {kind: min(turn[name][kind] for turn in timings) for kind in ("wall", "cpu")}
        for name in calls
    }


def peak_memory() -> int:
    """Return the largest resident memory of this process so far, in bytes.

    ``VmHWM`` and not ``ru_maxrss``: on Linux the latter starts at the peak of the parent process.
    """
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def in_new_process(module: str, function: str, *arguments: Any) -> dict[str, Any]:
    """Call a function of this package in a new process; return its dict with ``peak_memory`` beyond the import."""
    code = (
        "import sys; from benchmarks.harness import call_and_print; call_and_print(*sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, module, function, json.dumps(arguments)]
    path = os.pathsep.join([str(Path(__file__).parent.parent), *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": path}
    process = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=environment
    )
    return json.loads(process.stdout.splitlines()[-1])


def call_and_print(module: str, function: str, arguments: str) -> None:
    """Run the task of ``in_new_process`` in the new process."""
    task = getattr(import_module(f"benchmarks.{module}"), function)
    after_import = peak_memory()
    values = task(*json.loads(arguments))
    print(json.dumps({**values, "peak_memory": peak_memory() - after_import}))


def allocate(size: int) -> dict[str, int]:
    """Use so many bytes: a task that tests the measurement of memory."""
    return {"size": len(b"x" * size)}


def result_path(name: str, quick: bool) -> Path:
    """Return the path of a result; a quick run never replaces a full one."""
    return RESULTS / f"{name}{'.quick' if quick else ''}.json"


def save(name: str, quick: bool, facts: dict[str, Any], tables: list[Table]) -> Path:
    """Write the tables with the facts of the run."""
    record = {
        "benchmark": name,
        "quick": quick,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": facts,
        "versions": versions(),
        "tables": [asdict(table) for table in tables],
    }
    path = result_path(name, quick)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return path


def machine() -> dict[str, Any]:
    """Return what a reader must know about the machine, without its name."""
    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
    load = round(os.getloadavg()[0], 1)
    return {"cpu": cpu, "cores": os.cpu_count(), "load_before": load}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that are installed."""
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed
