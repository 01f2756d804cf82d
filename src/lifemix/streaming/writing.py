"""Tables that are written in blocks, whole or not at all: Parquet, or CSV and TSV, packed as .gz too."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import SettingError
from ..files import atomic_write
from .arrow import arrow

__all__ = ["WRITTEN", "written_table"]

WRITTEN = (".parquet", ".pq", ".csv", ".tsv", ".csv.gz", ".tsv.gz")
"""The extensions of files that can be written."""
Write = Callable[[pd.DataFrame], None]


@contextmanager
def written_table(path: Path) -> Iterator[Write]:
    """Yield a function to call with each block of a table; the file appears once all is written."""
    name = path.name.lower()
    if not name.endswith(WRITTEN):
        raise SettingError(f"the file's name must end in {', '.join(WRITTEN)}; got {path.name!r}. Rename it.")
    with atomic_write(path) as partial:
        with _parquet(partial) if name.endswith((".parquet", ".pq")) else _text(partial, name) as write:
            yield write


@contextmanager
def _parquet(path: Path) -> Iterator[Write]:
    pa, pq = arrow(), arrow("parquet")
    writer: Any = None

    def write(block: pd.DataFrame) -> None:
        nonlocal writer
        table = pa.Table.from_pandas(block, preserve_index=False, schema=None if writer is None else writer.schema)
        writer = writer or pq.ParquetWriter(str(path), table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


@contextmanager
def _text(path: Path, name: str) -> Iterator[Write]:
    separator, first = "\t" if ".tsv" in name else ",", True
    with gzip.open(path, "wb") if name.endswith(".gz") else open(path, "wb") as file:

        def write(block: pd.DataFrame) -> None:
            nonlocal first
            block.to_csv(file, sep=separator, index=False, header=first, lineterminator="\n")
            first = False

        yield write
