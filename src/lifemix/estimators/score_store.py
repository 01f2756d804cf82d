"""Finished scores of a search, one JSON record per line, so that an interrupted search resumes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import joblib

from ..errors import InputError
from ..files import own_folder
from ..line_files import LineFile
from ..warning import warn_user

__all__ = ["ScoreStore"]

_NOT_PART_OF_A_MODEL = ("verbose", "callbacks", "checkpoint", "device")  # of a candidate on a fold
_PARTS = ("candidate", "fold", "key", "result")
_RESULT = ("fit_time", "score_time", "test_score")


class ScoreStore:
    """Scores by model and fold; scores of other data, folds or settings are never reused, nor are damaged ones."""

    def __init__(self, folder: str | os.PathLike[str] | None, data: Any) -> None:
        self.known: dict[str, dict[str, float]] = {}
        self._file: LineFile[tuple[str, dict[str, float]]] | None = None
        self._warned = False
        if folder is None:
            return
        self.data = joblib.hash(data)
        self._file = LineFile(Path(folder) / "scores.jsonl", _parsed)
        self.known = dict(self._file.records)
        if self._file.n_damaged:
            warn_user(
                f"{self._file.n_damaged} lines of {self._file.path} are damaged or of an older version; their scores "
                "are computed anew."
            )

    @classmethod
    @contextlib.contextmanager
    def opened(cls, folder: str | os.PathLike[str] | None, data: Any) -> Iterator[ScoreStore]:
        """Yield the store of a folder, which no other search may use until it is closed."""
        if folder is None:
            yield cls(None, data)
            return
        with own_folder(Path(folder), "search"):
            yield cls(folder, data)

    def _key(self, model: Any, fold: int) -> str:
        options = {name: v for name, v in model.get_params().items() if name not in _NOT_PART_OF_A_MODEL}
        return str(joblib.hash((self.data, options, fold)))

    def get(self, model: Any, fold: int) -> dict[str, float] | None:
        """Return the stored result of a model on a fold, or None."""
        return None if self._file is None else self.known.get(self._key(model, fold))

    def put(self, model: Any, candidate: Mapping[str, Any], fold: int, result: dict[str, float]) -> None:
        """Append a score to the file at once; the candidate is written for human readers.

        Where it cannot be written there is one warning, and the search goes on.
        """
        if self._file is None:
            return
        shown = {name: str(value) for name, value in candidate.items()}
        record = {"key": self._key(model, fold), "candidate": shown, "fold": fold, "result": result}
        try:
            self._file.append([record])
        except InputError as error:
            if not self._warned:
                warn_user(f"scores are not kept, the search goes on without: {error}")
            self._warned = True


def _parsed(record: dict[str, Any]) -> tuple[str, dict[str, float]]:
    """Return key and result of a record; ``ValueError`` where it is none."""
    key, result = record["key"], record["result"]
    numbers = isinstance(result, dict) and all(type(value) is float for value in result.values())
    if sorted(record) != list(_PARTS) or not isinstance(key, str) or not numbers or sorted(result) != list(_RESULT):
        raise ValueError("not a score")
    return key, result
