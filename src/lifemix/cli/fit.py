"""``lifemix fit``: from a table to a model file, with its quality on rows it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import SettingError
from .files import check_output, check_table
from .formats import MODELS, TABLES
from .options import (
    Categorical,
    Censored,
    Data,
    Drop,
    Encoding,
    Entry,
    Event,
    Id,
    Keep,
    Missing,
    Seed,
    SkipIncomplete,
    Time,
    TimeUnit,
    Upper,
)
from .screen import Screen

__all__ = ["fit"]

_SETTINGS = "Settings (what is not given is chosen by cross-validation)"


def fit(
    screen: Screen,
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the model: .safetensors.")],
    time: Time = None,
    event: Event = None,
    censored: Censored = None,
    entry: Entry = None,
    upper: Upper = None,
    subject: Id = None,
    drop: Drop = None,
    keep: Keep = None,
    categorical: Categorical = None,
    unit: TimeUnit = "",
    missing: Missing = None,
    encoding: Encoding = None,
    skip_incomplete: SkipIncomplete = False,
    primitive: Annotated[
        str | None, typer.Option(help="weibull, lognormal or loglogistic.", rich_help_panel=_SETTINGS)
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", min=1, help="Components of the mixture.", rich_help_panel=_SETTINGS)
    ] = None,
    hidden: Annotated[
        str | None, typer.Option(help="Widths of the layers, say 100,50; 'none' is linear.", rich_help_panel=_SETTINGS)
    ] = None,
    dropout: Annotated[
        float | None, typer.Option(min=0, max=0.95, help="Share of units dropped.", rich_help_panel=_SETTINGS)
    ] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Step size of Adam.", rich_help_panel=_SETTINGS)] = None,
    search: Annotated[
        bool,
        typer.Option(
            "--search/--no-search", help="Choose by cross-validation, or take defaults.", rich_help_panel=_SETTINGS
        ),
    ] = True,
    members: Annotated[
        int | None, typer.Option(min=1, help="Size of the ensemble. Default: 4, or 1 beyond 200,000 rows.")
    ] = None,
    epochs: Annotated[int, typer.Option(min=0, help="Most epochs of training.")] = 200,
    holdout: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of rows held out to measure quality; 0: none.")
    ] = 0.2,
    refit: Annotated[
        bool | None,
        typer.Option(
            "--refit/--no-refit",
            help="Fit the saved model to all rows, or not to those held out. Default: to all, where these are many.",
        ),
    ] = None,
    holdout_to: Annotated[
        Path | None,
        typer.Option(help="Write the rows held out to this table, and keep them out of the saved model."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Fit even where the doctor says stop.")] = False,
    seed: Seed = 0,
) -> None:
    """Fit a model to a table and write it to a file.

    [bold]lifemix fit patients.csv --time days --event died -o model.safetensors[/]
    """
    check_table(data)
    check_output(output, MODELS, (data,))
    if holdout_to is not None:
        check_output(holdout_to, TABLES, (data, output))
        if refit or holdout == 0:
            raise SettingError("--holdout-to goes with rows held out: leave out --refit and --holdout 0.")
    from .fitting import FitOptions, run_fit
    from .roles import Roles
    from .understanding import Source

    roles = Roles(
        time, event, entry, upper, subject, tuple(drop or ()), tuple(keep or ()), tuple(categorical or ()),
        tuple(missing or ()), unit,
    )  # fmt: skip
    told: dict[str, Any] = {
        "primitive": primitive,
        "k": k,
        "hidden": hidden,
        "dropout": dropout,
        "learning_rate": learning_rate,
    }
    given = {name: value for name, value in told.items() if value is not None}
    options = FitOptions(given, search, members, epochs, holdout, refit, holdout_to, force, seed)
    source = Source(data, roles, tuple(censored or ()), encoding, skip_incomplete)
    run_fit(screen, source, output, options)
