"""``lifemix reproduce``: the paper's experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .screen import Screen

__all__ = ["reproduce"]


def reproduce(
    screen: Screen,
    name: Annotated[str, typer.Argument(help="The experiment: support, metabric, synthetic, ... or all.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the results.")] = Path("results"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer settings, folds and levels of censoring.")] = False,
    selection: Annotated[str, typer.Option(help="How settings are chosen: paper, nested or both.")] = "both",
    jobs: Annotated[int, typer.Option(help="How many fits run side by side.")] = 1,
    backend: Annotated[str, typer.Option(help="joblib's: loky, dask or ray.")] = "loky",
    models: Annotated[list[str] | None, typer.Option(help="Only these models: repeat, or use commas.")] = None,
    data: Annotated[str | None, typer.Option(help="Your own file, for synthetic and seer.")] = None,
    grid: Annotated[str, typer.Option(help="Of settings with competing risks: reduced or full.")] = "reduced",
) -> None:
    """Run one of the paper's experiments; one that was interrupted goes on where it was.

    [bold]lifemix reproduce support --quick[/]
    """
    from ..experiments import reproduce as run

    chosen = [part for text in models or () for part in text.split(",") if part]
    folders = run(
        name,
        out=output,
        quick=quick,
        selection=selection,
        jobs=jobs,
        backend=backend,
        models=chosen or None,
        data=data,
        grid=grid,
        quiet=not screen.progress,
    )
    for folder in folders:
        screen.say(f"[green]Wrote {folder}[/]")
    screen.result({"folders": [str(folder) for folder in folders]})
