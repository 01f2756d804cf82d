"""The rows of a table in blocks, each read by the same rules as a whole table; for tables of any length."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd

from .csv_layout import CsvLayout, read_layout
from .memory_limit import shards_kind
from .number_formats import read_numbers
from .table_files import TableFile, marked_missing, read_text
from .table_options import TableOptions

__all__ = ["can_be_read_in_blocks", "table_blocks"]

_BLOCK = 20_000  # rows


def can_be_read_in_blocks(path: Path, options: TableOptions) -> bool:
    """Tell whether a table is of a format, and an encoding, that can be cut into blocks of rows."""
    kind = shards_kind(path)
    if kind != "csv" or options.encoding is None:
        return bool(kind)
    try:
        codecs.lookup(options.encoding)
    except LookupError:
        return False
    return '"\n,'.encode(options.encoding) == b'"\n,'


def table_blocks(
    path: Path, options: TableOptions, usual_marks: Mapping[str, str], labels: Sequence[str]
) -> Iterator[TableFile]:
    """Yield the table in blocks; how numbers are written is told from the first block.

    labels: columns whose texts are labels, although those of some block might all look like numbers.
    """
    raw = _text_blocks(path, options, labels) if shards_kind(path) == "csv" else _typed_blocks(path)
    for frame, layout, reread in raw:
        missing = marked_missing(frame, options) if reread is None else frame
        frame, numbers = read_numbers(missing, options, usual_marks, reread)
        yield TableFile(frame, path.name, layout, numbers)
        known = tuple(f"{name}={mark}" for name, mark in numbers.marks.items())
        options = replace(options, decimal=tuple(dict.fromkeys((*options.decimal, *known))))


def _typed_blocks(path: Path) -> Iterator[tuple[pd.DataFrame, str, None]]:
    from ..streaming.arrow import arrow
    from ..streaming.files import open_table
    from ..streaming.pieces import check_columns

    opened = open_table(path, None, (), ())
    names = list(opened.schema.names)
    check_columns(opened.schemas, names)
    for piece in opened.pieces:
        for batch in piece.batches(names):
            frame = arrow().Table.from_batches([batch]).replace_schema_metadata(None).to_pandas()
            yield frame.drop(columns=[name for name in names if name.startswith("__index_level_")]), "Parquet", None


def _text_blocks(
    path: Path, options: TableOptions, labels: Sequence[str]
) -> Iterator[tuple[pd.DataFrame, str, partial[pd.DataFrame]]]:
    from ..streaming.csv_ranges import csv_ranges
    from ..streaming.files import find_files

    for file in find_files(path):
        layout = read_layout(file, options.encoding)
        with open(file, "rb") as lines:
            head = lines.readline()
            for part in csv_ranges(file, len(head)):
                lines.seek(part.start)
                content = head + lines.read(part.stop - part.start)
                yield from _parsed(file, layout, options, content, labels)


def _parsed(
    file: Path, layout: CsvLayout, options: TableOptions, content: bytes, labels: Sequence[str]
) -> Iterator[tuple[pd.DataFrame, str, partial[pd.DataFrame]]]:
    def read(as_text: list[str] | None = None) -> pd.DataFrame:
        return read_text(file, layout, options, as_text, io.BytesIO(content), labels)

    frame = read()
    if len(frame):
        yield frame, str(layout), partial(read)
