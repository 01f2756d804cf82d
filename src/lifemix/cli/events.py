"""The event column: numbers, booleans or words become 0 (censored) and 1..M (kinds of event)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import TargetError

__all__ = ["EventCodes", "label_text"]

_MOST_KINDS = 20
_CENSORED_WORDS = {
    "0",
    "alive",
    "cens",
    "censor",
    "censored",
    "censoring",
    "event-free",
    "false",
    "living",
    "lost to follow-up",
    "no",
    "no event",
    "none",
    "right-censored",
    "survived",
}
_YES = {"true", "yes", "event"}


@dataclass(frozen=True)
class EventCodes:
    """Which labels of the event column mean censored, and which kind of event each other label is: 1, 2, ..."""

    censored: tuple[str, ...]
    kinds: tuple[str, ...]

    @classmethod
    def learn(cls, values: pd.Series[Any], column: str, censored: Sequence[str]) -> EventCodes:
        """Read the labels of a column; refuse to guess where they do not speak for themselves."""
        labels = _sorted_labels(values)
        if len(labels) > _MOST_KINDS:
            raise TargetError(
                f"the event column {column!r} has {len(labels)} different values, such as {_some(labels)}; expected 0 "
                "for censored and one value for each kind of event. Is --event the right column?"
            )
        told = _told(labels, column, censored) if censored else _guess(labels, column)
        return cls(tuple(told), tuple(label for label in labels if label not in told))

    def encode(self, values: pd.Series[Any], column: str) -> NDArray[np.int64]:
        """Return one code a row."""
        code = dict.fromkeys(self.censored, 0) | {label: number for number, label in enumerate(self.kinds, 1)}
        texts = values.map(label_text)
        unknown = sorted(set(texts) - set(code))
        if unknown:
            raise TargetError(
                f"the event column {column!r} has values that were not there in training: {_some(unknown)}; known are "
                f"{_some(self.censored)} (censored) and {_some(self.kinds)}. Correct them, or leave these rows out."
            )
        return np.asarray(texts.map(code), dtype=np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        """What to call each kind of event."""
        if len(self.kinds) == 1 and (self.kinds[0].isdecimal() or self.kinds[0].lower() in _YES):
            return ("event",)
        return tuple(f"event {kind}" if kind.isdecimal() else kind for kind in self.kinds)


def label_text(value: Any) -> str:
    """Return a value as a user would write it: 1 for 1.0."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _sorted_labels(values: pd.Series[Any]) -> list[str]:
    labels = {label_text(value) for value in values.unique()}
    try:
        return sorted(labels, key=float)
    except ValueError:
        return sorted(labels)


def _told(labels: list[str], column: str, censored: Sequence[str]) -> list[str]:
    found = [label for label in labels if label in censored]
    absent = [label for label in censored if label not in labels]
    if absent:
        raise TargetError(f"the event column {column!r} has no value {_some(absent)}; it has {_some(labels)}.")
    return found


def _guess(labels: list[str], column: str) -> list[str]:
    found = [label for label in labels if _word(label) in _CENSORED_WORDS]
    if len(found) == 1:
        return found
    if labels == ["1"] or labels == ["True"]:
        return []  # no row is censored
    if all(label.lstrip("-").replace(".", "", 1).isdecimal() for label in labels):
        raise TargetError(
            f"the event column {column!r} has the values {_some(labels)}; expected 0 for censored and 1, 2, ... for "
            f"kinds of event. Say which value means censored, for example --censored {labels[0]}"
        )
    several = f"several may mean censored: {_some(found)}" if found else "none that surely means censored"
    example = (found or labels)[0]
    raise TargetError(
        f"the event column {column!r} has the values {_some(labels)}, {several}. Say which, for example "
        f"--censored '{example}' (may be given more than once); every other value is a kind of event."
    )


def _word(label: str) -> str:
    """Return a label in small letters, without a code in front as in '0:LIVING'."""
    return label.rsplit(":", 1)[-1].strip().lower().replace("_", "-")


def _some(labels: Sequence[str]) -> str:
    shown = ", ".join(repr(label) for label in labels[:5])
    return shown + (", ..." if len(labels) > 5 else "")
