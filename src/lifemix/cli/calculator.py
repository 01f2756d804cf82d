"""``lifemix calculator``: a model as a form in one HTML file."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Model, Page, Times
from .output import Screen
from .paths import PAGES, check_model_path, check_output
from .table_options import LabelOptions
from .time_units import TimeList

__all__ = ["calculator"]


def calculator(
    screen: Screen,
    model: Model,
    output: Page,
    labels: LabelOptions,
    times: Times = None,
    title: Annotated[str | None, typer.Option(help="The title of the page.")] = None,
) -> None:
    """Write a risk calculator: one page with a form, which works without a server.

    [bold]lifemix calculator model.safetensors -o calculator.html[/]
    """
    at = TimeList.parse(times)
    check_model_path(model)
    check_output(output, PAGES, (model,))
    from ..files import atomic_write
    from ..report import write_calculator
    from .model_file import open_model

    saved = open_model(model)
    with atomic_write(output) as partial:
        write_calculator(
            saved.model,
            partial,
            horizons=at.within(labels.time_unit or saved.options.time_unit) or saved.horizons,
            title=title,
            time_unit=labels.time_unit or saved.options.time_unit or None,
            event_names=saved.event_names,
        )
    screen.wrote_page(output)
