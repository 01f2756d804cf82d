"""What one model with one setting scored on one fold, as a line of text, and the files of these lines."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lifemix.checks import warn_user

from .line_files import LineFile

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
    made: commit, processor, number of cores and versions; empty in records of earlier versions.
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
    made: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """What the record is about; two records with one key are equal but for the seconds and where they were made."""
        return key_of(
            self.data, self.model, self.setting, self.censoring, self.fold, self.seed, self.run
        )

    def to_json(self) -> dict[str, Any]:
        """Return the record in JSON's types, empty fields left out."""
        values = {
            name: value for name, value in asdict(self).items() if value not in (None, {}, "")
        }
        found: dict[str, Any] = plain(values)
        return found

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Record:
        """Read what ``to_json`` gave; a ``ValueError`` or ``TypeError`` where it cannot be one."""
        values = dict(values)
        for part in ("test", "inner", "calibration"):
            if part in values:
                values[part] = _with_nan(values[part])
        record = cls(**({"setting": {}, "test": {}} | values))
        for name, kind in _KINDS.items():
            value = getattr(record, name)
            if not isinstance(value, kind) or isinstance(value, bool):
                raise ValueError(f"{name} is {value!r:.60}")
        hash(record.key)
        return record


_KINDS: Mapping[str, Any] = {
    **dict.fromkeys(("data", "model", "run", "version"), str),
    **dict.fromkeys(("setting", "test", "inner", "made"), dict),
    **dict.fromkeys(("censoring", "seconds"), (int, float)),
    **dict.fromkeys(("fold", "seed"), int),
    "parameters": (int, type(None)),
}


class RecordStore:
    """Records in a folder, ``records-<model>.jsonl``; a run that was killed at any point continues from them.

    Lines are appended, each with a checksum. A last line that was cut off by a kill, and lines that were damaged, do
    not count: their jobs are done anew, and with the first new record the lines go. Of damage there is a warning.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.known: dict[Key, Record] = {}
        self._files: dict[str, LineFile[Record]] = {}
        for path in sorted(self.folder.glob("records-*.jsonl")):
            file = self._file(path.name)
            for record in file.records:
                self.known.setdefault(record.key, record)
            if file.n_damaged:
                warn_user(
                    f"{file.n_damaged} lines of {path} are damaged; what they held is computed anew."
                )

    def _file(self, name: str) -> LineFile[Record]:
        if name not in self._files:
            self._files[name] = LineFile(self.folder / name, Record.from_json, older=True)
        return self._files[name]

    def __contains__(self, key: Key) -> bool:
        return key in self.known

    def __len__(self) -> int:
        return len(self.known)

    def records(self) -> list[Record]:
        """Return all records, sorted by their keys."""
        return [self.known[key] for key in sorted(self.known)]

    def add(self, records: Iterable[Record]) -> None:
        """Append the records that are new, and flush them to disk before returning."""
        new: dict[str, list[Record]] = {}
        for record in records:
            if record.key not in self.known:
                self.known[record.key] = record
                new.setdefault(record.model, []).append(record)
        for model, own in new.items():
            self._file(f"records-{model}.jsonl").append(record.to_json() for record in own)


def key_of(
    data: str, model: str, setting: Setting, censoring: float, fold: int, seed: int, run: str
) -> Key:
    """Return what tells a record from all others."""
    return (
        data,
        model,
        json.dumps(plain(setting), sort_keys=True),
        float(censoring),
        fold,
        seed,
        run,
    )


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
        return (
            None
            if not math.isfinite(value)
            else value
            if digits is None
            else rounded(value, digits)
        )
    return value


def _with_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_nan(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_nan(item) for item in value]
    return math.nan if value is None else value
