"""What one model with one setting scored on one fold, as a line of text, and the files of these lines."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Key", "Record", "RecordStore", "Setting", "key_of", "plain", "rounded"]

Setting = Mapping[str, Any]
Key = tuple[str, str, str, float, int, int, str]


@dataclass(frozen=True)
class Record:
    """One model with one setting on one fold.

    test: by measure, for every event type its values at the horizons: ``ctd``, ``brier``, ``brier_original``; and
    ``log_likelihood``, the mean per row; NaN where it is undefined or training diverged. On transfer ``concordance``;
    empty where only time was measured.
    inner: the same on the inner validation part; empty where no setting is chosen.
    calibration: for every event type and horizon the predicted and the observed risk of groups of subjects.
    seconds: processor time of training on one thread; of models trained together the share of one.
    run: ``"full"`` or ``"quick"``.
    """

    data: str
    model: str
    setting: Setting
    censoring: float
    fold: int
    seed: int
    run: str
    test: Mapping[str, Any]
    inner: Mapping[str, Any] = field(default_factory=dict)
    calibration: Any = None
    seconds: float = 0.0
    parameters: int | None = None
    version: str = ""

    @property
    def key(self) -> Key:
        """What the record is about; two records with one key are equal but for the seconds."""
        return key_of(self.data, self.model, self.setting, self.censoring, self.fold, self.seed, self.run)

    def to_line(self) -> str:
        """Return the record as one line of JSON, empty fields left out."""
        values = {name: value for name, value in asdict(self).items() if value not in (None, {}, "")}
        return json.dumps(plain(values), separators=(",", ":"), allow_nan=False) + "\n"

    @classmethod
    def from_line(cls, line: str) -> Record:
        """Read what ``to_line`` has written."""
        values = json.loads(line)
        for part in ("test", "inner", "calibration"):
            if part in values:
                values[part] = _with_nan(values[part])
        return cls(**({"setting": {}, "test": {}} | values))


class RecordStore:
    """Records in a folder, ``records-<model>.jsonl``; a run that was killed at any point continues from them.

    Lines are only ever appended. A last line that was cut off by a kill is removed when the store is next opened.
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
        """Return all records, sorted by their keys."""
        return [self.known[key] for key in sorted(self.known)]

    def add(self, records: Iterable[Record]) -> None:
        """Append the records that are new, and flush them to disk before returning."""
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


def key_of(data: str, model: str, setting: Setting, censoring: float, fold: int, seed: int, run: str) -> Key:
    """Return what tells a record from all others."""
    return data, model, json.dumps(plain(setting), sort_keys=True), float(censoring), fold, seed, run


def rounded(value: float, digits: int = 6) -> float:
    """Round to significant digits."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else math.nan


def plain(value: Any, digits: int | None = None) -> Any:
    """Return what JSON can hold: NaN becomes null; with ``digits``, numbers are rounded."""
    if isinstance(value, Mapping):
        return {str(name): plain(item, digits) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, digits) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return None if not math.isfinite(value) else value if digits is None else rounded(value, digits)
    return value


def _with_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_nan(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_nan(item) for item in value]
    return math.nan if value is None else value


def _read(path: Path) -> list[Record]:
    """Read complete lines; what a kill has left of the last one is cut off."""
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    if end < len(content):
        os.truncate(path, end)
    return [Record.from_line(line) for line in content[:end].decode("utf-8").splitlines() if line.strip()]
