"""Ranges of a CSV file that can be read apart: cut at ends of lines outside of quotes."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from ..errors import InputError

__all__ = ["CsvHead", "Range", "csv_head", "csv_ranges"]

RANGE = 2**23
"""Bytes of a range, about."""
_MOST = 2**28  # bytes without an end of a line outside of quotes
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class CsvHead:
    """The first line of a CSV file."""

    names: tuple[str, ...]
    delimiter: str
    end: int  # where the rows begin


@dataclass(frozen=True)
class Range:
    """Some whole lines: where they begin and end, and about how many they are."""

    start: int
    stop: int
    lines: int


def csv_head(path: Path, delimiter: str | None) -> CsvHead:
    """Read the names of the columns; without a delimiter it is told from them."""
    with open(path, "rb") as file:
        line = file.readline(2**20)
        end = file.tell()
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not written in UTF-8: {error}. Write it in UTF-8, or as Parquet.") from None
    if delimiter is None:
        tab = path.name.lower().endswith((".tsv", ".tab"))
        delimiter = "\t" if tab else max(_DELIMITERS, key=text.count)
    names = tuple(name.strip() for name in next(csv.reader([text], delimiter=delimiter), []))
    if not names or not all(names) or len(set(names)) < len(names):
        raise InputError(f"{path}: the first line must name every column, each differently; got {text[:100]!r}.")
    return CsvHead(names, delimiter, end)


def csv_ranges(path: Path, start: int, size: int | None = None) -> Iterator[Range]:
    """Yield the ranges of the lines from ``start`` on, each of about ``size`` bytes."""
    size = RANGE if size is None else size
    with open(path, "rb") as file:
        file.seek(start)
        while chunk := _whole_lines(path, file, size):
            yield Range(start, start + len(chunk), chunk.count(b"\n") + (not chunk.endswith(b"\n")))
            start += len(chunk)
            file.seek(start)


def _whole_lines(path: Path, file: IO[bytes], size: int) -> bytes:
    """Read to the last end of a line outside of quotes; quotes inside a value are doubled, so their number is even."""
    chunk = b""
    while more := file.read(size):
        chunk += more
        end = _last_end(chunk)
        if end:
            return chunk[:end]
        if len(chunk) > _MOST:
            raise InputError(f"{path} has quotes that do not end, so that rows cannot be told apart. Write it again.")
    if chunk.count(b'"') % 2:
        raise InputError(f"{path} ends inside quotes: it is truncated, or a quote is missing. Write it again.")
    return chunk


def _last_end(chunk: bytes) -> int:
    """Return where the last line outside of quotes ends; 0 where none does."""
    end = chunk.rfind(b"\n") + 1
    if not end or chunk.count(b'"', 0, end) % 2 == 0:
        return end
    values = np.frombuffer(chunk, dtype=np.uint8)
    quotes, ends = np.flatnonzero(values == ord('"')), np.flatnonzero(values == ord("\n"))
    outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
    return int(outside[-1]) + 1 if len(outside) else 0
