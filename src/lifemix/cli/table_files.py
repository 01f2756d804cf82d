"""Reading and writing tables: CSV, TSV and Parquet, told apart by their extension."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError, MissingExtraError
from ..files import atomic_write
from .csv_layout import CsvLayout, read_layout
from .table_options import TableOptions

__all__ = ["ROW_NAMES", "TableFile", "read_table", "write_table"]

ROW_NAMES = "(row names)"
"""What a first column without a name is called."""


@dataclass(frozen=True)
class TableFile:
    """A table and where it came from."""

    frame: pd.DataFrame
    name: str
    layout: str

    def __str__(self) -> str:
        rows, columns = self.frame.shape
        return f"{self.name}: {rows:,} rows, {columns} columns ({self.layout})"


def read_table(path: Path, options: TableOptions) -> TableFile:
    """Read a table; what is wrong with it is said in one message. Identifiers stay as they are written."""
    name = path.name.lower()
    try:
        if name.endswith((".parquet", ".pq")):
            return TableFile(_read_parquet(path), path.name, "Parquet")
        layout = read_layout(path, options.encoding)
        return TableFile(_read_text(path, layout, options), path.name, str(layout))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}.") from None


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table, whole or not at all, in the format of its extension."""
    name = path.name.lower()
    with atomic_write(path) as partial:
        if name.endswith((".parquet", ".pq")):
            _need_pyarrow()
            frame.to_parquet(partial, index=False)
        else:
            packed = "gzip" if name.endswith(".gz") else None
            separator = "\t" if ".tsv" in name else ","
            frame.to_csv(partial, sep=separator, index=False, compression=packed)  # type: ignore[arg-type]


def _read_text(path: Path, layout: CsvLayout, options: TableOptions) -> pd.DataFrame:
    names = [name or ROW_NAMES for name in layout.header]
    try:
        return pd.read_csv(
            path,
            sep=layout.delimiter,
            decimal=layout.decimal,
            encoding=layout.encoding,
            header=0,
            names=names,
            index_col=False,
            dtype={options.id: "str"} if options.id else None,
            na_values=list(options.missing),
            skipinitialspace=True,
            low_memory=False,
        )
    except (ValueError, pd.errors.ParserError) as error:
        raise InputError(f"{path.name} cannot be read as a table: {error}. Save it as CSV again.") from None


def _read_parquet(path: Path) -> pd.DataFrame:
    _need_pyarrow()
    try:
        frame: Any = pd.read_parquet(path)
    except ValueError as error:  # pyarrow's own errors among them
        raise InputError(f"{path.name} cannot be read as Parquet: {error}. Write it again.") from None
    if isinstance(frame.index, pd.MultiIndex) or frame.index.name is not None:
        frame = frame.reset_index()
    frame.columns = [str(name) for name in frame.columns]
    twice = sorted(set(frame.columns[frame.columns.duplicated()]))
    if twice:
        raise InputError(f"{path.name} has columns of the same name: {', '.join(map(repr, twice))}. Rename them.")
    if not len(frame):
        raise InputError(f"{path.name} has no rows; expected one per subject.")
    return pd.DataFrame(frame)


def _need_pyarrow() -> None:
    if find_spec("pyarrow") is None:
        raise MissingExtraError("pyarrow", "tables", "reading and writing Parquet")
