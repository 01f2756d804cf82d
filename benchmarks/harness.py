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

import numpy as np
import pandas as pd
import torch

from lifemix import make_target

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
STATUS = Path("/proc/self/status")
Call = Callable[[], Any]
Seconds = dict[str, float]
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
        cells = pd.DataFrame(self.rows, columns=self.columns, dtype=object)
        cells = cells.map(shorten).set_index(self.columns[0])
        cells = cells.rename_axis(index=None, columns=self.columns[0])
        return f"{self.title}\n{cells.to_string()}\n{self.note}".rstrip()

    def markdown(self) -> str:
        """Return the table for a page."""
        lines = [f"**{self.title}**", ""]
        lines.append("| " + " | ".join(self.columns) + " |")
        lines.append("|---|" + "---:|" * (len(self.columns) - 1))
        for row in self.rows:
            lines.append("| " + " | ".join(map(shorten, row)) + " |")
        return "\n".join([*lines, "", self.note]).rstrip()


def shorten(value: Any) -> str:
    """Return a value with three or four significant digits; a dash for None."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    if value != 0 and abs(value) < 1e-3:
        return f"{value:.2e}"
    for limit, digits in ((1, 4), (10, 3), (1000, 1)):
        if abs(value) < limit:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"


def one_thread() -> None:
    """Let PyTorch use one thread; numpy reads its limit from the environment."""
    torch.set_num_threads(1)


def simulate(
    n_rows: int, n_columns: int, n_events: int = 1, seed: int = 0
) -> tuple[np.ndarray, Any]:
    """Return covariates and a target of Weibull times, about 40 % of them censored."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    latent = np.empty((n_rows, 1 + n_events))
    latent[:, 0] = rng.exponential(1.2 * n_events**-0.7, n_rows)  # censoring
    for event in range(n_events):
        scale = np.exp(0.5 * X[:, event])
        latent[:, 1 + event] = scale * rng.weibull(1.3, n_rows)
    time = np.maximum(latent.min(axis=1), 1e-6)
    return X, make_target(time, latent.argmin(axis=1))


def clock(call: Call) -> Seconds:
    """Return the wall-clock and CPU seconds of one call."""
    wall_start = time.perf_counter()
    cpu_start = time.process_time()
    call()
    return {
        "wall": time.perf_counter() - wall_start,
        "cpu": time.process_time() - cpu_start,
    }


def alternate(calls: Mapping[Any, Call], repeats: int) -> dict[Any, Seconds]:
    """Run the functions in turn; return the least wall-clock and CPU seconds of each.

    Everything that disturbs a run makes it slower, so the minimum is the best estimate.
    """
    for call in calls.values():
        call()  # imports and first allocations are not measured
    least = {name: {"wall": np.inf, "cpu": np.inf} for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            for kind, seconds in clock(call).items():
                least[name][kind] = min(least[name][kind], seconds)
    return least


def process_memory(entry: str) -> int:
    """Return an entry of this process's memory status in bytes.

    ``VmHWM`` is the largest resident memory so far. It is used because ``ru_maxrss`` starts at the peak of the parent
    process on Linux. ``VmRSS`` is the resident memory now, ``RssAnon`` the same without mapped files.
    """
    for line in STATUS.read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{entry}:"):
            return 1024 * int(line.split()[1])
    raise KeyError(entry)


def in_new_process(module: str, function: str, *arguments: Any) -> dict[str, Any]:
    """Call a function of this package in a new process; return its dict with ``peak_memory`` beyond the import."""
    code = "import sys, benchmarks.harness as harness; harness.call_and_print(*sys.argv[1:])"
    command = [sys.executable, "-c", code, module, function, json.dumps(arguments)]
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    process = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": path},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(process.stdout.splitlines()[-1])


def call_and_print(module: str, function: str, arguments: str) -> None:
    """Run the task of ``in_new_process`` in the new process."""
    task = getattr(import_module(f"benchmarks.{module}"), function)
    after_import = process_memory("VmHWM")
    values = task(*json.loads(arguments))
    peak_memory = process_memory("VmHWM") - after_import
    print(json.dumps({**values, "peak_memory": peak_memory}))


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
    text = json.dumps(record, indent=1)
    path.write_text(f"{text}\n", encoding="utf-8")
    return path


def machine() -> dict[str, Any]:
    """Return what a reader must know about the machine, without its name."""
    cpu = platform.processor() or platform.machine()
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line.startswith("model name"):
            _, _, cpu = line.partition(": ")
    load, _, _ = os.getloadavg()
    return {"cpu": cpu, "cores": os.cpu_count(), "load_before": round(load, 1)}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that are installed."""
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed
