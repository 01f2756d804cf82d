"""``lifemix reproduce``: the paper's experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Jobs, split_names
from .output import Screen

__all__ = ["reproduce"]


def reproduce(
    screen: Screen,
    name: Annotated[str, typer.Argument(help="The experiment: support, metabric, synthetic, ... or all.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path("results"),
    quick: Annotated[bool, typer.Option("--quick", help="Fewer settings, folds and levels of censoring.")] = False,
    selection: Annotated[str, typer.Option(help="How settings are chosen: paper, nested or both.")] = "both",
    jobs: Jobs = 1,
    backend: Annotated[str, typer.Option(help="Backend of joblib: loky, dask or ray.")] = "loky",
    models: Annotated[list[str] | None, typer.Option(help="Only these models: repeat, or use commas.")] = None,
    data: Annotated[str | None, typer.Option(help="Your own file for synthetic and seer, folder for neutral.")] = None,
    grid: Annotated[str, typer.Option(help="Grid of settings for competing risks: reduced or full.")] = "reduced",
    rival: Annotated[str | None, typer.Option(help="For neutral: the published learner to test against.")] = None,
) -> None:
    """Run one of the paper's experiments; an interrupted one continues where it stopped.

    [bold]lifemix reproduce support --quick[/]
    """
    from ..experiments import reproduce as run

    folders = run(
        name,
        out=output,
        quick=quick,
        selection=selection,
        jobs=jobs,
        backend=backend,
        models=split_names(models) or None,
        data=data,
        grid=grid,
        rival=rival,
        quiet=not screen.progress,
    )
    for folder in folders:
        screen.wrote(folder, "")
        if folder.suffix == ".md":
            screen.show(folder.read_text(encoding="utf-8"), markup=False)
    screen.result({"folders": [str(folder) for folder in folders]})
