"""Reading and writing tables; their extension tells what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path

import pandas as pd

from ..errors import InputError
from ..files import atomic_write
from .csv_layout import CsvLayout, read_layout
from .number_formats import NumberColumns, read_numbers
from .paths import STANDARD_INPUT
from .table_formats import need, read_typed, unpacked
from .table_options import TableOptions

__all__ = ["ROW_NAMES", "TableFile", "marked_missing", "read_table", "read_text", "write_table"]

ROW_NAMES = "(row names)"
"""What a first column without a name is called."""


@dataclass(frozen=True)
class TableFile:
    """A table, where it came from, and how its numbers were written."""

    frame: pd.DataFrame
    name: str
    layout: str
    numbers: NumberColumns = field(default_factory=NumberColumns)

    def __str__(self) -> str:
        rows, columns = self.frame.shape
        return f"{self.name}: {rows:,} rows, {columns} columns ({self.layout}{self.numbers})"


def read_table(path: Path, options: TableOptions, usual_marks: Mapping[str, str] | None = None) -> TableFile:
    """Read a table; what is wrong with it is said in one message. Identifiers stay as they are written.

    usual_marks: the decimal marks of the columns in an earlier table, for where the values do not tell.
    """
    name = "standard input" if path == STANDARD_INPUT else path.name
    try:
        with unpacked(path) as file:
            typed = read_typed(file, options.sheet)
            if typed is not None:
                frame, numbers = read_numbers(marked_missing(typed[0], options), options, usual_marks or {})
                return TableFile(frame, name, typed[1], numbers)
            layout = read_layout(file, options.encoding)
            read = partial(read_text, file, layout, options)
            frame, numbers = read_numbers(read(), options, usual_marks or {}, read)
            return TableFile(frame, name, str(layout), numbers)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}.") from None


def marked_missing(frame: pd.DataFrame, options: TableOptions) -> pd.DataFrame:
    """Return a table whose values have types with the user's marks of missing values, and empty texts, as missing."""
    marks = ["", *options.missing]
    numbers = [number for number in map(_as_number, options.missing) if number is not None]
    return frame.replace([*marks, *numbers], None) if options.missing else frame.replace("", None)


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a table, whole or not at all, in the format of its extension."""
    name = path.name.lower()
    with atomic_write(path) as partial:
        if name.endswith((".parquet", ".pq")):
            need("pyarrow", "writing Parquet")
            frame.to_parquet(partial, index=False)
        else:
            packed = "gzip" if name.endswith(".gz") else None
            separator = "\t" if ".tsv" in name else ","
            frame.to_csv(partial, sep=separator, index=False, compression=packed)  # type: ignore[arg-type]


def read_text(
    path: Path,
    layout: CsvLayout,
    options: TableOptions,
    as_text: list[str] | None = None,
    content: BytesIO | None = None,
    labels: Sequence[str] = (),
) -> pd.DataFrame:
    """Read a table of text; ``as_text`` asks for these columns only, as they are written.

    content: some lines of the file with its first one, in place of all; labels: columns that stay text in any case.
    """
    kept = dict.fromkeys([*labels, *([options.id] if options.id else [])], "str")
    names = [name or ROW_NAMES for name in layout.header]
    try:
        return pd.read_csv(
            path if content is None else content,
            sep=layout.delimiter,
            encoding=layout.encoding,
            header=0,
            names=names,
            index_col=False,
            usecols=as_text,
            dtype="str" if as_text is not None else kept or None,
            na_values=list(options.missing),
            skipinitialspace=True,
            low_memory=False,
        )
    except (ValueError, pd.errors.ParserError) as error:
        raise InputError(f"{path.name} cannot be read as a table: {error}. Save it as CSV again.") from None
