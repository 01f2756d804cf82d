"""The layout of a text table: delimiter, header and width of every row, checked before the values are read."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..errors import InputError

__all__ = ["CsvLayout", "read_layout"]

_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}


@dataclass(frozen=True)
class CsvLayout:
    """How a text table is written: its column names, delimiter and encoding."""

    header: list[str]
    delimiter: str
    encoding: str

    def __str__(self) -> str:
        return f"separated by {_NAMES.get(self.delimiter, repr(self.delimiter))}"


def read_layout(path: Path, encoding: str | None) -> CsvLayout:
    """Read through a text table once; refuse what cannot be read as one, with the line where that shows."""
    encoding = encoding or "utf-8-sig"
    try:
        with open(path, encoding=encoding, newline="") as file:
            delimiter = _delimiter(path, file)
        with open(path, encoding=encoding, newline="") as file:
            return _walk(path, file, delimiter, encoding)
    except UnicodeError as error:
        raise InputError(_not_in_encoding(path, encoding, error)) from None
    except LookupError:
        raise InputError(f"unknown encoding {encoding!r}; expected a name such as utf-8, latin-1 or cp1252.") from None
    except csv.Error as error:
        raise InputError(f"{path.name} cannot be read as a table of text: {error}. Save it as CSV again.") from None


def _not_in_encoding(path: Path, encoding: str, error: UnicodeError) -> str:
    if encoding != "utf-8-sig":
        return f"{path.name} is not written in {encoding}: {error}. Try another --encoding."
    with open(path, "rb") as file:
        start = file.read(4)
    if start[:2] == b"PK":
        return f"{path.name} looks like an Excel or zip file, not a table of text. Rename it to .xlsx or .zip."
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return f"{path.name} is not UTF-8 but UTF-16. Add --encoding utf-16."
    return (
        f"{path.name} is not written in UTF-8: {error}. Say how it is written, for example --encoding cp1252 "
        "(Windows) or --encoding latin-1, or save it as UTF-8."
    )


def _delimiter(path: Path, file: IO[str]) -> str:
    """Return what separates the names in the header."""
    if path.name.lower().endswith((".tsv", ".tab")):
        return "\t"
    line = next((line for line in file if line.strip()), "")
    outside = re.sub(r'"[^"]*"', "", line)
    marks = [mark for mark in _NAMES if mark != " "]
    found = max(marks, key=lambda mark: (outside.count(mark), mark == ","))
    return " " if not outside.count(found) and path.suffix.lower() in (".txt", ".dat") else found


def _walk(path: Path, file: IO[str], delimiter: str, encoding: str) -> CsvLayout:
    rows = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
    header = [name.strip() for name in next((row for row in rows if row), [])]
    if not any(header):
        raise InputError(f"{path.name} is empty; expected a line of column names and one line per subject.")
    _check_names(path, header)
    ragged, first, count = 0, (0, 0), 0
    for row in rows:
        if not row:
            continue
        if len(row) != len(header):
            first = first if ragged else (rows.line_num, len(row))
            ragged += 1
        count += 1
    if ragged:
        raise InputError(_ragged(path, len(header), ragged, count, *first))
    if not count:
        raise InputError(f"{path.name} has column names but no rows; expected one line per subject.")
    return CsvLayout(header, delimiter, encoding)


def _check_names(path: Path, header: list[str]) -> None:
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise InputError(f"{path.name} has columns of the same name: {', '.join(map(repr, twice))}. Rename them.")
    blank = [number for number, name in enumerate(header, 1) if not name]
    if blank and blank != [1]:  # the first may be the row names that R and pandas write
        raise InputError(f"{path.name}: column {blank[-1]} has no name. Name every column in the first line.")


def _ragged(path: Path, expected: int, ragged: int, count: int, line: int, got: int) -> str:
    if ragged == count and got == expected + 1:
        why = "Every row has one value more than there are names, as R writes row names: use row.names = FALSE."
    else:
        why = "Look for a delimiter or a quote inside a value, or a truncated line."
    rows = "1 such row" if ragged == 1 else f"{ragged} such rows"
    return f"{path.name} line {line}: expected {expected} values as in the first line, got {got} ({rows}). {why}"
