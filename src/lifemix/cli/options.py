"""The arguments and options that several commands share, besides those of a table, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import SettingError

__all__ = [
    "Data",
    "Fast",
    "FromDisk",
    "Jobs",
    "Model",
    "Page",
    "Seed",
    "Times",
    "parse_numbers",
    "split_names",
]

Data = Annotated[
    Path,
    typer.Argument(
        help="A table, one row per subject: .csv, .xlsx, .dta, .sav, .parquet, ...; - is the standard input.",
        show_default=False,
    ),
]
Model = Annotated[
    Path,
    typer.Argument(help="A model file written by lifemix fit: .safetensors.", show_default=False),
]
Page = Annotated[Path, typer.Option("--output", "-o", help="Where to write the page: .html.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", help="Processes to use; -1: one per core. The result is the same."
    ),
]
Fast = Annotated[
    bool,
    typer.Option("--fast", help="One network with default settings: quick, and less accurate."),
]
FromDisk = Annotated[
    bool,
    typer.Option(
        "--from-disk",
        help="Read the table in blocks: a Parquet, Feather or CSV file, or a folder of them.",
    ),
]
Times = Annotated[
    list[str] | None,
    typer.Option(
        help="Times to predict at, such as 12,24 or 30d,1y: repeat, or separate by commas. Default: quartiles of the "
        "event times."
    ),
]


def parse_numbers(texts: list[str] | None, option: str, low: float, high: float) -> list[float]:
    """Return the numbers of an option, sorted and each once."""
    numbers = set()
    for part in (part.strip() for text in texts or () for part in text.split(",")):
        try:
            number = float(part)
        except ValueError:
            raise SettingError(
                f"{option} must be numbers, such as {option} 1,2,5; got {part!r}."
            ) from None
        if not low <= number <= high:
            raise SettingError(f"{option} must lie between {low:g} and {high:g}; got {part}.")
        numbers.add(number)
    return sorted(numbers)


def split_names(texts: list[str] | None) -> list[str]:
    """Return the names of an option that may be repeated or hold several separated by commas, each once."""
    names = [part.strip() for text in texts or () for part in text.split(",")]
    return list(dict.fromkeys(name for name in names if name))
