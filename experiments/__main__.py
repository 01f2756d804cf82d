"""Run one of the paper's experiments: ``python -m experiments support --quick``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lifemix.errors import LifemixError

from .reproduction import reproduce

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    name: Annotated[
        str, typer.Argument(help="The experiment: support, metabric, synthetic, ... or all.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path(
        "results"
    ),
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer settings, folds and levels of censoring.")
    ] = False,
    selection: Annotated[
        str, typer.Option(help="How settings are selected: paper, nested or both.")
    ] = "both",
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Number of processes; -1: one per core.")
    ] = 1,
    backend: Annotated[str, typer.Option(help="Backend of joblib: loky, dask or ray.")] = "loky",
    models: Annotated[
        str | None, typer.Option(help="Only these models, separated by commas.")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Your own file for synthetic and seer.")] = None,
    grid: Annotated[
        str, typer.Option(help="Grid of settings for competing risks: reduced or full.")
    ] = "reduced",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Hide the progress bar.")] = False,
) -> None:
    """Run one of the paper's experiments and write its tables and its page. An interrupted run resumes."""
    try:
        pages = reproduce(
            name,
            out=output,
            quick=quick,
            selection=selection,
            jobs=jobs,
            backend=backend,
            models=[model.strip() for model in models.split(",")] if models else None,
            data=data,
            grid=grid,
            quiet=quiet,
        )
    except LifemixError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    for page in pages:
        typer.echo(f"wrote {page}")


if __name__ == "__main__":
    app()
