"""``lifemix datasets``: the data sets of the package, as tables to try things on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import SettingError
from .files import check_output
from .formats import TABLES
from .screen import Screen

__all__ = ["datasets"]

LOADERS = {
    "support": "load_support",
    "metabric": "load_metabric",
    "metabric-causes": "load_metabric_causes",
    "flchain": "load_flchain",
    "ebmt": "load_ebmt",
    "synthetic": "make_synthetic",
}


def datasets(
    screen: Screen,
    name: Annotated[
        str | None,
        typer.Argument(help="One of them; without a name all are listed.", autocompletion=lambda: list(LOADERS)),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the table: .csv, .tsv or .parquet.")
    ] = None,
) -> None:
    """List the data sets of the package, or write one as a table.

    [bold]lifemix datasets support -o support.csv[/]
    """
    if name is not None and name not in LOADERS:
        raise SettingError(f"there is no data set {name!r}; expected one of {', '.join(LOADERS)}.")
    if output is not None:
        if name is None:
            raise SettingError("say which data set to write: lifemix datasets NAME -o FILE.")
        check_output(output, TABLES)
    from .listing import run_datasets

    run_datasets(screen, LOADERS if name is None else {name: LOADERS[name]}, output)
