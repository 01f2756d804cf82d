"""Paths of files that commands read and write, checked before any work is done; their suffixes."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InputError, SettingError

__all__ = [
    "MODELS",
    "PAGES",
    "STANDARD_INPUT",
    "TABLES",
    "check_model_path",
    "check_output",
    "check_table_path",
    "table_suffix",
]

STANDARD_INPUT = Path("-")
"""Read the table from the standard input."""
TABLES = (".csv", ".tsv", ".parquet", ".pq", ".csv.gz", ".tsv.gz")
"""The suffixes of tables that are written."""
_COMPRESSED = (".gz", ".zip", ".bz2", ".xz")
_TEXT = (".csv", ".tsv", ".txt", ".tab", ".dat", ".json", ".jsonl", ".ndjson")
_TABLES_READ = (
    *_TEXT,
    *(".parquet", ".pq", ".feather", ".xlsx", ".xls", ".ods", ".dta", ".sav", ".sas7bdat", ".xpt"),
)
MODELS = (".safetensors",)
PAGES = (".html", ".htm")


def check_table_path(path: Path) -> None:
    """Refuse a file that cannot be a table, by its suffix and size."""
    if path == STANDARD_INPUT:
        return
    _check_there(path)
    allowed = (*_TEXT, "") if path.suffix.lower() in _COMPRESSED else _TABLES_READ
    if table_suffix(path) not in allowed:
        raise InputError(
            f"{path.name} has a suffix that no reader takes; expected one of {', '.join(_TABLES_READ)}, text and JSON "
            f"also compressed as {', '.join(_COMPRESSED)}. Save the table as CSV."
        )
    if path.stat().st_size == 0:
        raise InputError(
            f"{path.name} is empty; expected a line of column names and one line per subject."
        )


def table_suffix(path: Path) -> str:
    """Return the suffix of a table in lower case, without that of its compression."""
    name = path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path
    return name.suffix.lower()


def check_model_path(path: Path) -> None:
    """Refuse a file that cannot be a model, by its name."""
    _check_there(path)
    if path.suffix.lower() in _COMPRESSED or table_suffix(path) in _TABLES_READ:
        raise InputError(
            f"{path.name} is a table; expected a model file here, and the table after it."
        )


def _check_there(path: Path) -> None:
    if path == STANDARD_INPUT:
        raise InputError(
            "only a table can come from the standard input; expected the path of a file here."
        )
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a file.")
    if not path.exists():
        raise InputError(f"there is no file {path}. Check the path.")


def check_output(path: Path, suffixes: tuple[str, ...], inputs: tuple[Path, ...] = ()) -> None:
    """Refuse a file that could not, or must not, be written in the end."""
    if not path.name.lower().endswith(suffixes):
        raise SettingError(
            f"the output's name must end in {' or '.join(suffixes)}; got {path.name!r}. Rename it."
        )
    if path.is_dir():
        raise SettingError(f"{path} is a folder; expected the name of a file.")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise SettingError(f"there is no folder {folder}. Make it first, or write somewhere else.")
    if not os.access(folder, os.W_OK):
        raise SettingError(f"the folder {folder} cannot be written to. Write somewhere else.")
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise SettingError(
                f"{path} is the input; it would be overwritten. Choose another name for the output."
            )
