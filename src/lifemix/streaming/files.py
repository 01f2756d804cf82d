"""From what the user names to pieces: a file, a folder of shards, several files, or a dataset of PyArrow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError
from .arrow import arrow
from .csv_pieces import csv_pieces
from .pieces import FilePiece, dataset_pieces, opened_dataset

__all__ = ["FILE_KINDS", "OpenedTable", "find_files", "open_table"]

FILE_KINDS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "ipc",
    ".arrow": "ipc",
    ".ipc": "ipc",
    ".orc": "orc",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
}
"""The formats of files that are read in blocks, by their extension."""


@dataclass(frozen=True, eq=False)
class OpenedTable:
    """The columns of a table, the pieces that it is read in, and the columns of each of its files."""

    schema: Any
    pieces: list[FilePiece]
    schemas: list[tuple[str, Any]]


def find_files(data: Any) -> list[Path]:
    """Return the files of a path, a folder or several paths, in order; all are of one format."""
    given = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    found: list[Path] = []
    for path in map(Path, given):
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if _is_shard(one, path))
            if not inside:
                raise InputError(f"the folder {path} has no table files; expected some of {', '.join(FILE_KINDS)}.")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise InputError(f"there is no file or folder {path}. Check the path.")
    kinds = {FILE_KINDS.get(path.suffix.lower(), "") for path in found}
    if len(kinds) != 1 or "" in kinds:
        names = ", ".join(path.name for path in found[:5])
        raise InputError(
            f"a source must hold files of one format, told by their extension ({', '.join(FILE_KINDS)}); got {names}. "
            "Unpack files, and keep others in another folder."
        )
    return found


def _is_shard(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    return path.is_file() and not hidden and path.suffix.lower() in FILE_KINDS


def open_table(data: Any, delimiter: str | None, missing: Sequence[str], texts: Sequence[str]) -> OpenedTable:
    """Open all files of a table, so that those that cannot be read are found before anything is computed."""
    if hasattr(data, "get_fragments"):
        return OpenedTable(*dataset_pieces(data))
    if hasattr(data, "to_batches"):  # a table in memory
        return OpenedTable(*dataset_pieces(arrow("dataset").dataset(data)))
    paths = find_files(data)
    kind = FILE_KINDS[paths[0].suffix.lower()]
    if kind == "csv":
        return OpenedTable(*csv_pieces(paths, delimiter, missing, texts))
    base = Path(data) if isinstance(data, (str, os.PathLike)) and Path(data).is_dir() else None
    return OpenedTable(*dataset_pieces(opened_dataset(paths, base, kind)))
