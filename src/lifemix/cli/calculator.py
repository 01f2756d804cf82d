"""``lifemix calculator``: a model as a form in one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .files import check_model, check_output
from .formats import PAGES
from .options import Model, Times, parse_numbers
from .screen import Screen

__all__ = ["calculator"]


def calculator(
    screen: Screen,
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page: .html.")],
    times: Times = None,
    title: Annotated[str | None, typer.Option(help="What stands on top of the page.")] = None,
    unit: Annotated[str | None, typer.Option("--unit", help="The unit of the times; default: the model's.")] = None,
) -> None:
    """Write a risk calculator: one page with a form, which works without a server.

    [bold]lifemix calculator model.safetensors -o calculator.html[/]
    """
    at = parse_numbers(times, "--times", 0, 1e300)
    check_model(model)
    check_output(output, PAGES, (model,))
    from .opening import open_model
    from .pages import write_calculator_page

    write_calculator_page(screen, open_model(model), output, at, title, unit)
