"""The file itself: safetensors with a JSON header, and a checksum over all of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ..errors import ModelFileError
from ..files import atomic_write

__all__ = ["FORMAT_VERSION", "Arrays", "checksum", "read_file", "write_file"]

FORMAT_VERSION = 2

Arrays = Mapping[str, NDArray[Any]]


def write_file(path: Path, content: Any, arrays: Arrays) -> None:
    """Write JSON content and arrays; a kill while writing leaves no half file under that name."""
    version, text = str(FORMAT_VERSION), json.dumps(content, allow_nan=False)
    header = {"lifemix": version, "content": text, "checksum": checksum(version, text, arrays)}
    with atomic_write(path, ModelFileError) as partial:
        partial.write_bytes(_serialize(arrays, header))  # not save_file: only their owner can read the files it makes


def _serialize(arrays: Arrays, header: dict[str, str]) -> bytes:
    """Return the bytes of a safetensors file; its table is sorted, so that the same model gives the same bytes."""
    data = save(dict(arrays), header)
    end = 8 + int.from_bytes(data[:8], "little")
    table = json.dumps(json.loads(data[8:end]), sort_keys=True, separators=(",", ":")).encode()
    table += b" " * (-len(table) % 8)
    return len(table).to_bytes(8, "little") + table + data[end:]


def read_file(path: Path) -> tuple[int, Any, Arrays]:
    """Return version, content and arrays; refuse what is not a whole and unaltered file of a version that we know."""
    try:
        with safe_open(path, framework="np") as file:
            header: dict[str, str] = file.metadata() or {}
            arrays = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise ModelFileError(f"there is no file {path}. Check the path.") from None
    except (SafetensorError, OSError, UnicodeDecodeError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{path} is no model file, or part of one: {error}. Save the model again.") from None
    version, content = header.get("lifemix"), header.get("content")
    if version is None or content is None:
        raise ModelFileError(f"{path} is a safetensors file, but not of lifemix. Expected what lifemix.save wrote.")
    if version.isdecimal() and int(version) > FORMAT_VERSION:
        raise ModelFileError(f"{path} has format {version}; this version reads up to {FORMAT_VERSION}. Update lifemix.")
    if header.get("checksum") != checksum(version, content, arrays) or version not in ("1", "2"):
        raise ModelFileError(f"{path} was altered or damaged: its checksum does not fit. Save the model again.")
    try:
        return int(version), json.loads(content), arrays
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} does not hold JSON: {error}. Save the model again.") from None


def checksum(version: str, content: str, arrays: Arrays) -> str:
    """Return the SHA-256 of version, content, and names, types, shapes and numbers of the arrays."""
    digest = hashlib.sha256(f"{version}\n{content}\n".encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} torch.{array.dtype} {array.shape}\n".encode())  # version 1 had tensors' names of types
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
