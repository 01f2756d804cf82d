"""Files that are written completely or not at all, files of arrays, and folders that one process uses at a time."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import itertools
import json
import os
import stat
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import FolderInUseError, InputError, LifemixError, ModelFileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "atomic_write",
    "open_regular",
    "own_folder",
    "read_arrays",
    "remove_leftovers",
    "write_arrays",
]

_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # a pipe without a writer would make us wait for ever
_BINARY = getattr(os, "O_BINARY", 0)
_NUMBERS = itertools.count()  # of the temporary files of this process


@contextlib.contextmanager
def atomic_write(
    path: Path,
    refusal: type[LifemixError] = InputError,
    flush: bool = True,
    make_folder: bool = False,
) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it replaces the file, on failure the file stays as it was.

    What a killed process has left of an earlier attempt is removed.

    Parameters
    ----------
    path : Path
        The file to write.
    refusal : type of LifemixError, default InputError
        What is raised where the file cannot be written.
    flush : bool, default True
        Whether the new file must be on disk before it replaces the old one; False for what is written often and has a
        checksum: after a power failure, not after a kill, it may be damaged.
    make_folder : bool, default False
        Whether to make the folder where there is none.

    Yields
    ------
    Path
        The temporary path to write to.
    """
    partial = path.with_name(f".{path.stem}.{os.getpid()}-{next(_NUMBERS)}.part{path.suffix}")
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(path)
        with open(partial, "wb") as mark:
            if _lock(mark.fileno()) is None:  # while we live, nobody takes it for a leftover
                mark.close()
            yield partial
            if flush:
                with open(partial, "r+b") as file:
                    os.fsync(file.fileno())
            os.replace(partial, path)
    except OSError as error:
        raise refusal(
            f"{path} cannot be written: {error}. Check the folder and the space on disk."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def remove_leftovers(path: Path) -> None:
    """Remove temporary files of this path whose writer is gone: nobody holds their lock."""
    before, after = f".{path.stem}.", f".part{path.suffix}"
    for name in os.listdir(path.parent):
        writer = name.removeprefix(before).removesuffix(after)
        if name == f"{before}{writer}{after}" and writer.replace("-", "").isdecimal():
            with contextlib.suppress(OSError), open(path.with_name(name), "rb") as file:
                if _lock(file.fileno()):
                    path.with_name(name).unlink()


def open_regular(path: Path) -> Any:
    """Open a file for reading bytes; an ``OSError`` for folders, pipes and devices, which could block or never end."""
    descriptor = os.open(path, os.O_RDONLY | _NONBLOCK | _BINARY)
    file = os.fdopen(descriptor, "rb") if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    if file is None:
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is a folder, a pipe or a device, not a file")
    return file


def write_arrays(
    path: Path,
    content: Any,
    arrays: Mapping[str, NDArray[Any]],
    key: bytes | None = None,
    flush: bool = True,
) -> None:
    """Write a JSON value and arrays to one safetensors file; equal content gives equal bytes.

    Parameters
    ----------
    path : Path
        The file.
    content : JSON value
        It goes to the header.
    arrays : mapping from str to array
        Numbers.
    key : bytes, optional
        The file is signed with this key (HMAC with SHA-256).
    flush : bool, default True
        As in ``atomic_write``.

    Raises
    ------
    ModelFileError
        If the file cannot be written.
    """
    from safetensors.numpy import (
        save as serialize,
    )  # the command line imports NumPy only when needed

    header = {"content": content, "checksum": _checksum(content, arrays)}
    if key is not None:
        header["signature"] = _signature(header["checksum"], key)
    data = serialize(
        dict(arrays), {"lifemix": json.dumps(header)}
    )  # one entry: safetensors does not sort several
    with atomic_write(path, ModelFileError, flush) as partial, open(partial, "wb") as file:
        file.write(data)


def read_arrays(path: Path, key: bytes | None = None) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return the JSON value and the arrays of a file that ``write_arrays`` wrote.

    The file is read into memory, not mapped: later changes of the file do not matter.

    Parameters
    ----------
    path : Path
        The file.
    key : bytes, optional
        If given, the file must be signed with it.

    Returns
    -------
    content : JSON value
        Without further checks: a file can be forged.
    arrays : dict from str to array
        Of any type and shape.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ModelFileError
        If the file is damaged, of another format, or not signed with the key.
    """
    from safetensors.numpy import load as deserialize

    try:
        with open_regular(path) as file:
            start = file.read(9)
            length, size = int.from_bytes(start[:8], "little"), os.fstat(file.fileno()).st_size
            if len(start) < 9 or length > size - 8 or start[8:] != b"{":
                raise ValueError("it does not begin like a safetensors file")
            data = start + file.read()
        arrays = deserialize(data)
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__") or {}
        header = json.loads(metadata.get("lifemix", "null"))
        content = header.get("content") if isinstance(header, dict) else None
        checksum = _checksum(content, arrays)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(f"{error}") from None
    except Exception as error:  # safetensors raises many types
        raise ModelFileError(f"{path} is not a complete file of lifemix: {error}.") from None
    if isinstance(header, int):
        raise ModelFileError(
            f"{path} has format {header}, which this version of lifemix cannot read."
        )
    if content is None:
        raise ModelFileError(f"{path} is a safetensors file, but not of lifemix.")
    if header.get("checksum") != checksum:
        raise ModelFileError(f"{path} is damaged: its checksum does not match.")
    if key is not None:
        _check_signature(path, header.get("signature"), _signature(checksum, key))
    return content, arrays


def _checksum(content: Any, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the SHA-256 of a JSON value, and of names, types, shapes and numbers of arrays."""
    digest = hashlib.sha256(json.dumps(content).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"\n{json.dumps(name)} {array.dtype} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _signature(checksum: str, key: bytes) -> str:
    return hmac.new(key, f"lifemix model {checksum}".encode(), "sha256").hexdigest()


def _check_signature(path: Path, signature: Any, expected: str) -> None:
    if signature is None:
        raise ModelFileError(f"{path} is not signed; expected a file that was saved with this key.")
    if not hmac.compare_digest(str(signature).encode(errors="replace"), expected.encode()):
        raise ModelFileError(f"{path} was signed with another key, or altered since.")


@contextlib.contextmanager
def own_folder(folder: Path, purpose: str) -> Iterator[None]:
    """Keep other processes (and threads) from using a folder for the same purpose; they are refused.

    The lock is a file that goes with the process, however that ends. A folder that cannot hold one (of a file system
    without locks, or read-only) is used without.

    Parameters
    ----------
    folder : Path
        The folder; it is made where there is none.
    purpose : str
        What the folder is used for, a word; uses for other purposes do not disturb each other.

    Raises
    ------
    FolderInUseError
        If another process uses it.
    """
    path = folder / f".lifemix-{purpose}.lock"
    descriptor = _take(path, purpose)
    try:
        yield
    finally:
        if descriptor is not None:
            with contextlib.suppress(OSError):
                path.unlink()
            os.close(descriptor)


def _take(path: Path, purpose: str) -> int | None:
    """Return the descriptor of a lock file that is ours; None where the folder cannot have one."""
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NONBLOCK, 0o666)
        except OSError:
            return None
        if _lock(descriptor) is False:
            owner = os.read(descriptor, 20).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise FolderInUseError(
                f"the folder {path.parent} is in use by another process{f' ({owner})' if owner else ''}, for the same "
                f"purpose: {purpose}. Wait until it has ended, or give another folder."
            )
        try:
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                os.truncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()}\n".encode())
                return descriptor
        except FileNotFoundError:  # the one before us removed it between our opening and locking it
            pass
        except OSError:  # no space for our number: the lock holds all the same
            return descriptor
        os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Take the lock of an open file; False where another has it, None where the system has no such locks."""
    try:
        locks = import_module("fcntl")
        locks.flock(descriptor, locks.LOCK_EX | locks.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return None
    return True
