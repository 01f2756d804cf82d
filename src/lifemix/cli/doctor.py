"""``lifemix doctor``: what may be wrong with a table, and with a model on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .console import Console
from .options import Data, NetworkOptions, TableOptions

if TYPE_CHECKING:
    from ..report.doctor import Finding

__all__ = ["doctor", "show_findings"]

_SEVERITIES = ("stop", "warn", "note")
_OPTIONS = {"n_members": "--members", "max_epochs": "--epochs"}  # others have the setting's name


def doctor(
    console: Console,
    data: Data,
    table: TableOptions,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A model file: check the model on these rows too, with its columns.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Check a table, and a model on it: few events, leaks, identifiers, missing values, miscalibration.

    A finding is a stop (results would mean nothing), a warning or a note; each says what to do.

    [bold]lifemix doctor patients.csv --time days --event died[/]
    """
    from ..report import check_model, check_table
    from .model_file import open_outcomes
    from .training_table import open_training_table

    if model is None:
        findings = open_training_table(console, data, table).findings
    else:
        saved, X, y = open_outcomes(console, model, data, table)
        findings = check_table(X, y, event_names=saved.event_names, held_out=True)
        findings += check_model(saved.model, X, y, event_names=saved.event_names)
    show_findings(console, findings, "Findings")
    if not findings:
        console.show("\nThe checks found nothing that needs attention.")
    console.result(findings)


def show_findings(console: Console, findings: Sequence[Finding], title: str) -> None:
    """Show findings, the most severe first."""
    if not findings:
        return
    console.show(f"\n{title}", style="bold")
    rows = []
    for finding in sorted(findings, key=lambda finding: _SEVERITIES.index(finding.severity)):
        options = [
            _OPTIONS.get(name, f"--{name.replace('_', '-')}")
            for name in finding.settings
            if hasattr(NetworkOptions, name)
        ]
        hint = f" (lifemix fit {', '.join(options)})" if options else ""
        rows.append((finding.severity, f"{finding.text} {finding.remedy}{hint}"))
    console.show_table(("", ""), rows)
