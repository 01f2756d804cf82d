"""Files of JSON records, one per line, each with a checksum: appended, read line by line, damaged ones told apart."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, TypeVar

from lifemix.errors import InputError
from lifemix.files import atomic_write

__all__ = ["LineFile"]

Record = TypeVar("Record")

_SEALED = re.compile(rb'(\{.*),"checksum":"([0-9a-f]{16})"\}', re.DOTALL)
_MALFORMED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class LineFile(Generic[Record]):
    """A file of records, read when it is opened.

    Parameters
    ----------
    path : Path
        The file; it need not be there.
    parse : callable
        Gives the record of a JSON object; any error says that there is none in it.
    older : bool, default False
        Whether a file without any checksum, of an older version, counts where ``parse`` takes its lines. With the next
        write all its lines get one.

    Attributes
    ----------
    records : list
        What was read.
    n_damaged : int
        How many lines are neither whole records nor the last one, which a kill has cut off.
    """

    def __init__(
        self, path: Path, parse: Callable[[dict[str, Any]], Record], older: bool = False
    ) -> None:
        self.path, self._parse, self._older = path, parse, older
        self.records: list[Record] = []
        self.n_damaged = 0
        self._kept: list[bytes] = []
        self._whole = True  # what is on disk is the lines kept and nothing else
        try:
            *lines, rest = path.read_bytes().split(b"\n")
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error}. Give another folder.") from None
        older = self._older and not any(_is_sealed(line) for line in lines)
        for line in filter(bytes.strip, lines):
            self._take(line, older)
        self._whole = not (rest or self.n_damaged or (older and lines))

    def _take(self, line: bytes, older: bool) -> None:
        try:
            content = json.loads(line) if older else _opened(line)
            self.records.append(self._parse(content))
            self._kept.append(_sealed(content) if older else line)
        except _MALFORMED:
            self.n_damaged += 1

    def append(self, records: Iterable[dict[str, Any]]) -> None:
        """Write records behind the others, flushed to disk; an ``InputError`` where that is not possible.

        Where lines are damaged, cut off or without a checksum, the file is written anew, with the whole ones alone.
        """
        new = [_sealed(record) for record in records]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self._whole:
                self._extend(new)
            else:
                with atomic_write(self.path) as partial:
                    partial.write_bytes(_joined([*self._kept, *new]))
        except (OSError, InputError) as error:
            self._whole = False
            reason = error if isinstance(error, OSError) else error.__cause__
            raise InputError(
                f"{self.path} cannot be written: {reason}. Check the folder and the space on disk; what is in the file "
                "stays, and the next run goes on from there."
            ) from error
        self._kept += new
        self._whole = True

    def _extend(self, lines: list[bytes]) -> None:
        with open(self.path, "ab") as file:
            size = file.tell()
            try:
                file.write(_joined(lines))
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                os.truncate(self.path, size)
                raise


def _joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _sealed(record: dict[str, Any]) -> bytes:
    """Return a record as a line of JSON that ends with its checksum."""
    text = json.dumps(record, separators=(",", ":")).encode()[:-1]
    return text + f',"checksum":"{_checksum(text)}"}}'.encode()


def _is_sealed(line: bytes) -> bool:
    """Tell whether a line ends with its checksum."""
    found = _SEALED.fullmatch(line)
    return found is not None and _checksum(found[1]) == found[2].decode()


def _opened(line: bytes) -> dict[str, Any]:
    """Return the record of a line; ``ValueError`` where it is not what was written."""
    if not _is_sealed(line):
        raise ValueError("not the line that was written")
    record: dict[str, Any] = json.loads(line)
    record.pop("checksum")
    return record


def _checksum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]
