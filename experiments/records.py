"""Records: the scores of one model with one setting on one fold, one line of JSON each.

The records of a finished study are in ``records.jsonl.xz``. A run appends new ones to ``records.jsonl`` beside it, and
packs both into one file at its end.
"""

from __future__ import annotations

import json
import lzma
import math
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

from lifemix.files import atomic_write

__all__ = [
    "Frame",
    "Key",
    "Record",
    "Setting",
    "append_records",
    "key_of",
    "pack_records",
    "provenance",
    "read_lines",
    "read_records",
    "rounded",
]

Setting = Mapping[str, Any]
Frame: TypeAlias = Any
"""A DataFrame or a column of it; pandas' stubs do not know the types of groups and of rows."""
Record = dict[str, Any]
"""data, model, setting, censoring, fold, seed and run (full or quick) identify a record. The rest are results:
test: for every measure a value per event type and horizon; None if it is undefined or training diverged.
inner: the same on the inner validation rows, by which settings are selected.
seconds: processor time of the fit; parameters: their number; version and made: which code on which machine."""
Key = tuple[str, str, str, float, int, int, str]
_PACKAGES = ("lifemix", "torch", "numpy", "pandas", "scikit-learn", "scipy", "scikit-survival")


def key_of(record: Mapping[str, Any]) -> Key:
    """Return what distinguishes a record from all others."""
    setting = json.dumps(record["setting"], sort_keys=True)
    names = ("censoring", "fold", "seed", "run")
    return record["data"], record["model"], setting, *(record[name] for name in names)


def read_lines(path: Path) -> list[Record]:
    """Return the records of ``path`` and ``path.xz``, without a line that was cut off by a kill."""
    records = []
    for file_path in (path.with_name(f"{path.name}.xz"), path):
        if file_path.exists():
            open_file = lzma.open if file_path.suffix == ".xz" else open
            with open_file(file_path, "rt", encoding="utf-8") as file:
                for line in file:
                    try:
                        records.append(json.loads(line))
                    except json.JSONDecodeError:
                        continue
    return records


def read_records(folder: Path) -> dict[Key, Record]:
    """Return all records of a study by their keys, in the order of the keys."""
    records = {key_of(record): record for record in read_lines(folder / "records.jsonl")}
    return dict(sorted(records.items()))


def append_records(path: Path, records: Iterable[Record]) -> None:
    """Append records to a file, on a new line after one that was cut off, and flush them to disk."""
    lines = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(lines.encode())
        file.flush()
        os.fsync(file.fileno())


def pack_records(path: Path, records: Iterable[Record]) -> None:
    """Replace ``path`` and ``path.xz`` by one compressed file of all records."""
    lines = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    with atomic_write(path.with_name(f"{path.name}.xz")) as partial:
        partial.write_bytes(lzma.compress(lines.encode()))
    path.unlink(missing_ok=True)


def rounded(value: float, digits: int = 6) -> float | None:
    """Return a number rounded to significant digits; None if it is not finite."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


@cache
def provenance() -> dict[str, Any]:
    """Return commit (with ``+`` if files differ from it), processor, cores and versions."""
    command = ["git", "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    folder = Path(__file__).parent
    git = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    processor = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    for line in cpus.read_text(encoding="utf-8").splitlines() if cpus.exists() else ():
        if line.startswith("model name"):
            processor = line.split(":", 1)[1].strip()
    versions = {"Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "commit": git.stdout.strip(),
        "processor": processor,
        "cores": os.cpu_count(),
        "versions": versions,
    }
