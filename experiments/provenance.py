"""Where a record comes from: the commit of the code, the processor, and the versions that the numbers depend on."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["commit", "machine", "processor", "provenance", "versions"]

_PACKAGES = (
    "lifemix",
    "torch",
    "numpy",
    "pandas",
    "scikit-learn",
    "scipy",
    "scikit-survival",
    "pycox",
)


def provenance() -> dict[str, Any]:
    """Return what a record tells about how it was made: commit, processor, number of cores, versions."""
    return {
        "commit": commit(),
        "processor": processor(),
        "cores": os.cpu_count() or 0,
        "versions": versions(),
    }


@cache
def commit() -> str:
    """Return the commit of the code, with ``+`` if files differ from it; empty outside a git checkout."""
    root = Path(__file__).resolve().parents[1]
    top = _git(root, "rev-parse", "--show-toplevel")
    if not top or Path(top).resolve() != root:
        return ""
    changed = _git(
        root, "status", "--porcelain", "--untracked-files=no", "--", "src/lifemix", "experiments"
    )
    return _git(root, "rev-parse", "--short=12", "HEAD") + ("+" if changed else "")


def _git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


@cache
def processor() -> str:
    """Return the model of the processor, without the name of the machine."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            models = [
                line.split(":", 1)[1].strip() for line in file if line.startswith("model name")
            ]
    except OSError:
        models = []
    return models[0] if models else platform.processor() or platform.machine()


def machine() -> str:
    """Return what kind of machine this is."""
    return f"{platform.system()}, {processor()}, {os.cpu_count()} cores"


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that the numbers depend on."""
    return dict(_versions())


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    found = [("Python", platform.python_version())]
    for package in _PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return tuple(found)
