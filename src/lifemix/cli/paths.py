"""Paths of files that commands read and write, checked before any work is done; their extensions."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InputError, SettingError

__all__ = ["MODELS", "PAGES", "TABLES", "check_model_path", "check_output", "check_table_path"]

TABLES = (".csv", ".tsv", ".parquet", ".pq", ".csv.gz", ".tsv.gz")
MODELS = (".safetensors",)
PAGES = (".html", ".htm")


def check_table_path(path: Path) -> None:
    """Refuse a file that cannot be a table, by its name and size."""
    _check_there(path)
    if path.suffix.lower() in (".xlsx", ".xls", ".ods"):
        raise InputError(f"{path.name} is a spreadsheet, which is not read. Save the sheet as CSV first.")
    if not path.name.lower().endswith(TABLES):
        raise InputError(
            f"{path.name} must end in {' or '.join(TABLES)}; its extension says how to read it. Rename it."
        )
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty; expected a line of column names and one line per subject.")


def check_model_path(path: Path) -> None:
    """Refuse a file that cannot be a model, by its name."""
    _check_there(path)
    if path.name.lower().endswith(TABLES):
        raise InputError(f"{path.name} is a table; expected a model file here, and the table after it.")


def _check_there(path: Path) -> None:
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
