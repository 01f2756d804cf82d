"""The file itself: safetensors with a JSON header, a checksum over all of it, and a signature where a key is given."""

from __future__ import annotations

import hmac
import json
from pathlib import Path
from typing import Any

from ..errors import ModelFileError, SettingError
from ..tensor_files import Arrays, checksum, read_tensor_file, write_tensor_file

__all__ = ["FORMAT_VERSION", "Arrays", "check_key", "read_file", "write_file"]

FORMAT_VERSION = 3
_READABLE = ("1", "2", "3")
_PARTS = {"lifemix", "content", "checksum", "signature"}
_LEAST_KEY = 16  # bytes: shorter ones can be tried out


def check_key(key: bytes | str | None) -> bytes | None:
    """Return a key as bytes, long enough not to be guessed; None for none."""
    if key is None:
        return None
    if not isinstance(key, (bytes, str)):
        raise SettingError(f"key must be bytes, a text or None; got {type(key).__name__}.")
    secret = key.encode() if isinstance(key, str) else bytes(key)
    if len(secret) < _LEAST_KEY:
        raise SettingError(
            f"key must have at least {_LEAST_KEY} bytes; got {len(secret)}. Make one with secrets.token_hex(32)."
        )
    return secret


def write_file(path: Path, content: Any, arrays: Arrays, key: bytes | None = None) -> None:
    """Write JSON content and arrays; a kill while writing leaves no half file under that name."""
    version, text = str(FORMAT_VERSION), json.dumps(content, allow_nan=False)
    digest = checksum(version, text, arrays=arrays)
    header = {"lifemix": version, "content": text, "checksum": digest}
    if key is not None:
        header["signature"] = _signature(digest, key)
    write_tensor_file(path, header, arrays)


def read_file(path: Path, key: bytes | None = None) -> tuple[int, Any, Arrays]:
    """Return version, content and arrays; refuse what is not a whole and unaltered file of a version that we know."""
    try:
        header, arrays = read_tensor_file(path)
    except FileNotFoundError:
        raise ModelFileError(f"there is no file {path}. Check the path.") from None
    except ModelFileError as error:
        raise ModelFileError(f"{path} is no model file, or part of one: {error}. Save the model again.") from None
    version, content = header.get("lifemix"), header.get("content")
    if version is None or content is None:
        raise ModelFileError(f"{path} is a safetensors file, but not of lifemix. Expected what lifemix.save wrote.")
    if version.isdecimal() and len(version) < 6 and int(version) > FORMAT_VERSION:
        raise ModelFileError(f"{path} has format {version}; this version reads up to {FORMAT_VERSION}. Update lifemix.")
    digest = checksum(version, content, arrays=arrays)
    if header.get("checksum") != digest or version not in _READABLE or not set(header) <= _PARTS:
        raise ModelFileError(f"{path} was altered or damaged: its checksum does not fit. Save the model again.")
    if key is not None:
        _check_signature(path, header.get("signature"), digest, key)
    try:
        return int(version), json.loads(content), arrays
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} does not hold JSON: {error}. Save the model again.") from None


def _signature(digest: str, key: bytes) -> str:
    """Return the HMAC (SHA-256) of a checksum."""
    return hmac.new(key, f"lifemix model {digest}".encode(), "sha256").hexdigest()


def _check_signature(path: Path, found: str | None, digest: str, key: bytes) -> None:
    if found is None:
        raise ModelFileError(
            f"{path} is not signed; expected a file that was saved with this key. Save it with key=, or load it "
            "without where you trust its source."
        )
    if not hmac.compare_digest(found.encode(), _signature(digest, key).encode()):
        raise ModelFileError(f"{path} was signed with another key, or altered since. Get it from its source again.")
