"""The rows of a table in blocks, each read by the same rules as a whole table; for tables of any length."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from .memory_limit import shards_kind
from .read_table import TableFile, csv_options, mark_missing
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


def table_blocks(path: Path, options: TableOptions, labels: Sequence[str]) -> Iterator[TableFile]:
    """Yield the table in blocks.

    labels: columns whose texts are labels, although those of some block might all look like numbers.
    """
    blocks = _text_blocks(path, options, labels) if shards_kind(path) == "csv" else _typed_blocks(path, options)
    for frame in blocks:
        yield TableFile(frame, path.name)


def _typed_blocks(path: Path, options: TableOptions) -> Iterator[pd.DataFrame]:
    from ..streaming.arrow import arrow
    from ..streaming.files import open_table
    from ..streaming.pieces import check_columns

    opened = open_table(path, None, (), ())
    names = list(opened.schema.names)
    check_columns(opened.schemas, names)
    for piece in opened.pieces:
        for batch in piece.batches(names):
            frame = arrow().Table.from_batches([batch]).replace_schema_metadata(None).to_pandas()
            index = [name for name in names if name.startswith("__index_level_")]
            yield mark_missing(frame.drop(columns=index), options)


def _text_blocks(path: Path, options: TableOptions, labels: Sequence[str]) -> Iterator[pd.DataFrame]:
    from ..streaming.csv_ranges import csv_ranges
    from ..streaming.files import find_files

    for file in find_files(path):
        arguments = csv_options(file, options)
        arguments["dtype"] = dict.fromkeys([*labels, *([options.id] if options.id else [])], str)
        with open(file, "rb") as lines:
            head = lines.readline()
            for part in csv_ranges(file, len(head)):
                lines.seek(part.start)
                frame = pd.read_csv(io.BytesIO(head + lines.read(part.stop - part.start)), **arguments)
                if len(frame):
                    yield frame
