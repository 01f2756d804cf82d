"""The files of a table and the pieces they are read in: row groups of Parquet, ranges of CSV, other files whole.

All files are opened and their columns compared before anything is computed; what is wrong is said with the file's name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from ..errors import CovariateError, InputError
from .arrow import arrow, kind_of

__all__ = [
    "BATCH_ROWS",
    "ParquetPiece",
    "FilePiece",
    "WholePiece",
    "check_columns",
    "dataset_pieces",
    "file_error",
    "opened_dataset",
]

BATCH_ROWS = 2**14
"""Rows that are decoded at once."""
_BUFFER = 2**17  # bytes that are read at once, for each column of an open piece
_REASON = 200  # characters of another package's message


class FilePiece(Protocol):
    """Some rows of a table that are read in order."""

    @property
    def name(self) -> str:
        """The file, for messages."""

    @property
    def rows(self) -> int:
        """How many rows it has; of text about how many, until it was read."""

    @property
    def exact(self) -> bool:
        """Whether ``rows`` is exact."""

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield all rows as record batches with these columns."""


def file_error(name: str, error: Exception) -> InputError:
    """Return the error of a file that cannot be read."""
    reason = " ".join(str(error).split())[:_REASON]
    return InputError(f"{name} cannot be read: {reason}. Is the file truncated or damaged? Write it again.")


@dataclass(frozen=True, eq=False)
class ParquetPiece:
    """One row group of a Parquet file; ``keys`` are columns that the path tells, as in year=2020/part.parquet."""

    name: str
    rows: int
    fragment: Any
    group: int
    keys: dict[str, Any] = field(default_factory=dict)
    exact: ClassVar[bool] = True

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Decode a few thousand rows at a time: a whole row group may be large."""
        pa = arrow()
        inside = [name for name in columns if name not in self.keys]
        try:
            file = arrow("parquet").ParquetFile(
                self.fragment.open(),
                metadata=self.fragment.metadata,
                read_dictionary=[name for name in inside if self._holds_texts(name)],
                pre_buffer=False,
                buffer_size=_BUFFER,
            )
            for batch in file.iter_batches(BATCH_ROWS, row_groups=[self.group], columns=inside, use_threads=False):
                yield _with_keys(pa, batch, columns, self.keys)
        except (OSError, pa.ArrowException) as error:
            raise file_error(self.name, error) from None

    def _holds_texts(self, name: str) -> bool:
        """Tell whether a column is read as codes of its different texts, as it is stored."""
        schema = self.fragment.physical_schema
        return name in schema.names and kind_of(schema.field(name).type) == "label"


@dataclass(frozen=True, eq=False)
class WholePiece:
    """A file of another format, or a fragment of any dataset."""

    name: str
    rows: int
    fragment: Any
    keys: dict[str, Any] = field(default_factory=dict)
    exact: ClassVar[bool] = True

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read as the dataset does."""
        pa = arrow()
        inside = [name for name in columns if name not in self.keys]
        try:
            options = {"batch_size": BATCH_ROWS, "batch_readahead": 1, "fragment_readahead": 1, "use_threads": False}
            for batch in self.fragment.to_batches(columns=inside, **options):
                yield _with_keys(pa, batch, columns, self.keys)
        except (OSError, pa.ArrowException) as error:
            raise file_error(self.name, error) from None


def _with_keys(pa: Any, batch: Any, columns: Sequence[str], keys: dict[str, Any]) -> Any:
    """Return a batch with the columns that the path tells, in the order asked for."""
    arrays = [
        pa.repeat(pa.scalar(keys[name]), batch.num_rows) if name in keys else batch.column(name) for name in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def dataset_pieces(dataset: Any) -> tuple[Any, list[FilePiece], list[tuple[str, Any]]]:
    """Return the schema of a dataset, its pieces, and the name and schema of each file."""
    pa, ds = arrow(), arrow("dataset")
    pieces: list[FilePiece] = []
    schemas: list[tuple[str, Any]] = []
    for number, fragment in enumerate(dataset.get_fragments()):
        name = getattr(fragment, "path", None) or f"part {number}"
        try:
            schema = fragment.physical_schema
            keys = dict(ds.get_partition_keys(fragment.partition_expression))
            for key, value in keys.items():
                schema = schema.append(pa.field(key, pa.scalar(value).type)) if key not in schema.names else schema
            schemas.append((name, schema))
            pieces += _pieces_of(ds, fragment, name, keys)
        except (OSError, pa.ArrowException) as error:
            raise file_error(name, error) from None
    return dataset.schema, [piece for piece in pieces if piece.rows], schemas


def _pieces_of(ds: Any, fragment: Any, name: str, keys: dict[str, Any]) -> list[FilePiece]:
    if not isinstance(fragment, ds.ParquetFileFragment):
        return [WholePiece(name, fragment.count_rows(), fragment, keys)]
    fragment.ensure_complete_metadata()
    return [ParquetPiece(name, group.num_rows, fragment, group.id, keys) for group in fragment.row_groups]


def check_columns(schemas: Sequence[tuple[str, Any]], columns: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Refuse files that lack a column or hold something of another kind in it; all must be as the first."""
    if not schemas:
        raise InputError("the source has no files with rows; expected at least one. Check the path.")
    first, schema = schemas[0]
    kinds = {name: kind_of(schema.field(name).type) for name in columns if name in schema.names}
    for name, own in schemas:
        absent = [column for column in columns if column not in own.names and column not in optional]
        if absent:
            raise CovariateError(
                f"{name} lacks the column{'s' * (len(absent) > 1)} {', '.join(map(repr, absent[:5]))}; it has "
                f"{', '.join(own.names[:20])}. All files must have the columns of the first, {os.path.basename(first)}."
            )
        for column, kind in kinds.items():
            found = own.field(column).type
            if kind_of(found) != kind and str(found) != "null" and str(schema.field(column).type) != "null":
                raise CovariateError(
                    f"{name} has {found} in the column {column!r}; expected {schema.field(column).type}, as in "
                    f"{os.path.basename(first)}. Write it again with the same types."
                )


def opened_dataset(paths: Sequence[Path], base: Path | None, kind: str) -> Any:
    """Return the dataset of some files; an error names the first that cannot be opened."""
    pa, ds = arrow(), arrow("dataset")
    names = [str(path) for path in paths]
    more = {"partitioning": "hive", "partition_base_dir": str(base)} if base is not None else {}
    try:
        return ds.dataset(names, format=kind, **more)
    except (OSError, pa.ArrowException) as error:
        for name in names:
            try:
                ds.dataset(name, format=kind)
            except (OSError, pa.ArrowException) as own:
                raise file_error(name, own) from None
        raise file_error(names[0], error) from None
