"""Finished scores of a search, one JSON record per line, so that an interrupted search resumes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import joblib

__all__ = ["ScoreStore"]

_NOT_PART_OF_A_MODEL = ("verbose", "callbacks", "checkpoint", "device")  # of a candidate on a fold


class ScoreStore:
    """Scores by model and fold; scores of other data, folds or settings are never reused."""

    def __init__(self, folder: str | os.PathLike[str] | None, data: Any) -> None:
        self.path = None if folder is None else Path(folder) / "scores.jsonl"
        self.known: dict[str, dict[str, float]] = {}
        if self.path is None:
            return
        self.data = joblib.hash(data)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            records = map(_parsed, self.path.read_text(encoding="utf-8").splitlines())
            self.known = {record["key"]: record["result"] for record in records if record is not None}

    def _key(self, model: Any, fold: int) -> str:
        options = {name: v for name, v in model.get_params().items() if name not in _NOT_PART_OF_A_MODEL}
        return str(joblib.hash((self.data, options, fold)))

    def get(self, model: Any, fold: int) -> dict[str, float] | None:
        """Return the stored result of a model on a fold, or None."""
        return None if self.path is None else self.known.get(self._key(model, fold))

    def put(self, model: Any, candidate: Mapping[str, Any], fold: int, result: dict[str, float]) -> None:
        """Append a score to the file at once; the candidate is written for human readers."""
        if self.path is None:
            return
        shown = {name: str(value) for name, value in candidate.items()}
        record = {"key": self._key(model, fold), "candidate": shown, "fold": fold, "result": result}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def _parsed(line: str) -> dict[str, Any] | None:
    """Read one record; None for an incomplete line, such as the last one of an interrupted run."""
    try:
        record: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError:
        return None
    return record if {"key", "result"} <= record.keys() else None
