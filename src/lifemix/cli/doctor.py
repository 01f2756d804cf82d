"""``lifemix doctor``: what may be wrong with a table, and with a model on it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Data
from .output import Screen
from .paths import check_model_path, check_table_path
from .table_options import AllOptions, TableOptions

if TYPE_CHECKING:
    from ..report.doctor import Finding

__all__ = ["doctor"]


def doctor(
    screen: Screen,
    data: Data,
    table: AllOptions,
    model: Annotated[
        Path | None,
        typer.Option(help="A model file: check the model on these rows too, with its columns."),
    ] = None,
) -> None:
    """Check a table, and a model on it: few events, leaks, identifiers, missing values, miscalibration.

    A finding is a stop (results would mean nothing), a warning or a note; each says what to do.

    [bold]lifemix doctor patients.csv --time days --event died[/]
    """
    check_table_path(data)
    if model is not None:
        check_model_path(model)
    findings = (
        _check_table(screen, data, table)
        if model is None
        else _check_model(screen, model, data, table)
    )
    from .findings import finding_states, show_findings

    show_findings(screen, findings, "Findings", result=True)
    if not findings:
        screen.show("\nNothing was found that needs attention.")
    screen.result(finding_states(findings))


def _check_table(screen: Screen, data: Path, table: TableOptions) -> list[Finding]:
    """Return the findings about a table to learn from; columns that a fit would refuse are among them."""
    from ..report.doctor import Finding
    from .covariates import drop_option
    from .findings import training_findings
    from .training_table import open_training_table

    training = open_training_table(screen, data, table, check=False)
    unusable = [
        Finding(
            "unusable-column",
            "stop",
            f"{fact.problem[0].upper()}{fact.problem[1:]}.",
            f"Or: {drop_option(fact.name)}.",
        )
        for fact in training.facts
        if fact.problem
    ]
    return unusable + training_findings(training)


def _check_model(screen: Screen, model: Path, data: Path, table: TableOptions) -> list[Finding]:
    """Return the findings about a table with the columns of a model, and about the model on it."""
    from ..report import check_model, check_table
    from ..report.doctor.finding import most_severe_first
    from .model_file import open_outcomes

    saved, X, y = open_outcomes(screen, model, data, table)
    about_table = check_table(X, y, event_names=saved.event_names)
    return most_severe_first(
        about_table + check_model(saved.model, X, y, event_names=saved.event_names)
    )
