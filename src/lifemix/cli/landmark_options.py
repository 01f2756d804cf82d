"""The options of an evaluation at landmarks."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["Landmarks", "Window"]

Landmarks = Annotated[
    list[str] | None,
    typer.Option(
        help="Landmarks at which start-stop rows are evaluated, such as 1y,3y. Default: 0 and the first two quartiles "
        "of the event times."
    ),
]
Window = Annotated[
    list[str] | None,
    typer.Option(
        help="How far ahead of a landmark the risk is predicted, such as 2y. Default: the first quartile of the event "
        "times."
    ),
]
