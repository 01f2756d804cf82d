"""``lifemix compare``: Deep Survival Machines beside other models, by cross-validation."""

from __future__ import annotations

from typing import Annotated

import typer

from .files import check_table
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
    Times,
    TimeUnit,
    Upper,
    parse_numbers,
)
from .screen import Screen

__all__ = ["compare"]


def compare(
    screen: Screen,
    data: Data,
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
    models: Annotated[
        list[str] | None,
        typer.Option(help="dsm, cox, fine-gray, forest, boosting, deepsurv, deephit, curve: repeat, or use commas."),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, max=20, help="Parts of the cross-validation.")] = 5,
    rows: Annotated[
        int, typer.Option(min=100, help="Most rows to use, drawn at random where there are more.")
    ] = 20_000,
    search: Annotated[
        bool, typer.Option("--search/--no-search", help="Choose the settings of dsm in each part, or take defaults.")
    ] = True,
    members: Annotated[int, typer.Option(min=1, help="Size of the ensemble of dsm.")] = 4,
    times: Times = None,
    seed: Seed = 0,
) -> None:
    """Compare Deep Survival Machines with other models by cross-validation.

    All models see the same rows; settings are chosen inside of each training part.

    [bold]lifemix compare patients.csv --time days --event died[/]
    """
    at = parse_numbers(times, "--times", 0, 1e300)
    check_table(data)
    from .comparing import CompareOptions, run_compare
    from .roles import Roles
    from .understanding import Source

    roles = Roles(
        time, event, entry, upper, subject, tuple(drop or ()), tuple(keep or ()), tuple(categorical or ()),
        tuple(missing or ()), unit,
    )  # fmt: skip
    options = CompareOptions(models or [], folds, rows, search, members, at, seed)
    run_compare(screen, Source(data, roles, tuple(censored or ()), encoding, skip_incomplete), options)
