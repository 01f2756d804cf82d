"""Run models on the tables and report them; ``experiments/unseen.md`` has the confirming tables."""

from __future__ import annotations

from typing import Annotated

import typer

from ..tables import ROOT, write_blocks
from .models import MODELS
from .report import report, with_failures
from .scores import current_records, missing_cases, run
from .tables import CHOOSING, CONFIRMING

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    tables: Annotated[str, typer.Argument(help="Which tables: choosing or confirming.")],
    models: str = ",".join(MODELS),
    folds: int = 5,
    repeats: int = 2,
    jobs: int = 1,
    report_only: Annotated[
        bool, typer.Option("--report", help="Report the records; run nothing.")
    ] = False,
) -> None:
    """Run the models of which records are missing, and print the report."""
    path = ROOT / "results" / "unseen" / f"{tables}.jsonl"
    names = {"choosing": CHOOSING, "confirming": CONFIRMING}[tables]
    selected = models.split(",")
    if not report_only:
        run(path, missing_cases(path, names, selected, folds, repeats), jobs)
    text = report(with_failures(current_records(path, names, selected)))
    if report_only and tables == "confirming":
        write_blocks("experiments/unseen.md", {tables: lambda: text})
    else:
        typer.echo(text)


if __name__ == "__main__":
    app()
