"""``lifemix report``: a model and its quality as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .files import check_model, check_output, check_table
from .formats import PAGES
from .options import (
    Censored,
    Data,
    Encoding,
    Entry,
    Event,
    Missing,
    Model,
    Seed,
    SkipIncomplete,
    Time,
    Times,
    Upper,
    parse_numbers,
)
from .screen import Screen

__all__ = ["report"]


def report(
    screen: Screen,
    model: Model,
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page: .html.")],
    time: Time = None,
    event: Event = None,
    censored: Censored = None,
    entry: Entry = None,
    upper: Upper = None,
    missing: Missing = None,
    encoding: Encoding = None,
    skip_incomplete: SkipIncomplete = False,
    times: Times = None,
    seed: Seed = 0,
) -> None:
    """Write a page about a model: data, settings, quality, calibration, curves; for a study's file.

    [bold]lifemix report model.safetensors test.csv -o report.html[/]
    """
    at = parse_numbers(times, "--times", 0, 1e300)
    check_model(model)
    check_table(data)
    check_output(output, PAGES, (model, data))
    from .evaluating import open_outcomes
    from .pages import write_report_page
    from .roles import Roles
    from .understanding import Source

    given = Roles(time, event, entry, upper, missing=tuple(missing or ()))
    source = Source(data, given, tuple(censored or ()), encoding, skip_incomplete)
    saved, X, y = open_outcomes(screen, model, source)
    write_report_page(screen, saved, model, X, y, output, at, seed)
