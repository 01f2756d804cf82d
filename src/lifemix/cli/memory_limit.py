"""Whether a table is read into memory or from disk in blocks: by its size, and the memory that may be used."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import typer

from ..errors import SettingError
from .paths import STANDARD_INPUT

__all__ = ["Memory", "memory_limit", "needed_memory", "shown_bytes", "shards_kind"]

Memory = Annotated[
    str | None,
    typer.Option(
        help="Memory for the table, such as 500MB or 8GB; a larger table is read from disk in blocks. Default: half of "
        "what is free.",
    ),
]
_UNITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_IN_MEMORY = 4.0  # what a fit takes, over the numbers of a table in double precision
_FROM_TEXT = 4.0  # the same, over the bytes of a text file


def memory_limit(text: str | None) -> float:
    """Return the bytes that a table may take; without an option half of the memory that is free."""
    if text is None:
        return _free() / 2
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?\s*", text.upper())
    if not found or not float(found[1]):
        raise SettingError(f"--memory must be a size such as 500MB or 8GB; got {text!r}.")
    return float(found[1]) * _UNITS[found[2]]


def _free() -> float:
    """Return the memory that can be had, what the system keeps of files included; where it is not told, that of all."""
    try:
        told = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
        return float(told["MemAvailable"].split()[0]) * 1024
    except (OSError, ValueError, KeyError):
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 8e9
        return float(pages)


def shards_kind(path: Path) -> str:
    """Return how a file or folder is read in blocks: "csv" or a format of PyArrow; "" where it is not."""
    from ..streaming.files import FILE_KINDS, find_files

    if path == STANDARD_INPUT or not path.exists():
        return ""
    if path.is_dir():
        return FILE_KINDS[find_files(path)[0].suffix.lower()]
    return FILE_KINDS.get(path.suffix.lower(), "")


def needed_memory(path: Path) -> float:
    """Return about how many bytes a fit to a table in memory takes, without reading it."""
    from ..streaming.arrow import arrow
    from ..streaming.files import find_files

    kind = shards_kind(path)
    files = find_files(path) if path.is_dir() else [path]
    if kind != "parquet":
        return _FROM_TEXT * sum(file.stat().st_size for file in files)
    try:
        footers = [arrow("parquet").read_metadata(file) for file in files]
    except (OSError, arrow().ArrowException):
        return 0.0  # whoever reads it says what is wrong
    return _IN_MEMORY * sum(8.0 * footer.num_rows * footer.num_columns for footer in footers)


def shown_bytes(size: float) -> str:
    """Return a size as text."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
