"""Read a table with the pandas reader of its suffix, and write one."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .._types import BoolArray
from ..errors import InputError, MissingExtraError
from ..files import atomic_write
from .paths import STANDARD_INPUT, table_suffix
from .table_options import TableOptions

__all__ = [
    "TableFile",
    "csv_options",
    "looks_like_numbers",
    "mark_missing",
    "read_table",
    "write_table",
]

_EXTRAS = {"pyarrow", "openpyxl", "pyreadstat"}  # what lifemix[tables] installs
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:[.,' ]\d{3})+|\d+)(?:[.,]\d+)?(?:[eE][-+]?\d+)?")
_SIGNS = " \t€$£%"
_MARKS = {"--decimal": ".,", "--thousands": ".,' "}
Source = Path | BytesIO


@dataclass(frozen=True)
class TableFile:
    """A table and the name of its file."""

    frame: pd.DataFrame
    name: str

    def __str__(self) -> str:
        return f"{self.name}: {len(self.frame):,} rows, {self.frame.shape[1]} columns"


def read_table(path: Path, options: TableOptions) -> TableFile:
    """Read a table; every problem of the file becomes one ``InputError``."""
    name = "standard input" if path == STANDARD_INPUT else path.name
    source = BytesIO(sys.stdin.buffer.read()) if path == STANDARD_INPUT else path
    reader = _READERS.get(table_suffix(path), _read_text)
    try:
        frame = reader(source, options)
    except InputError:
        raise
    except ImportError as error:
        raise _missing_package(name, error) from None
    except UnicodeError as error:
        raise InputError(
            f"{name} is not text in {options.encoding or 'UTF-8'}: {error}. Name its encoding, such as --encoding "
            "cp1252, latin-1 or utf-16. If it is no text file, correct its suffix."
        ) from None
    except pd.errors.EmptyDataError:
        raise InputError(
            f"{name} is empty; expected a line of column names and one line per subject."
        ) from None
    except Exception as error:  # each reader raises errors of its own kinds
        raise InputError(
            f"{name} cannot be read: {str(error).strip(' .')}. Correct the file, or save it again."
        ) from None
    return TableFile(_checked(frame, name), name)


def csv_options(source: Source, options: TableOptions) -> dict[str, Any]:
    """Return the arguments of ``pandas.read_csv`` for a text file; the header decides the delimiter."""
    for option, mark in (("--decimal", options.decimal), ("--thousands", options.thousands)):
        if mark is not None and (len(mark) != 1 or mark not in _MARKS[option]):
            raise InputError(
                f"{option} must be one of {' '.join(map(repr, _MARKS[option]))}; got {mark!r}."
            )
    if options.thousands == (options.decimal or "."):
        raise InputError(
            f"--decimal and --thousands are both {options.thousands!r}; give two different marks."
        )
    encoding = options.encoding or "utf-8-sig"
    as_line: dict[str, Any] = {
        "sep": "\x1f",
        "quoting": csv.QUOTE_NONE,
        "header": None,
        "dtype": str,
    }
    header = pd.read_csv(source, nrows=1, encoding=encoding, keep_default_na=False, **as_line).iat[
        0, 0
    ]
    if isinstance(source, BytesIO):
        source.seek(0)
    unquoted = re.sub(r'"[^"]*"', "", header)
    delimiter = max(",;\t|", key=unquoted.count)
    delimiter = delimiter if delimiter in unquoted else r"\s+"
    if delimiter != r"\s+":
        _refuse_duplicates(next(csv.reader([header], delimiter=delimiter, skipinitialspace=True)))
    return {
        "sep": delimiter,
        "decimal": options.decimal or ".",
        "thousands": options.thousands,
        "encoding": encoding,
        "na_values": list(options.missing),
        "dtype": {options.id: str} if options.id else None,
        "skipinitialspace": True,
        "float_precision": "round_trip",
        "low_memory": False,
    }


def looks_like_numbers(texts: Sequence[str]) -> BoolArray:
    """Return which texts are numbers with any decimal mark, thousands separator, currency or percent sign."""
    return np.array(
        [_NUMBER.fullmatch(text.strip(_SIGNS)) is not None for text in texts], dtype=bool
    )


def mark_missing(frame: pd.DataFrame, options: TableOptions) -> pd.DataFrame:
    """Replace empty texts and the values of ``--missing`` in a table that is not text."""
    numbers = pd.to_numeric(pd.Series(options.missing, dtype=object), errors="coerce").dropna()
    return frame.replace(["", *options.missing, *numbers.tolist()], None)


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table, completely or not at all, in the format of its suffix."""
    suffix = table_suffix(path)
    with atomic_write(path) as partial:
        if suffix in (".parquet", ".pq"):
            try:
                frame.to_parquet(partial, index=False)
            except ImportError:
                raise MissingExtraError("pyarrow", "tables", "writing Parquet") from None
        else:
            compression: Any = "gzip" if path.suffix.lower() == ".gz" else None
            frame.to_csv(
                partial, sep="\t" if suffix == ".tsv" else ",", index=False, compression=compression
            )


def _missing_package(name: str, error: ImportError) -> Exception:
    packages = re.findall(r"pyarrow|openpyxl|pyreadstat|xlrd|odfpy", str(error))
    package = packages[0] if packages else str(error.name)
    if package in _EXTRAS:
        return MissingExtraError(package, "tables", f"reading {name}")
    return InputError(
        f"reading {name} needs {package}, which is not installed. Run: pip install {package}"
    )


def _checked(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Refuse a table without rows, names or single values in its cells."""
    if not isinstance(frame.index, pd.RangeIndex):
        if frame.index.names == [None]:
            raise InputError(
                f"{name} has more values in its rows than column names. If R wrote row names, use row.names = FALSE; "
                "otherwise look for a delimiter inside a value."
            )
        frame = frame.reset_index()
    if not len(frame):
        raise InputError(f"{name} has no rows; expected one per subject.")
    names = [str(column).strip() for column in frame.columns]
    _refuse_duplicates(names)
    unnamed = [
        column for column in names[1:] if column.startswith("Unnamed: ")
    ]  # the first may be row names
    if unnamed:
        raise InputError(
            f"{name}: {len(unnamed)} columns have no name. Name every column in the first row."
        )
    frame.columns = pd.Index(names)
    for column in frame.select_dtypes(object):
        if frame[column].map(lambda value: isinstance(value, (list, dict, np.ndarray))).any():
            raise InputError(
                f"{name}: {column!r} holds lists or objects; expected one value per cell. Flatten it."
            )
    return frame


def _refuse_duplicates(names: Sequence[str]) -> None:
    duplicates = sorted({name for name in names if name and names.count(name) > 1})
    if duplicates:
        raise InputError(
            f"columns have the same name: {', '.join(map(repr, duplicates))}. Rename them."
        )


def _read_text(source: Source, options: TableOptions) -> pd.DataFrame:
    arguments = csv_options(source, options)
    frame: pd.DataFrame = pd.read_csv(source, **arguments)
    return frame


def _read_excel(source: Source, options: TableOptions) -> pd.DataFrame:
    engine: Any = _SPREADSHEET_ENGINES[table_suffix(Path(str(source)))]
    frame = pd.read_excel(
        source, sheet_name=options.sheet or 0, engine=engine, na_values=list(options.missing)
    )
    return frame.dropna(how="all").dropna(axis=1, how="all").reset_index(drop=True)


def _read_json(source: Source, options: TableOptions) -> pd.DataFrame:
    lines = isinstance(source, Path) and table_suffix(source) != ".json"
    encoding = options.encoding or "utf-8-sig"
    frame = pd.read_json(
        source, lines=lines, dtype=False, convert_dates=False, precise_float=True, encoding=encoding
    )
    return mark_missing(frame.reset_index(drop=True), options)


def _read_statistics(source: Source, options: TableOptions) -> pd.DataFrame:
    """Read a file of Stata, SPSS or SAS; codes become their labels if every value of the column has one."""
    import pyreadstat

    reader = getattr(pyreadstat, _STATISTICS_READERS[table_suffix(Path(str(source)))])
    frame, metadata = reader(str(source), encoding=options.encoding)
    for name, labels in metadata.variable_value_labels.items():
        if set(frame[name].dropna()) <= set(labels):
            frame[name] = frame[name].map(labels).astype(object)
    return mark_missing(frame, options)


def _read_typed(
    read: Callable[..., pd.DataFrame],
) -> Callable[[Source, TableOptions], pd.DataFrame]:
    return lambda source, options: mark_missing(read(source), options)


_SPREADSHEET_ENGINES = {".xlsx": "openpyxl", ".xls": "xlrd", ".ods": "odf"}
_STATISTICS_READERS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_READERS: dict[str, Callable[[Source, TableOptions], pd.DataFrame]] = {
    **dict.fromkeys((".parquet", ".pq"), _read_typed(pd.read_parquet)),
    ".feather": _read_typed(pd.read_feather),
    **dict.fromkeys(_SPREADSHEET_ENGINES, _read_excel),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), _read_json),
    **dict.fromkeys(_STATISTICS_READERS, _read_statistics),
}
