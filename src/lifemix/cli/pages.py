"""``lifemix report`` and ``lifemix calculator``: a model as one HTML file."""

from __future__ import annotations

from typing import Annotated

import typer

from .console import Console
from .options import Data, ModelFilePath, OutcomeOptions, Page, Seed, Times, Unit

__all__ = ["calculator", "report"]


def report(
    console: Console,
    model: ModelFilePath,
    data: Data,
    output: Page,
    table: OutcomeOptions,
    times: Times = None,
    seed: Seed = 0,
) -> None:
    """Write a page about a model: data, settings, quality, calibration, curves.

    [bold]lifemix report model.safetensors test.csv -o report.html[/]
    """
    from ..report import write_report
    from .model_file import open_outcomes

    saved, X, y = open_outcomes(console, model, data, table)
    console.say(f"Writing the report on {len(X):,} rows ...")
    write_report(
        saved.model,
        X,
        y,
        output,
        time_unit=saved.options.unit,
        event_names=saved.event_names,
        horizons=saved.times(times),
        random_state=seed,
        model_file=model,
    )
    console.wrote(output, "; open it in a browser.")


def calculator(
    console: Console,
    model: ModelFilePath,
    output: Page,
    times: Times = None,
    unit: Unit = None,
    title: Annotated[str | None, typer.Option(help="The title of the page.")] = None,
) -> None:
    """Write a risk calculator: one page with a form, which works without a server.

    [bold]lifemix calculator model.safetensors -o calculator.html[/]
    """
    from ..report import write_calculator
    from .model_file import open_model

    saved = open_model(model, OutcomeOptions(unit=unit))
    write_calculator(
        saved.model,
        output,
        horizons=saved.times(times),
        title=title,
        time_unit=saved.options.unit,
        event_names=saved.event_names,
    )
    console.wrote(output, "; open it in a browser.")
