"""The arguments and options that several commands share, and the times and names in them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from ..errors import CovariateError, SettingError

__all__ = [
    "DAYS",
    "TABLE_SUFFIXES",
    "Data",
    "FromDisk",
    "Jobs",
    "ModelFilePath",
    "NetworkOptions",
    "OutcomeOptions",
    "Page",
    "RowOptions",
    "SearchOptions",
    "Seed",
    "TableOptions",
    "TableOutput",
    "Text",
    "Texts",
    "Times",
    "Unit",
    "is_date",
    "output_path",
    "parse_times",
    "refuse_missing",
    "split_names",
    "unit_days",
]

Text: TypeAlias = str | None
Texts: TypeAlias = list[str] | None

# Days of each unit of time.
DAYS = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 365.25 / 12, "year": 365.25}
_SHORT = {name[0]: name for name in DAYS} | {"mo": "month"}
_TIME = re.compile(r"([-+.\deE]*?[\d.])\s*([a-zA-Z]*)")
_MAX_NAMES = 30
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz")
"""The suffixes of tables that are written."""
# Options that need not hold for the next table.
_OF_ONE_FILE = {"sheet", "decimal", "thousands", "encoding", "max_unpacked"}
_OF_ONE_FILE |= {"censored", "skip_incomplete"}


def output_path(*suffixes: str) -> Callable[[Path | None], Path | None]:
    """Return the callback of an option for an output file; it refuses what could not be written in the end."""

    def check(path: Path | None) -> Path | None:
        if path is not None and not path.name.lower().endswith(suffixes):
            raise typer.BadParameter(f"the name must end in {' or '.join(suffixes)}")
        if path is not None and not os.access(path.absolute().parent, os.W_OK):
            raise typer.BadParameter("its folder is missing or read-only")
        return path

    return check


def _check_jobs(jobs: int) -> int:
    if jobs == 0:
        raise typer.BadParameter("pass the number of processes, or -1 for one per core; got 0")
    return jobs


Data = Annotated[
    Path,
    typer.Argument(
        help="A table, one row per subject: .csv, .xlsx, .dta, .sav, .parquet, ...; - is the standard input.",
    ),
]
ModelFilePath = Annotated[
    Path,
    typer.Argument(
        help="A model file written by lifemix fit: .safetensors.",
        exists=True,
        dir_okay=False,
    ),
]
Page = Annotated[
    Path,
    typer.Option(
        "--output", "-o", help="Where to write the page: .html.", callback=output_path(".html")
    ),
]
TableOutput = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Where to write the table: .csv, .tsv or .parquet. Default: the screen.",
        callback=output_path(*TABLE_SUFFIXES),
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        help="Processes to use; -1: one per core. The result is the same.",
        callback=_check_jobs,
    ),
]
FromDisk = Annotated[
    bool,
    typer.Option(
        "--from-disk",
        help="Read the table in blocks: a Parquet, Feather or CSV file, or a folder of them.",
    ),
]
Times = Annotated[
    Texts,
    typer.Option(
        help="Times to predict at, such as 12,24 or 30d,1y: repeat, or separate by commas. Default: quartiles of the "
        "event times."
    ),
]
Unit = Annotated[
    Text,
    typer.Option(
        "--unit",
        help="The unit of the times, such as days; for labels, dates and times such as 1y.",
        rich_help_panel="Columns",
    ),
]


class DateOrder(StrEnum):
    """The order of dates such as 3/4/2020."""

    dmy = "dmy"
    mdy = "mdy"


def _column(text: str, *flags: str) -> Any:
    return typer.Option(*flags, help=text, rich_help_panel="Columns")


def _file(text: str, *flags: str, minimum: int | None = None) -> Any:
    return typer.Option(*flags, help=text, rich_help_panel="Table", min=minimum)


def _network(text: str, *flags: str) -> Any:
    panel = "Networks, --model dsm (defaults: those of DeepSurvivalMachines in Python)"
    return typer.Option(*flags, help=text, rich_help_panel=panel)


@dataclass(frozen=True)
class SearchOptions:
    """How Deep Survival Machines are compared with other models."""

    fast: Annotated[
        bool, _network("One network with default settings: quick, less accurate.", "--fast")
    ] = False
    search: Annotated[
        bool,
        _network("Choose distribution, layers, dropout and learning rate by cross-validation."),
    ] = False
    n_members: Annotated[
        int | None,
        _network("Size of the ensemble. Default: by the number of rows.", "--members"),
    ] = None

    def settings(self) -> dict[str, Any]:
        """Return the settings of ``DeepSurvivalMachines`` that the user chose."""
        settings = {name: value for name, value in vars(self).items() if value is not None}
        if settings.pop("fast"):
            settings.setdefault("n_members", 1)
        del settings["search"]
        if "hidden" in settings:
            text = settings["hidden"]
            try:
                widths = [] if text == "none" else text.split(",")
                settings["hidden"] = tuple(map(int, widths))
            except ValueError:
                raise SettingError(
                    f"--hidden must be widths such as 100 or 100,50, or none; got {text!r}."
                ) from None
        return settings


@dataclass(frozen=True)
class NetworkOptions(SearchOptions):
    """The settings of a network to fit."""

    primitive: Annotated[
        Text, _network("Distribution of the components, such as weibull or lognormal.")
    ] = None
    k: Annotated[int | None, _network("Number of mixture components.", "--k")] = None
    hidden: Annotated[
        Text, _network("Widths of the hidden layers, such as 100,50; none: linear.")
    ] = None
    dropout: Annotated[float | None, _network("Dropout rate.")] = None
    learning_rate: Annotated[float | None, _network("Learning rate.")] = None
    max_epochs: Annotated[int | None, _network("Maximum number of epochs.", "--epochs")] = None


@dataclass(frozen=True)
class RowOptions:
    """How rows without an outcome are read."""

    id: Annotated[
        Text,
        _column(
            "Column that identifies the subject; its rows stay together, and it is never a covariate.",
            "--id",
        ),
    ] = None
    origin: Annotated[
        Text,
        _column(
            "Where the time begins, if --time holds dates: a column of dates, or one date such as 2020-01-31. "
            "Other columns of dates become years before it."
        ),
    ] = None
    date_order: Annotated[DateOrder | None, _file("The order of dates such as 3/4/2020.")] = None
    missing: Annotated[
        Texts,
        _file("Another text that marks a missing value, such as ? or -9; may be repeated."),
    ] = None
    sheet: Annotated[Text, _file("The sheet of a spreadsheet. Default: the first.")] = None
    decimal: Annotated[
        Text,
        _file("The decimal mark of a text file, such as a comma. Default: a point."),
    ] = None
    thousands: Annotated[Text, _file("The thousands separator of a text file. Default: none.")] = (
        None
    )
    encoding: Annotated[
        Text, _file("The encoding of a text file, such as cp1252. Default: UTF-8.")
    ] = None
    max_unpacked: Annotated[
        int,
        _file("Refuse a compressed table of more MB when unpacked.", "--max-unpacked", minimum=1),
    ] = 500


@dataclass(frozen=True)
class OutcomeOptions(RowOptions):
    """How rows with an outcome are read, if the covariates are those of a model."""

    time: Annotated[Text, _column("Column with the time of the event or of censoring.")] = None
    event: Annotated[
        Text,
        _column("Column with the event: 0 censored, 1, 2, ... event types; or words."),
    ] = None
    censored: Annotated[
        Texts,
        _column(
            "The value of the event column that means censored; may be repeated. Default: 0, False, alive or "
            "censored."
        ),
    ] = None
    entry: Annotated[
        Text,
        _column(
            "Column with the time at which observation began (late entry); with --id, the start of the row's "
            "interval.",
            "--entry",
            "--start",
        ),
    ] = None
    visit: Annotated[
        Text,
        _column(
            "Column with the time of the visit, if a subject (--id) has one row per visit, each with its --time "
            "and --event; a row then holds until the next visit."
        ),
    ] = None
    upper: Annotated[
        Text,
        _column(
            "Column with the upper end of the interval, if an event is only known to lie between two times."
        ),
    ] = None
    unit: Unit = None
    separate_rows: Annotated[
        bool,
        _file(
            "With --start and --id: the rows of one subject are separate observations, not consecutive "
            "intervals.",
            "--separate-rows",
        ),
    ] = False
    skip_incomplete: Annotated[
        bool, _file("Leave out rows without time or event.", "--skip-incomplete")
    ] = False


@dataclass(frozen=True)
class TableOptions(OutcomeOptions):
    """How a table to learn from is read."""

    drop: Annotated[
        Texts,
        _column("Columns to leave out: repeat the option, or separate by commas."),
    ] = None
    keep: Annotated[
        Texts,
        _column("Columns to use although they look like row numbers or identifiers."),
    ] = None
    categorical: Annotated[Texts, _column("Columns whose numbers are codes of categories.")] = None

    @property
    def roles(self) -> dict[str, str]:
        """The columns that are no covariates, by option."""
        names = ("time", "event", "entry", "upper", "visit", "id", "origin")
        columns = {f"--{name}": getattr(self, name) for name in names}
        return {
            option: name
            for option, name in columns.items()
            if name is not None and not is_date(name)
        }

    @property
    def start(self) -> str | None:
        """The column in which the interval of a row starts."""
        return self.entry or self.visit

    @property
    def has_intervals(self) -> bool:
        """Whether the rows of a subject are consecutive intervals."""
        return bool(self.id and (self.visit or (self.entry and not self.separate_rows)))

    def override(self, options: RowOptions) -> TableOptions:
        """Return these options with those replaced that the user passed."""
        return replace(self, **{name: value for name, value in vars(options).items() if value})

    def resolve(self, columns: Sequence[str]) -> TableOptions:
        """Return the options with lists of names split at commas; refuse columns that the table lacks."""
        names: dict[str, Any] = {
            name: split_names(getattr(self, name), columns)
            for name in ("drop", "keep", "categorical")
        }
        listed = [(f"--{option}", name) for option in names for name in names[option]]
        for option, name in [*self.roles.items(), *listed]:
            refuse_missing(name, option, columns)
        return replace(self, **names)

    def to_json(self) -> dict[str, Any]:
        """Return the options that a model file records."""
        return {name: value for name, value in vars(self).items() if name not in _OF_ONE_FILE}


def refuse_missing(column: str, option: str, columns: Sequence[str]) -> None:
    """Refuse the name of a column that the table lacks."""
    if column in columns:
        return
    raise CovariateError(
        f"the table has no column {column!r} ({option}). It has: {', '.join(columns[:_MAX_NAMES])}."
    )


def split_names(texts: Sequence[str] | None, columns: Sequence[str] = ()) -> list[str]:
    """Return the names of an option that may be repeated or separated by commas, each once."""
    names: dict[str, None] = {}
    for text in texts or ():
        names |= dict.fromkeys([text] if text in columns else map(str.strip, text.split(",")))
    return [name for name in names if name]


def is_date(text: str) -> bool:
    """Return whether a text is a date such as 2020-01-31."""
    return bool(re.fullmatch(r"\d{4}-\d\d?-\d\d?", text))


def unit_days(unit: str | None) -> float | None:
    """Return the days of a unit of time; None if it is unknown."""
    word = (unit or "").strip().lower().removesuffix("s")
    return DAYS.get(_SHORT.get(word, word))


def parse_times(texts: Sequence[str] | None, unit: str | None, option: str) -> list[float]:
    """Return the times of an option in the unit of the data, such as 365.25 for 1y in days; sorted, each once."""
    times = set()
    for text in split_names(texts):
        match = _TIME.fullmatch(text)
        try:
            number = float(match[1] if match else text)
        except ValueError:
            raise SettingError(
                f"{option} must be numbers, such as {option} 1,2,5, or have units, such as {option} 30d,1y; got "
                f"{text!r}."
            ) from None
        if match and match[2]:
            days, days_of_data = unit_days(match[2]), unit_days(unit)
            if days is None or days_of_data is None:
                raise SettingError(
                    f"{option} {text} cannot be converted to the unit of the data, {unit or 'which is unknown'}; "
                    f"expected {', '.join(DAYS)} in both. Pass plain numbers, or set --unit when you fit."
                )
            number *= days / days_of_data
        times.add(number)
    return sorted(times)
