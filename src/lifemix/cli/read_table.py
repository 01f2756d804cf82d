"""Read a table with the pandas reader of its suffix, and write one."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

import pandas as pd

from ..errors import InputError
from ..files import atomic_write
from .options import RowOptions

__all__ = ["read_table", "write_table"]

_STANDARD_INPUT = Path("-")
_SPREADSHEETS = (".xlsx", ".ods")  # archives of XML
_MEGABYTE = 10**6
Source = Path | BytesIO


def read_table(path: Path, options: RowOptions) -> pd.DataFrame:
    """Read a table; every problem of the file becomes one ``InputError``."""
    suffix = _suffix(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder: add --from-disk to read its files in blocks.")
    if suffix not in _READERS:
        raise InputError(
            f"{path.name} has an unknown suffix; expected {', '.join(filter(None, _READERS))}, text also "
            f"compressed as {', '.join(_OPENERS)}. Save the table as CSV."
        )
    try:
        source = _open_source(path, options.max_unpacked)
        return _checked(_READERS[suffix](source, options), path.name)
    except (InputError, ImportError):
        raise
    except UnicodeError as error:
        raise InputError(
            f"{path.name} is not text in {options.encoding or 'UTF-8'}: {error}. Name its encoding, such as "
            "--encoding cp1252, latin-1 or utf-16. If it is not a text file, correct its suffix."
        ) from None
    except Exception as error:  # each reader raises errors of its own kinds
        raise InputError(
            f"{path.name} cannot be read: {str(error).strip(' .')}. Correct the file, or save it again."
        ) from None


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table, as a whole or not at all."""
    with atomic_write(path) as partial_path:
        if path.suffix.lower() == ".parquet":
            frame.to_parquet(partial_path, index=False)
        else:
            frame.to_csv(partial_path, sep="\t" if _suffix(path) == ".tsv" else ",", index=False)


def _suffix(path: Path) -> str:
    """Return the suffix of a table in lower case, without that of its compression."""
    return Path(path.stem if path.suffix.lower() in _OPENERS else path).suffix.lower()


def _open_source(path: Path, max_megabytes: int) -> Source:
    """Return the path, or the bytes of the standard input or of a compressed file."""
    if path == _STANDARD_INPUT:
        return BytesIO(sys.stdin.buffer.read())
    suffix, content, n_bytes = path.suffix.lower(), b"", 0
    if suffix in _SPREADSHEETS:
        with ZipFile(path) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
    elif suffix in _OPENERS:
        with _OPENERS[suffix](path) as file:
            content = file.read(max_megabytes * _MEGABYTE + 1)
            n_bytes = len(content)
    if n_bytes > max_megabytes * _MEGABYTE:
        raise InputError(
            f"{path.name} unpacks to more than {max_megabytes:,} MB. If it is what you expect, raise "
            "the limit with --max-unpacked."
        )
    return BytesIO(content) if suffix in _OPENERS else path


def _open_zip(path: Path) -> IO[bytes]:
    archive = ZipFile(path)
    names = archive.namelist()
    if len(names) != 1:
        raise InputError(f"{path.name} must contain one table; got {len(names)} files. Unpack it.")
    return archive.open(names[0])


def _checked(frame: pd.DataFrame, file_name: str) -> pd.DataFrame:
    """Refuse a table without rows, names or single values in its cells."""
    if not isinstance(frame.index, pd.RangeIndex):
        if frame.index.names == [None]:
            raise InputError(
                f"{file_name} has more values in its rows than column names. If R wrote row names, use row.names = "
                "FALSE; otherwise look for a delimiter inside a value."
            )
        frame = frame.reset_index()
    if not len(frame):
        raise InputError(f"{file_name} has no rows; expected one per subject.")
    names = [str(column).strip() for column in frame.columns]
    _refuse_duplicates(names)
    frame.columns = pd.Index(names)
    return frame


def _refuse_duplicates(names: list[str]) -> None:
    duplicates = [name for name, count in Counter(names).items() if count > 1 and name]
    if duplicates:
        raise InputError(
            f"columns have the same name: {', '.join(map(repr, duplicates))}. Rename them."
        )


def _read_text(source: Source, options: RowOptions) -> pd.DataFrame:
    if options.thousands == (options.decimal or "."):
        raise InputError(
            f"--decimal and --thousands are both {options.thousands!r}; pass two different marks."
        )
    encoding = options.encoding or "utf-8-sig"
    one_line: dict[str, Any] = {"sep": "\x1f", "quoting": csv.QUOTE_NONE, "header": None}
    one_line |= {"dtype": str, "nrows": 1, "keep_default_na": False}
    header = pd.read_csv(source, encoding=encoding, **one_line).iat[0, 0]
    if isinstance(source, BytesIO):
        source.seek(0)
    unquoted = re.sub(r'"[^"]*"', "", header)
    delimiter = max(",;\t|", key=unquoted.count)
    if delimiter in unquoted:  # pandas would rename the second of two equal names
        _refuse_duplicates(next(csv.reader([header], delimiter=delimiter, skipinitialspace=True)))
    frame: pd.DataFrame = pd.read_csv(
        source,
        sep=delimiter if delimiter in unquoted else r"\s+",
        decimal=options.decimal or ".",
        thousands=options.thousands,
        encoding=encoding,
        na_values=options.missing,
        dtype={options.id: str} if options.id else None,
        skipinitialspace=True,
        float_precision="round_trip",
        low_memory=False,
    )
    return frame


def _read_excel(source: Source, options: RowOptions, engine: Any) -> pd.DataFrame:
    frame = pd.read_excel(
        source, sheet_name=options.sheet or 0, engine=engine, na_values=options.missing
    )
    return frame.dropna(how="all").dropna(axis=1, how="all").reset_index(drop=True)


def _read_json(source: Source, options: RowOptions, lines: bool) -> pd.DataFrame:
    frame = pd.read_json(
        source,
        lines=lines,
        dtype=False,
        convert_dates=False,
        precise_float=True,
        encoding=options.encoding or "utf-8-sig",
    )
    return _mark_missing(frame.reset_index(drop=True), options)


def _read_statistics(source: Source, options: RowOptions, reader: str) -> pd.DataFrame:
    """Read a file of Stata, SPSS or SAS; codes become their labels if every value of the column has one."""
    import pyreadstat

    frame, metadata = getattr(pyreadstat, reader)(str(source), encoding=options.encoding)
    for name, labels in metadata.variable_value_labels.items():
        if set(frame[name].dropna()) <= set(labels):
            frame[name] = frame[name].map(labels).astype(object)
    return _mark_missing(frame, options)


def _read_arrow(source: Source, options: RowOptions, reader: Any) -> pd.DataFrame:
    return _mark_missing(reader(source), options)


def _mark_missing(frame: pd.DataFrame, options: RowOptions) -> pd.DataFrame:
    """Replace empty texts and the values of ``--missing`` in a table that is not text."""
    marks = options.missing or []
    numbers = pd.to_numeric(pd.Series(marks, dtype=object), errors="coerce").dropna().tolist()
    return frame.replace(["", *marks, *numbers], None)


_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".zip": _open_zip,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
_TEXT = ("", ".csv", ".tsv", ".txt", ".dat", ".json", ".jsonl")
_READERS: dict[str, Callable[[Source, RowOptions], pd.DataFrame]] = {
    **dict.fromkeys(_TEXT, _read_text),
    ".json": partial(_read_json, lines=False),
    ".jsonl": partial(_read_json, lines=True),
    ".parquet": partial(_read_arrow, reader=pd.read_parquet),
    ".feather": partial(_read_arrow, reader=pd.read_feather),
    ".xlsx": partial(_read_excel, engine="openpyxl"),
    ".xls": partial(_read_excel, engine="xlrd"),
    ".ods": partial(_read_excel, engine="odf"),
    ".dta": partial(_read_statistics, reader="read_dta"),
    ".sav": partial(_read_statistics, reader="read_sav"),
    ".sas7bdat": partial(_read_statistics, reader="read_sas7bdat"),
    ".xpt": partial(_read_statistics, reader="read_xport"),
}
