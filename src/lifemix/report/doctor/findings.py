"""One finding of the doctor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

__all__ = ["LEVELS", "Finding", "Level", "most_severe_first"]

Level = Literal["stop", "warn", "note"]
LEVELS: tuple[Level, ...] = ("stop", "warn", "note")


@dataclass(frozen=True)
class Finding:
    """What the doctor found and what to do about it.

    Attributes
    ----------
    level : {"stop", "warn", "note"}
        ``stop``: a fit or its results would be meaningless; ``warn``: look into it before you trust the results.
    topic : str
        One to three words, the same for all findings of one sort.
    text : str
        What was found and what it means.
    action : str
        What to do about it.

    Examples
    --------
    >>> from lifemix.report.doctor import Finding
    >>> str(Finding("warn", "few rows", "There are only 12 rows.", "Collect more."))
    'warn (few rows): There are only 12 rows. Collect more.'

    """

    level: Level
    topic: str
    text: str
    action: str

    def __str__(self) -> str:
        return f"{self.level} ({self.topic}): {self.text} {self.action}"


def most_severe_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings by level, otherwise in the order given."""
    return sorted(findings, key=lambda finding: LEVELS.index(finding.level))
