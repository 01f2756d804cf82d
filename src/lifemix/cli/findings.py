"""The findings of the doctor on the screen, and what they refuse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.markup import escape

from ..errors import InputError
from ..report import check_table
from ..report.doctor import Finding
from ..report.doctor.finding import most_severe_first
from ..report.doctor.table import identifier_finding
from .output import Screen
from .training_table import TrainingTable

__all__ = ["finding_states", "refuse_stops", "show_findings", "training_findings"]

_MARKS = {"stop": "[bold red]stop[/]", "warn": "[yellow]warn[/]", "note": "[blue]note[/]"}


def finding_states(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return findings in JSON's types."""
    names = ("code", "severity", "text", "remedy")
    return [{name: str(getattr(each, name)) for name in names} for each in findings]


def training_findings(training: TrainingTable) -> list[Finding]:
    """Return the findings about a table to learn from; columns left out that tell of repeated subjects are among them.

    Without ``--id`` such a column says that rows of one subject are about to be separated.
    """
    about = check_table(training.X, training.y, event_names=training.codes.names)
    subjects = [identifier_finding(column) for column in training.repeated_subjects.data]
    return most_severe_first([*(finding for finding in subjects if finding is not None), *about])


def show_findings(
    screen: Screen, findings: Sequence[Finding], title: str, *, result: bool = False
) -> None:
    """Show findings, one row each; where there are none, nothing. A result is shown with ``--quiet`` too."""
    if not findings:
        return
    table = screen.table("", "")
    table.show_header = False
    for finding in findings:
        table.add_row(
            _MARKS[finding.severity], f"{escape(finding.text)} [dim]{escape(finding.remedy)}[/]"
        )
    show = screen.show if result else screen.say
    show(f"\n[bold]{escape(title)}[/]")
    show(table)


def refuse_stops(findings: Iterable[Finding]) -> None:
    """Raise an error where a finding says that a fit would mean nothing."""
    stops = [f"{one.text} {one.remedy}" for one in findings if one.severity == "stop"]
    if stops:
        raise InputError(
            f"the table should not be fitted as it is: {' '.join(stops)} To fit all the same, add --force."
        )
