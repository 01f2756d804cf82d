"""Files of a table on disk, read with PyArrow: formats, types of columns, blocks of rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import CovariateError, InputError, MissingExtraError

__all__ = [
    "arrow",
    "block_schema",
    "common_schema",
    "open_dataset",
    "path_of",
    "read_tables",
    "refuse_missing_columns",
]

_FORMATS = {
    ".parquet": "parquet",
    ".feather": "ipc",
    ".arrow": "ipc",
    ".orc": "orc",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
}
# The texts that pandas reads as missing.
_MISSING = (
    "|#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None|n/a|nan|null"
).split("|")
_BAD_CELL = re.compile(
    r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to (\w+): invalid value '(.*)'"
)
_BLOCK_ROWS, _BLOCK_VALUES = 2**16, 2**22


def arrow(module: str = "") -> Any:
    """Return PyArrow or one of its modules."""
    try:
        return import_module(f"pyarrow.{module}" if module else "pyarrow")
    except ImportError:
        raise MissingExtraError("pyarrow", "tables", "reading a table in blocks") from None


def open_dataset(data: Any, missing: Sequence[str], text_columns: Sequence[str]) -> Any:
    """Return a pyarrow dataset."""
    ds, pa, csv = arrow("dataset"), arrow(), arrow("csv")
    if hasattr(data, "get_fragments"):
        return data
    if hasattr(data, "to_batches"):
        return ds.dataset(data)
    paths = [Path(path) for path in ([data] if isinstance(data, (str, os.PathLike)) else data)]
    files = _find_files(paths)
    file_format: Any = _FORMATS[files[0].suffix.lower()]
    if file_format == "csv":
        with open(files[0], encoding="utf-8", errors="replace") as file:
            header = re.sub(r'"[^"]*"', "", file.readline())
        delimiter = max(",;\t|", key=header.count)
        file_format = ds.CsvFileFormat(
            parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                null_values=[*_MISSING, *missing],
                strings_can_be_null=True,
                column_types=dict.fromkeys(text_columns, pa.string()),
            ),
        )
    options = {}
    if len(paths) == 1 and paths[0].is_dir():
        options = {"partitioning": "hive", "partition_base_dir": str(paths[0])}
    with _file_errors(str(files[0])):
        return ds.dataset([str(file) for file in files], format=file_format, **options)


def _find_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files of paths and folders, all of one format."""
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise InputError(f"there is no file or folder {path}. Check the path.")
        if path.is_dir():
            files += [file for file in sorted(path.rglob("[!._]*.*")) if file.is_file()]
        else:
            files.append(path)
    formats = {_FORMATS.get(file.suffix.lower()) for file in files}
    if len(formats) != 1 or None in formats:
        raise InputError(
            f"a source must hold files of one format, by their extension ({', '.join(_FORMATS)}); got "
            f"{', '.join(file.name for file in files[:5]) or 'no files'}. Unpack files, and keep "
            "others in another folder."
        )
    return files


def common_schema(dataset: Any) -> Any:
    """Return the types that hold the values of all files."""
    schema = dataset.schema
    for fragment in dataset.get_fragments():
        with _file_errors(path_of(fragment)):
            schemas = [schema, fragment.physical_schema]
            schema = arrow().unify_schemas(schemas, promote_options="permissive")
    return schema


def refuse_missing_columns(fragment: Any, columns: Sequence[str]) -> None:
    """Refuse a file without these columns, which Arrow would read as missing values."""
    folder_columns = arrow("dataset").get_partition_keys(fragment.partition_expression)
    names = [*fragment.physical_schema.names, *folder_columns]
    missing = [name for name in columns if name not in names]
    if missing:
        raise CovariateError(
            f"{path_of(fragment)} lacks the column {missing[0]!r}; it has {', '.join(names[:20])}. All "
            "files must have the same columns."
        )


def block_schema(
    schema: Any, roles: Mapping[str, str], columns: Sequence[str], text_columns: Sequence[Any]
) -> Any:
    """Return the types to read: texts, float64 for numbers, and the subject as it is."""
    pa, types = arrow(), arrow("types")
    is_text = types.is_string, types.is_large_string, types.is_dictionary
    is_number = types.is_integer, types.is_floating, types.is_decimal, types.is_null
    fields = []
    for name in [*columns, *roles.values()]:
        dtype = schema.field(name).type
        holds_text = name in columns and any(test(dtype) for test in is_text)
        if holds_text or name in text_columns:
            dtype = pa.string()
        elif any(test(dtype) for test in is_number):
            dtype = pa.float64()
        elif not types.is_boolean(dtype) and name != roles.get("subject"):
            raise CovariateError(
                f"column {name!r} must hold numbers, booleans or labels; got {dtype}. Turn dates into "
                "numbers, such as days since a common origin, turn event labels into codes: "
                "codes={...}, or leave the column out: drop=[...]."
            )
        fields.append((name, dtype))
    return pa.schema(fields)


def read_tables(fragment: Any, schema: Any) -> Iterator[Any]:
    """Yield a file as tables with the same number of rows, however its format divides it."""
    pa = arrow()
    n_rows = max(1, min(_BLOCK_ROWS, _BLOCK_VALUES // len(schema)))
    options = {"batch_size": n_rows, "batch_readahead": 2, "fragment_readahead": 1}
    with _file_errors(path_of(fragment), fragment):
        table = schema.empty_table()
        for batch in fragment.to_batches(schema=schema, columns=schema.names, **options):
            table = pa.concat_tables([table, pa.Table.from_batches([batch])])
            while table.num_rows >= n_rows:
                yield table.slice(0, n_rows)
                table = table.slice(n_rows)
        if table.num_rows:
            yield table


def path_of(fragment: Any) -> str:
    """Return the path of the file, for messages."""
    return getattr(fragment, "path", None) or "the table"


@contextmanager
def _file_errors(path: str, fragment: Any = None) -> Iterator[None]:
    """Name the file in an error of Arrow, and line, column and option if a CSV cell does not fit."""
    try:
        yield
    except (OSError, arrow().ArrowException) as error:
        bad_cell = _BAD_CELL.search(str(error))
        if bad_cell is None or fragment is None:
            reason = " ".join(str(error).split())[:200]
            raise InputError(
                f"{path} cannot be read: {reason}. Write it again, if it is damaged or has columns of "
                "other types than other files. To read a column as labels, use categorical=[...]."
            ) from None
        column, line, dtype, cell = bad_cell.groups()
        name = fragment.physical_schema.names[int(column)]
        location = f"{path}, line {line}" if line else path
        raise CovariateError(
            f"{location}: {cell!r} in column {name!r} does not fit the "
            f"type {dtype} of the first rows. Correct the cell, read it as missing: "
            f"missing=[{cell!r}], or read the column as labels: categorical=[{name!r}]."
        ) from None
