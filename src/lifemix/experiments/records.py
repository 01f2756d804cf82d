"""What one model with one setting scored on one fold, as a line of text."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Key", "Record", "key_of", "rounded"]

Key = tuple[str, str, str, float, int, int, str]
Scores = Mapping[str, Any]


@dataclass(frozen=True)
class Record:
    """One model with one setting on one fold.

    test: by measure, for each kind of event its values at the horizons: ``ctd``, ``brier``, ``brier_original``; and
    ``log_likelihood``, the mean a row; NaN where the data do not tell or the model diverged. On transfer
    ``concordance``, and empty where only time was measured.
    inner: ``ctd`` and ``log_likelihood`` on the validation part of the training rows; empty where nothing is chosen.
    calibration: for each kind of event and horizon the predicted and the observed risk of groups of subjects.
    seconds: of the processor, for training, one thread; of a fleet the share of one model.
    run: ``"full"`` or ``"quick"``.
    """

    data: str
    model: str
    setting: Mapping[str, Any]
    censoring: float
    fold: int
    seed: int
    run: str
    test: Scores
    inner: Scores = field(default_factory=dict)
    calibration: Any = None
    seconds: float = 0.0
    parameters: int | None = None
    version: str = ""

    @property
    def key(self) -> Key:
        """What the record is about; two records with one key say the same, but for the seconds."""
        return key_of(self.data, self.model, self.setting, self.censoring, self.fold, self.seed, self.run)

    def to_line(self) -> str:
        """Return the record as one line of JSON, without what it does not have."""
        values = {name: value for name, value in asdict(self).items() if value not in (None, {}, "")}
        return json.dumps(_plain(values), separators=(",", ":"), allow_nan=False) + "\n"

    @classmethod
    def from_line(cls, line: str) -> Record:
        """Read what ``to_line`` has written."""
        values = json.loads(line)
        for part in ("test", "inner", "calibration"):
            if part in values:
                values[part] = _with_nan(values[part])
        values = {"setting": {}, "test": {}} | values
        return cls(**values)


def key_of(data: str, model: str, setting: Mapping[str, Any], censoring: float, fold: int, seed: int, run: str) -> Key:
    """Return what tells a record from all others."""
    return data, model, json.dumps(_plain(dict(setting)), sort_keys=True), float(censoring), fold, seed, run


def rounded(value: float, digits: int = 6) -> float:
    """Round to significant digits."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else math.nan


def _plain(value: Any) -> Any:
    """Return JSON's types; NaN becomes null."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.item() if hasattr(value, "item") else value


def _with_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_nan(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_nan(item) for item in value]
    return math.nan if value is None else value
