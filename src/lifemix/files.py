"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from .errors import InputError, LifemixError

__all__ = ["atomic_write"]


@contextlib.contextmanager
def atomic_write(path: Path, refusal: type[LifemixError] = InputError) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it replaces the file, on failure the file stays as it was.

    Parameters
    ----------
    path : Path
        The file to write.
    refusal : type of LifemixError, default InputError
        What is raised where the file cannot be written.

    Yields
    ------
    Path
        The temporary path to write to. It is flushed to disk before it is renamed.
    """
    partial = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield partial
        with open(partial, "r+b") as file:
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise refusal(f"{path} cannot be written: {error}. Check the folder and the space on disk.") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()
