"""The kinds of table files, told apart by their extension: how each is read, and which package that needs."""

from __future__ import annotations

import gzip
import json
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InputError, MissingExtraError
from .paths import STANDARD_INPUT, TABLE_KINDS, table_kind

__all__ = ["need", "read_typed", "unpacked"]

_OPENINGS = {
    b"PAR1": ".parquet",
    b"ARROW1": ".feather",
    b"$FL2": ".sav",
    b"$FL3": ".zsav",
    b"<stata": ".dta",
    b"HEADER RECORD*******LIB": ".xpt",
    b"\x1f\x8b": ".gz",
}
_STAT = {".dta": "dta", ".sav": "sav", ".zsav": "sav", ".por": "por", ".sas7bdat": "sas7bdat", ".xpt": "xport"}


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Yield a table's file as it can be read: out of a gzip or zip file, or from the standard input."""
    with tempfile.TemporaryDirectory(prefix="lifemix-") as folder:
        found = _take(path, Path(folder))
        for _ in range(3):  # a gzip file in a zip file in the standard input
            inner = _unpack(found, Path(folder))
            if inner == found:
                break
            found = inner
        yield found


def _take(path: Path, folder: Path) -> Path:
    """Return a file, or one with what is on the standard input, named after what it begins with."""
    if path != STANDARD_INPUT:
        return path
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise InputError("the standard input is empty; expected a table.")
    suffix = next((suffix for opening, suffix in _OPENINGS.items() if content.startswith(opening)), "")
    if content.startswith(b"PK"):
        suffix = ".xlsx" if b"xl/workbook.xml" in content else ".zip"
    elif not suffix:
        suffix = {b"{": ".jsonl", b"[": ".json"}.get(content.lstrip()[:1], ".csv")
    found = folder / f"standard input{suffix}"
    found.write_bytes(content)
    return found


def _unpack(path: Path, folder: Path) -> Path:
    """Return what is inside a packed file; a file that is not packed is returned as it is."""
    name = path.name.lower()
    try:
        if name.endswith(".gz"):
            inner = folder / (path.name[:-3] if "." in path.name[:-3] else f"{path.name[:-3]}.csv")
            with gzip.open(path) as packed, open(inner, "wb") as plain:
                shutil.copyfileobj(packed, plain)
            return inner
        if name.endswith(".zip"):
            with zipfile.ZipFile(path) as archive:
                return Path(archive.extract(_only_table(path, archive), folder))
    except (EOFError, gzip.BadGzipFile, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{path.name} cannot be read: {error}. Pack it again, or unpack it first.") from None
    return path


def _only_table(path: Path, archive: zipfile.ZipFile) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX")]
    tables = [name for name in names if name.lower().endswith(TABLE_KINDS)]
    if len(tables) != 1:
        what = ", ".join(names[:5]) or "nothing"
        raise InputError(
            f"{path.name} must hold one table; it holds {what}{', ...' * (len(names) > 5)}. Unpack it and name one."
        )
    return tables[0]


def need(package: str, purpose: str) -> Any:
    """Return an optional package; say how to install it where it is missing."""
    try:
        return import_module(package)
    except ImportError:
        raise MissingExtraError(package, "tables", purpose) from None


def read_typed(path: Path, sheet: str | None) -> tuple[pd.DataFrame, str] | None:
    """Read a table whose values have types; None for text, whose layout must be worked out."""
    reader = _READERS.get(table_kind(path))
    if reader is None:
        return None
    try:
        frame, what = reader(path, sheet)
    except (InputError, MissingExtraError):
        raise
    except Exception as error:  # readers of other packages raise errors of any kind
        raise InputError(
            f"{path.name} cannot be read as {_WORDS[table_kind(path)]}: {error}. Write it again."
        ) from None
    return _with_names(frame, path.name), what


def _with_names(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    if isinstance(frame.index, pd.MultiIndex) or frame.index.name is not None:
        frame = frame.reset_index()
    names = [str(column) for column in frame.columns]
    twice = sorted({column for column in names if names.count(column) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise InputError(f"{name} has columns of the same name: {', '.join(map(repr, twice))}. Rename them.")
    if not len(frame):
        raise InputError(f"{name} has no rows; expected one per subject.")
    frame.columns = pd.Index(names)
    return frame


def _parquet(path: Path, sheet: str | None) -> tuple[pd.DataFrame, str]:
    need("pyarrow", "reading Parquet")
    return pd.read_parquet(path), "Parquet"


def _feather(path: Path, sheet: str | None) -> tuple[pd.DataFrame, str]:
    need("pyarrow", "reading Feather and Arrow files")
    with open(path, "rb") as file:
        whole = file.read(6) == b"ARROW1" or table_kind(path) == ".feather"
    if whole:
        return pd.read_feather(path), "Feather"
    ipc: Any = import_module("pyarrow.ipc")
    return ipc.open_stream(str(path)).read_pandas(), "Arrow stream"


def _excel(path: Path, sheet: str | None) -> tuple[pd.DataFrame, str]:
    need("openpyxl", "reading Excel files")
    with pd.ExcelFile(path, engine="openpyxl") as book:
        names = [str(name) for name in book.sheet_names]
        if sheet is not None and sheet not in names:
            raise InputError(f"{path.name} has no sheet {sheet!r}; it has {', '.join(map(repr, names))}.")
        frame = pd.read_excel(book, sheet_name=sheet or names[0])
    frame = frame.dropna(how="all").dropna(axis=1, how="all")
    blank = [str(name) for name in frame.columns if str(name).startswith("Unnamed: ")]
    if blank:
        raise InputError(
            f"{path.name}: the first row of the sheet must name every column; {len(blank)} have no name. Remove "
            "what is above or beside the table."
        )
    several = f", the first of {len(names)}; --sheet names another" if len(names) > 1 and sheet is None else ""
    return frame.reset_index(drop=True), f"Excel, sheet {sheet or names[0]!r}{several}"


def _stat(path: Path, sheet: str | None) -> tuple[pd.DataFrame, str]:
    """Read a file of Stata, SPSS or SAS; codes become their labels where every value has one."""
    kind = table_kind(path)
    package = need("pyreadstat", f"reading {_WORDS[kind]} files")
    frame, meta = getattr(package, f"read_{_STAT[kind]}")(str(path))
    labels: Mapping[str, Mapping[Any, str]] = meta.variable_value_labels
    named = {name: _labelled(frame[name], labels[name]) for name in labels if name in frame}
    return frame.assign(**named), _WORDS[kind]


def _labelled(values: pd.Series[Any], labels: Mapping[Any, str]) -> pd.Series[Any]:
    present = set(values.dropna().unique())
    return values.map(labels).astype(object) if present and present <= set(labels) else values


def _json(path: Path, sheet: str | None) -> tuple[pd.DataFrame, str]:
    lines = table_kind(path) != ".json"
    text = path.read_text(encoding="utf-8-sig")
    content = [json.loads(line) for line in text.split("\n") if line.strip()] if lines else json.loads(text)
    frame = pd.DataFrame(content)
    nested = [name for name in frame.columns if frame[name].map(lambda value: isinstance(value, (dict, list))).any()]
    if nested:
        raise InputError(f"{path.name}: {nested[0]!r} holds lists or objects; expected one value. Flatten it first.")
    return frame.apply(_numbers).reset_index(drop=True), "JSON lines" if lines else "JSON"


def _numbers(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return numbers that are written as texts as numbers, and whole ones as integers; dates stay texts."""
    if values.dtype.kind in "biu":
        return values
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        return values
    whole = np.isfinite(numbers).all() and ((numbers % 1 == 0) & (numbers.abs() < 2**53)).all()
    return numbers.astype(np.int64) if whole else numbers


_READERS: dict[str, Callable[[Path, str | None], tuple[pd.DataFrame, str]]] = {
    **dict.fromkeys((".parquet", ".pq"), _parquet),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), _feather),
    **dict.fromkeys((".xlsx", ".xlsm"), _excel),
    **dict.fromkeys(_STAT, _stat),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _json),
}
_WORDS = {
    **dict.fromkeys((".parquet", ".pq"), "Parquet"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "Arrow"),
    **dict.fromkeys((".xlsx", ".xlsm"), "Excel"),
    ".dta": "Stata",
    **dict.fromkeys((".sav", ".zsav", ".por"), "SPSS"),
    **dict.fromkeys((".sas7bdat", ".xpt"), "SAS"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "JSON"),
}
