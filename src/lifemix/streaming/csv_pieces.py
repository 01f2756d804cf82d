"""CSV files as pieces: ranges of lines, whose columns have the same types in every range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..errors import CovariateError, InputError
from .arrow import arrow
from .csv_ranges import CsvHead, Range, csv_head, csv_ranges
from .pieces import BATCH_ROWS, FilePiece, file_error

__all__ = ["MISSING", "CsvPiece", "csv_pieces"]

MISSING = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)
"""Texts that mean missing, those of pandas."""
_LOOK = 2**20  # bytes of a range that tell the types of its columns


@dataclass(frozen=True, eq=False)
class CsvPiece:
    """Some lines of a CSV file."""

    path: Path
    head: CsvHead
    range: Range
    types: dict[str, Any]
    missing: tuple[str, ...]
    rows: int  # lines, blank ones too
    exact: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The file."""
        return str(self.path)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read the lines at once."""
        with open(self.path, "rb") as file:
            file.seek(self.range.start)
            text = file.read(self.range.stop - self.range.start)
        if len(text) < self.range.stop - self.range.start:
            raise file_error(self.name, ValueError("it is shorter than it was"))
        types = {name: self.types[name] for name in columns}
        table = _parse(self.path, self.head, text, self.missing, types).select(list(columns))
        yield from table.combine_chunks().to_batches(max_chunksize=BATCH_ROWS)


def csv_pieces(
    paths: Sequence[Path], delimiter: str | None, missing: Sequence[str], texts: Sequence[str]
) -> tuple[Any, list[FilePiece], list[tuple[str, Any]]]:
    """Return schema, pieces and the schema of each file; ``texts`` are columns that stay as they are written."""
    pa = arrow()
    heads = {path: csv_head(path, delimiter) for path in paths}
    ranges = {path: list(csv_ranges(path, head.end)) for path, head in heads.items()}
    marks = (*MISSING, *missing)
    types: dict[str, Any] = {}
    for path in [path for path in dict.fromkeys((paths[0], paths[len(paths) // 2], paths[-1])) if ranges[path]]:
        own = ranges[path]
        for part in dict.fromkeys((own[0], own[len(own) // 2], own[-1])):
            for name, found in _types(path, heads[path], part, marks).items():
                types[name] = _joined(pa, name, types.get(name), found)
    types = {name: pa.string() if name in texts else found for name, found in types.items()}
    for name, found in types.items():
        if pa.types.is_null(found) or pa.types.is_integer(found):
            types[name] = pa.float64()
    schemas = [
        (str(path), pa.schema([(name, types.get(name, pa.null())) for name in heads[path].names])) for path in paths
    ]
    pieces: list[FilePiece] = [
        CsvPiece(path, heads[path], part, types, marks, part.lines) for path in paths for part in ranges[path]
    ]
    if not pieces:
        raise InputError(f"{paths[0]} has column names but no rows; expected one line per row.")
    return pa.schema(list(types.items())), pieces, schemas


def _types(path: Path, head: CsvHead, part: Range, missing: Sequence[str]) -> dict[str, Any]:
    """Return the types of the columns by the first lines of a range."""
    with open(path, "rb") as file:
        file.seek(part.start)
        text = file.read(min(_LOOK, part.stop - part.start))
    end = text.rfind(b"\n") + 1
    table = _parse(path, head, text[:end] or text, missing, {})
    return dict(zip(table.schema.names, table.schema.types, strict=True))


def _joined(pa: Any, name: str, first: Any, other: Any) -> Any:
    """Return the type that has the values of two; text has all."""
    if first is None or pa.types.is_null(first) or first == other:
        return other
    if pa.types.is_null(other):
        return first
    numbers = [pa.types.is_integer(one) or pa.types.is_floating(one) for one in (first, other)]
    return pa.float64() if all(numbers) else pa.string()


def _parse(path: Path, head: CsvHead, text: bytes, missing: Sequence[str], types: dict[str, Any]) -> Any:
    pa, csv = arrow(), arrow("csv")
    try:
        return csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(column_names=list(head.names), use_threads=False, block_size=len(text) + 1),
            csv.ParseOptions(delimiter=head.delimiter, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=types,
                include_columns=list(types) or None,
                null_values=list(missing),
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        reason = " ".join(str(error).split())[:200]
        raise CovariateError(
            f"{path} has rows that do not fit its first ones: {reason}. Correct them, or name what marks a missing "
            "value."
        ) from None
