"""Files of arrays and texts, with a checksum: safetensors, read into memory whole, and checked before they are used."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as deserialize
from safetensors.numpy import save as serialize

from .errors import ModelFileError
from .files import atomic_write, open_regular

__all__ = ["Arrays", "checksum", "read_tensor_file", "write_tensor_file"]

Arrays = Mapping[str, NDArray[Any]]

_NO_ARRAYS = (SafetensorError, OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError)


def write_tensor_file(path: Path, header: Mapping[str, str], arrays: Arrays, flush: bool = True) -> None:
    """Write texts and arrays; a kill while writing leaves no half file under that name.

    The table of the arrays is sorted, so that the same content gives the same bytes.
    """
    data = serialize(dict(arrays), dict(header))
    end = 8 + int.from_bytes(data[:8], "little")
    table = json.dumps(json.loads(data[8:end]), sort_keys=True, separators=(",", ":")).encode()
    table += b" " * (-len(table) % 8)
    with atomic_write(path, ModelFileError, flush) as partial, open(partial, "wb") as file:
        file.write(len(table).to_bytes(8, "little") + table)
        file.write(memoryview(data)[end:])


def read_tensor_file(path: Path) -> tuple[dict[str, str], Arrays]:
    """Return texts and arrays, which do not depend on the file any more.

    The file is never mapped into memory: what happens to it later changes nothing. A ``ModelFileError`` without the
    path says what is wrong with it; ``FileNotFoundError`` where it is not there.
    """
    try:
        data = _read(path)
        arrays = deserialize(data)
        end = 8 + int.from_bytes(data[:8], "little")
        header: dict[str, str] = json.loads(data[8:end]).get("__metadata__") or {}
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileNotFoundError(f"{error}") from None
    except _NO_ARRAYS as error:
        raise ModelFileError(f"{error}") from None
    return header, arrays


def _read(path: Path) -> bytes:
    """Return the bytes of a file, once its first eight tell that it may be one of ours."""
    with open_regular(path) as file:
        start: bytes = file.read(9)
        length, size = int.from_bytes(start[:8], "little"), os.fstat(file.fileno()).st_size
        if len(start) < 9 or length > size - 8 or start[8:] != b"{":
            raise ValueError("it does not begin like a safetensors file")
        rest: bytes = file.read()
        return start + rest


def checksum(*texts: str, arrays: Arrays) -> str:
    """Return the SHA-256 of some texts, and of names, types, shapes and numbers of the arrays."""
    digest = hashlib.sha256("".join(f"{text}\n" for text in texts).encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} torch.{array.dtype} {array.shape}\n".encode())  # version 1 had tensors' names of types
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
