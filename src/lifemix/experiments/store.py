"""The records of an experiment: text files to which lines are only ever added, one file a model."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from .records import Key, Record

__all__ = ["RecordStore"]


class RecordStore:
    """Records in a folder, ``records-<model>.jsonl``; a run that was killed at any point goes on from them.

    A last line that was cut off by a kill is removed when the store is next opened.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.known: dict[Key, Record] = {}
        for path in sorted(self.folder.glob("records-*.jsonl")):
            for record in _read(path):
                self.known.setdefault(record.key, record)

    def __contains__(self, key: Key) -> bool:
        return key in self.known

    def __len__(self) -> int:
        return len(self.known)

    def records(self) -> list[Record]:
        """Return all records, in an order that does not depend on the order in which they came."""
        return [self.known[key] for key in sorted(self.known)]

    def add(self, records: Iterable[Record]) -> None:
        """Write the records that are new, and have them on the disk before returning."""
        lines: dict[str, list[str]] = {}
        for record in records:
            if record.key not in self.known:
                self.known[record.key] = record
                lines.setdefault(record.model, []).append(record.to_line())
        self.folder.mkdir(parents=True, exist_ok=True)
        for model, new in lines.items():
            with (self.folder / f"records-{model}.jsonl").open("a", encoding="utf-8") as file:
                file.write("".join(new))
                file.flush()
                os.fsync(file.fileno())


def _read(path: Path) -> list[Record]:
    """Read whole lines; what a kill has left of the last one is cut off."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
    return [Record.from_line(line) for line in content[:whole].decode("utf-8").splitlines() if line.strip()]
