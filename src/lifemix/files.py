"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from .errors import InputError, LifemixError

__all__ = ["atomic_write"]


@contextlib.contextmanager
def atomic_write(path: Path, refusal: type[LifemixError] = InputError) -> Iterator[Path]:
    """Yield a name beside the file to write to; the file gets it when all went well and is on disk, or stays as it was.

    refusal: what is raised where the file cannot be written.
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
