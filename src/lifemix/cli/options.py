"""The options that several commands share, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import SettingError

__all__ = [
    "Categorical",
    "Censored",
    "Data",
    "Drop",
    "Encoding",
    "Entry",
    "Event",
    "Id",
    "Keep",
    "Missing",
    "Model",
    "Seed",
    "SkipIncomplete",
    "Time",
    "TimeUnit",
    "Times",
    "Upper",
    "parse_numbers",
]

_COLUMNS, _TABLE = "Columns", "Table"

Data = Annotated[Path, typer.Argument(help="A table, one row a subject: .csv, .tsv or .parquet.", show_default=False)]
Model = Annotated[Path, typer.Argument(help="A model that lifemix fit wrote: .safetensors.", show_default=False)]

Time = Annotated[
    str | None, typer.Option(help="Column with the time of the event or of censoring.", rich_help_panel=_COLUMNS)
]
Event = Annotated[
    str | None,
    typer.Option(help="Column with the event: 0 censored, 1, 2, ... kinds; or words.", rich_help_panel=_COLUMNS),
]
Censored = Annotated[
    list[str] | None,
    typer.Option(help="The value of the event column that means censored; may be repeated.", rich_help_panel=_COLUMNS),
]
Entry = Annotated[
    str | None, typer.Option(help="Column with the time when observation began.", rich_help_panel=_COLUMNS)
]
Upper = Annotated[
    str | None,
    typer.Option(help="Column with the upper end where the event fell between two times.", rich_help_panel=_COLUMNS),
]
Id = Annotated[
    str | None, typer.Option("--id", help="Column that names the subject; never a covariate.", rich_help_panel=_COLUMNS)
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Columns to leave out: repeat, or separate by commas.", rich_help_panel=_COLUMNS),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(help="Columns to use although they look like row numbers or identifiers.", rich_help_panel=_COLUMNS),
]
Categorical = Annotated[
    list[str] | None, typer.Option(help="Columns whose numbers are codes of categories.", rich_help_panel=_COLUMNS)
]
TimeUnit = Annotated[
    str, typer.Option("--unit", help="The unit of the times, say days; only for labels.", rich_help_panel=_COLUMNS)
]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="A further mark of a missing value, such as ? or -9; may be repeated.", rich_help_panel=_TABLE),
]
Encoding = Annotated[
    str | None, typer.Option(help="How the text is written, where not UTF-8; say cp1252.", rich_help_panel=_TABLE)
]
SkipIncomplete = Annotated[
    bool, typer.Option("--skip-incomplete", help="Leave out rows without time or event.", rich_help_panel=_TABLE)
]
Seed = Annotated[int, typer.Option(min=0, help="Where all random numbers come from.")]
Times = Annotated[
    list[str] | None,
    typer.Option(help="Times to look at: repeat, or separate by commas. Default: quartiles of the event times."),
]


def parse_numbers(texts: list[str] | None, option: str, low: float, high: float) -> list[float]:
    """Return the numbers of an option, sorted and each once."""
    numbers = set()
    for part in (part.strip() for text in texts or () for part in text.split(",")):
        try:
            number = float(part)
        except ValueError:
            raise SettingError(f"{option} must be numbers, say {option} 1,2,5; got {part!r}.") from None
        if not low <= number <= high:
            raise SettingError(f"{option} must lie between {low:g} and {high:g}; got {part}.")
        numbers.add(number)
    return sorted(numbers)
