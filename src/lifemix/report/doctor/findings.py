"""One finding of the doctor, and the words that all findings share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["LEVELS", "Finding", "Level", "counted", "in_order", "listed", "percent"]

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


def listed(names: Sequence[object], most: int = 5) -> str:
    """Return names as a sentence has them: ``a, b and c``, or ``a, b and 7 more``."""
    shown = [str(name) for name in names[:most]]
    if len(names) > most:
        shown = [*shown[: most - 1], f"{len(names) - most + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def percent(share: float) -> str:
    """Return a share as a percentage, with a digit after the point where it is small or near the whole."""
    if 0 < share < 0.001:
        return "less than 0.1 %"
    if 0 < share < 0.0995 or 0.995 <= share < 1:
        return f"{100 * share:.1f} %"
    return f"{100 * share:.0f} %"


def counted(number: int, word: str) -> str:
    """Return ``1 row``, ``2,000 rows``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"
