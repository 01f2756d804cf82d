"""The doctor's findings about a table, in the words of a command."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

from ..errors import InputError
from ..report.doctor import check_model, check_table
from .screen import Screen

__all__ = ["examine_model", "examine_table", "refuse_stops", "show_findings"]

_MARKS = {"stop": "[bold red]stop[/]", "warn": "[yellow]look[/]", "note": "[blue]note[/]"}


def examine_table(X: Any, y: Any) -> list[dict[str, str]]:
    """Return what the doctor finds about a table, the gravest first."""
    return [_state(finding) for finding in check_table(X, y)]


def examine_model(model: Any, X: Any, y: Any) -> list[dict[str, str]]:
    """Return what the doctor finds about a fitted model on rows that it has not seen."""
    return [_state(finding) for finding in check_model(model, X, y)]


def _state(finding: Any) -> dict[str, str]:
    return {name: str(getattr(finding, name)) for name in ("level", "topic", "text", "action")}


def show_findings(screen: Screen, findings: list[dict[str, str]], title: str = "Doctor") -> None:
    """Show findings, one line each."""
    if not findings:
        return
    table = screen.table(f"\n{title}", "", "")
    table.show_header = False
    for finding in findings:
        table.add_row(_MARKS[finding["level"]], f"{escape(finding['text'])} [dim]{escape(finding['action'])}[/]")
    screen.say(table)


def refuse_stops(findings: list[dict[str, str]]) -> None:
    """End where the doctor says that a fit would mean nothing."""
    stops = [f"{finding['text']} {finding['action']}" for finding in findings if finding["level"] == "stop"]
    if stops:
        raise InputError(f"the doctor says stop: {' '.join(stops)} To fit all the same, add --force.")
