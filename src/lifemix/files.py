"""Atomic writes, files of arrays with a checksum, and a lock that gives a folder to one process."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from .errors import FolderInUseError, InputError, LifemixError, ModelFileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["atomic_write", "folder_lock", "read_arrays", "write_arrays"]


@contextlib.contextmanager
def atomic_write(
    path: Path,
    error_class: type[LifemixError] = InputError,
    flush: bool = True,
    make_folder: bool = False,
) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that replaces it on success; on failure it is deleted.

    Parameters
    ----------
    path : Path
        The file to write.
    error_class : type of LifemixError, default InputError
        The exception to raise if the file cannot be written.
    flush : bool, default True
        Whether to force the file to disk first. Without it, a power failure can damage the file.
    make_folder : bool, default False
        Whether to create the folder.

    Yields
    ------
    Path
        The temporary path.

    """
    partial = path.with_name(f".{path.stem}.{uuid4().hex}.part{path.suffix}")
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        if flush:
            with open(partial, "r+b") as file:
                os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise error_class(
            f"{path} cannot be written: {error}. Check the folder and the free space on disk."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


@contextlib.contextmanager
def folder_lock(folder: Path, purpose: str) -> Iterator[None]:
    """Lock a folder for one purpose; raise ``FolderInUseError`` if it is locked already.

    The operating system releases the lock if the process is killed. Without support for locks (a
    read-only folder, some file systems, Windows), the folder is used without a lock.

    Parameters
    ----------
    folder : Path
        The folder; it is created if it does not exist.
    purpose : str
        A word. Locks for different purposes are independent.

    """
    path, file, is_free = folder / f".lifemix-{purpose}.lock", None, True
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(path, "w")
        locks = import_module("fcntl")
        locks.flock(file, locks.LOCK_EX | locks.LOCK_NB)
        # If the previous owner has just deleted this file, another process may lock a new one.
        is_free = os.fstat(file.fileno()).st_nlink > 0
    except BlockingIOError:
        is_free = False
    except (ImportError, OSError):
        pass
    try:
        if not is_free:
            raise FolderInUseError(
                f"another process uses the folder {folder} for the same purpose ({purpose}). Wait "
                "until it has ended, or use another folder."
            )
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                path.unlink()
    finally:
        if file is not None:
            file.close()


def write_arrays(
    path: Path,
    content: Any,
    arrays: Mapping[str, NDArray[Any]],
    key: bytes | None = None,
) -> None:
    """Write a JSON value and arrays to one safetensors file; equal content gives equal bytes.

    Parameters
    ----------
    path : Path
        The file.
    content : JSON value
        Goes to the header.
    arrays : mapping from str to array
        Arrays of numbers.
    key : bytes, optional
        Signs the file (HMAC with SHA-256).

    Raises
    ------
    ModelFileError
        If the file cannot be written.

    """
    from safetensors.numpy import save  # not needed to start the command line

    header = {"content": content, "checksum": _checksum(content, arrays)}
    if key is not None:
        header["signature"] = _signature(header["checksum"], key)
    # One entry, because safetensors does not sort several.
    data = save(dict(arrays), {"lifemix": json.dumps(header)})
    with atomic_write(path, ModelFileError) as partial:
        partial.write_bytes(data)


def read_arrays(path: Path, key: bytes | None = None) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return the JSON value and the arrays of a file that ``write_arrays`` wrote.

    The arrays are copies in memory. The checksum detects damage, not forgery.

    Parameters
    ----------
    path : Path
        The file.
    key : bytes, optional
        If it is passed, the file must be signed with it.

    Returns
    -------
    content : JSON value
        The value from the header.
    arrays : dict from str to array
        The arrays.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ModelFileError
        If the file is damaged, has another format, or is not signed with the key.

    """
    from safetensors import safe_open

    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {})["lifemix"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        content, checksum = header["content"], header["checksum"]
        is_intact = checksum == _checksum(content, arrays)
    except Exception as error:  # safetensors raises many types
        raise ModelFileError(f"{path} is not a complete file of lifemix: {error!r:.300}.") from None
    if not is_intact:
        raise ModelFileError(f"{path} is damaged: its checksum does not match.")
    if key is not None:
        signature = str(header.get("signature")).encode(errors="replace")
        if not hmac.compare_digest(signature, _signature(checksum, key).encode()):
            raise ModelFileError(f"{path} is not signed with this key, or was altered.")
    return content, arrays


def _checksum(content: Any, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of a JSON value and of the names, types, shapes and numbers of arrays."""
    digest = hashlib.sha256(json.dumps(content).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{json.dumps(name)} {array.dtype} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _signature(checksum: str, key: bytes) -> str:
    return hmac.new(key, f"lifemix model {checksum}".encode(), "sha256").hexdigest()
