"""One finding of the doctor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

__all__ = ["SEVERITIES", "Finding", "Severity", "most_severe_first"]

Severity = Literal["stop", "warn", "note"]
SEVERITIES: tuple[Severity, ...] = ("stop", "warn", "note")


@dataclass(frozen=True)
class Finding:
    """A problem in a table or a model, and what to do about it.

    Attributes
    ----------
    code : str
        The name of the kind of finding, such as ``"few-events"``.
    severity : {"stop", "warn", "note"}
        ``stop``: a fit or its results would be meaningless; ``warn``: look into it before you
        trust the results.
    text : str
        The problem and its consequence.
    remedy : str
        What to do about it.
    settings : tuple of str, default ()
        The options of ``DeepSurvivalMachines`` that the remedy mentions.

    Examples
    --------
    >>> from lifemix.report.doctor import Finding
    >>> str(Finding("few-rows", "warn", "There are only 12 rows.", "Collect more."))
    'warn (few-rows): There are only 12 rows. Collect more.'

    """

    code: str
    severity: Severity
    text: str
    remedy: str
    settings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.severity} ({self.code}): {self.text} {self.remedy}"


def most_severe_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings by severity; the order within a severity is kept."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))
