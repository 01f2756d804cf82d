"""The layout of a text table: delimiter, header and width of every row, checked before the values are read."""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..errors import InputError

__all__ = ["CsvLayout", "read_layout"]

_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_LOOK = 200  # rows looked at to tell a decimal comma
_COMMA_NUMBER = re.compile(r"[+-]?\d+,\d+")
_POINT_NUMBER = re.compile(r"[+-]?\d+\.\d+")


@dataclass(frozen=True)
class CsvLayout:
    """How a text table is written: its column names, delimiter, decimal mark and encoding."""

    header: list[str]
    delimiter: str
    decimal: str
    encoding: str

    def __str__(self) -> str:
        comma = ", decimal comma" if self.decimal == "," else ""
        return f"separated by {_NAMES.get(self.delimiter, repr(self.delimiter))}{comma}"


def read_layout(path: Path, encoding: str | None) -> CsvLayout:
    """Read through a text table once; refuse what cannot be read as one, with the line where that shows."""
    encoding = encoding or "utf-8-sig"
    try:
        with _opened(path, encoding) as file:
            delimiter = _delimiter(path, file)
        with _opened(path, encoding) as file:
            return _walk(path, file, delimiter, encoding)
    except UnicodeError as error:
        raise InputError(_not_in_encoding(path, encoding, error)) from None
    except LookupError:
        raise InputError(f"unknown encoding {encoding!r}; expected a name such as utf-8, latin-1 or cp1252.") from None
    except (csv.Error, EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{path.name} cannot be read as a table of text: {error}. Save it as CSV again.") from None


@contextmanager
def _opened(path: Path, encoding: str) -> Iterator[IO[str]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding=encoding, newline="") as file:
        yield file


def _not_in_encoding(path: Path, encoding: str, error: UnicodeError) -> str:
    if encoding != "utf-8-sig":
        return f"{path.name} is not written in {encoding}: {error}. Try another --encoding."
    with open(path, "rb") as file:
        start = file.read(4)
    if start[:2] == b"PK":
        return f"{path.name} looks like an Excel or zip file, not a table of text. Save it as CSV first."
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return f"{path.name} is not UTF-8 but UTF-16. Add --encoding utf-16."
    return (
        f"{path.name} is not written in UTF-8: {error}. Say how it is written, for example --encoding cp1252 "
        "(Windows) or --encoding latin-1, or save it as UTF-8."
    )


def _delimiter(path: Path, file: IO[str]) -> str:
    """Return what separates the names in the header."""
    if path.name.lower().removesuffix(".gz").endswith(".tsv"):
        return "\t"
    line = next((line for line in file if line.strip()), "")
    outside = re.sub(r'"[^"]*"', "", line)
    return max(_NAMES, key=lambda mark: (outside.count(mark), mark == ","))


def _walk(path: Path, file: IO[str], delimiter: str, encoding: str) -> CsvLayout:
    rows = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
    header = [name.strip() for name in next((row for row in rows if row), [])]
    if not any(header):
        raise InputError(f"{path.name} is empty; expected a line of column names and one line per subject.")
    _check_names(path, header)
    ragged, first, styles, count = 0, (0, 0), Counter[str](), 0
    for row in rows:
        if not row:
            continue
        if len(row) != len(header):
            first = first if ragged else (rows.line_num, len(row))
            ragged += 1
        if count < _LOOK:
            styles.update(_styles(row))
        count += 1
    if ragged:
        raise InputError(_ragged(path, len(header), ragged, count, *first))
    if not count:
        raise InputError(f"{path.name} has column names but no rows; expected one line per subject.")
    decimal = "," if delimiter != "," and styles["comma"] and not styles["point"] else "."
    return CsvLayout(header, delimiter, decimal, encoding)


def _styles(row: list[str]) -> Iterator[str]:
    for value in row:
        if _COMMA_NUMBER.fullmatch(value):
            yield "comma"
        elif _POINT_NUMBER.fullmatch(value):
            yield "point"


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
