"""Paths of files that commands read and write, checked before any work is done; their extensions."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InputError, SettingError

__all__ = [
    "MODELS",
    "PAGES",
    "STANDARD_INPUT",
    "TABLES",
    "TABLE_KINDS",
    "check_model_path",
    "check_output",
    "check_table_path",
    "table_kind",
]

STANDARD_INPUT = Path("-")
"""What stands for the standard input in place of a table's file."""
TABLES = (".csv", ".tsv", ".parquet", ".pq", ".csv.gz", ".tsv.gz")
"""The extensions of tables that are written."""
TABLE_KINDS = (
    *(".csv", ".tsv", ".tab", ".txt", ".dat", ".parquet", ".pq", ".feather", ".arrow", ".ipc", ".xlsx", ".xlsm"),
    *(".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt", ".jsonl", ".ndjson", ".json"),
)
"""The extensions of tables that are read, packed as .gz or .zip too."""
_ELSEWHERE = {
    ".xls": "is an old Excel file. Save it as .xlsx first.",
    ".xlsb": "is a binary Excel file. Save it as .xlsx first.",
    ".ods": "is an OpenDocument spreadsheet. Save the sheet as .xlsx or CSV first.",
    ".rds": "is a file of R. Write the table with write.csv(x, 'x.csv', row.names = FALSE) first.",
    ".rda": "is a file of R. Write the table with write.csv(x, 'x.csv', row.names = FALSE) first.",
    ".rdata": "is a file of R. Write the table with write.csv(x, 'x.csv', row.names = FALSE) first.",
    ".pkl": "is a pickle, which can run code and is not read. Write the table with to_parquet or to_csv first.",
}
MODELS = (".safetensors",)
PAGES = (".html", ".htm")


def check_table_path(path: Path) -> None:
    """Refuse a file that cannot be a table, by its name and size."""
    if path == STANDARD_INPUT:
        return
    _check_there(path)
    if path.suffix.lower() in _ELSEWHERE:
        raise InputError(f"{path.name} {_ELSEWHERE[path.suffix.lower()]}")
    if not path.name.lower().endswith((*TABLE_KINDS, ".gz", ".zip")):
        raise InputError(
            f"{path.name} has no extension that tells how to read it; expected one of {', '.join(TABLE_KINDS)}, "
            "possibly packed as .gz or .zip. A table of text is .csv or .txt."
        )
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty; expected a line of column names and one line per subject.")


def table_kind(path: Path) -> str:
    """Return the extension of a table's file in lower case."""
    return path.suffix.lower()


def check_model_path(path: Path) -> None:
    """Refuse a file that cannot be a model, by its name."""
    _check_there(path)
    if path.name.lower().endswith((*TABLE_KINDS, ".csv.gz", ".tsv.gz", ".zip")):
        raise InputError(f"{path.name} is a table; expected a model file here, and the table after it.")


def _check_there(path: Path) -> None:
    if path == STANDARD_INPUT:
        raise InputError("only a table can come from the standard input; expected the path of a file here.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a file.")
    if not path.exists():
        raise InputError(f"there is no file {path}. Check the path.")


def check_output(path: Path, suffixes: tuple[str, ...], inputs: tuple[Path, ...] = ()) -> None:
    """Refuse a file that could not, or must not, be written in the end."""
    if not path.name.lower().endswith(suffixes):
        raise SettingError(f"the output's name must end in {' or '.join(suffixes)}; got {path.name!r}. Rename it.")
    if path.is_dir():
        raise SettingError(f"{path} is a folder; expected the name of a file.")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise SettingError(f"there is no folder {folder}. Make it first, or write somewhere else.")
    if not os.access(folder, os.W_OK):
        raise SettingError(f"the folder {folder} cannot be written to. Write somewhere else.")
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise SettingError(f"{path} is the input; it would be overwritten. Choose another name for the output.")
