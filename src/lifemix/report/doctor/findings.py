"""One finding of the doctor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

__all__ = ["LEVELS", "Finding", "Level", "in_order"]

Level = Literal["stop", "warn", "note"]
LEVELS: tuple[Level, ...] = ("stop", "warn", "note")


@dataclass(frozen=True)
class Finding:
    """What the doctor saw and what to do.

    level: ``stop`` (a fit or its results would mean nothing), ``warn`` (look before you trust it) or ``note``.
    topic: one or two words, the same for all findings of a kind.
    text: what was seen and what it means. action: what to do about it.
    """

    level: Level
    topic: str
    text: str
    action: str

    def __str__(self) -> str:
        return f"{self.level} ({self.topic}): {self.text} {self.action}"


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with the gravest first, otherwise in the order given."""
    return sorted(findings, key=lambda finding: LEVELS.index(finding.level))
