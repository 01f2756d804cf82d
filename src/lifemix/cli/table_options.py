"""The options of a table, each declared once: which column is what, and how the file is read.

A command says which groups of them it takes by the type of one parameter (``table: AllOptions``); ``command`` turns
that parameter into the options themselves. A new option of a table is a new field here, and nothing elsewhere but its
use. Those that describe the columns are remembered in the model's file.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Annotated, Any, get_args, get_type_hints

import typer

from ..errors import CovariateError, SettingError

__all__ = [
    "AllOptions",
    "FileOptions",
    "LabelOptions",
    "OutcomeOptions",
    "TableOptions",
    "check_columns",
    "is_date_text",
    "option_parameters",
    "options_from",
]

_COLUMNS, _TABLE = "Columns", "Table"
_SHOWN = 30


def _option(
    group: str,
    text: str,
    *flags: str,
    default: Any = None,
    panel: str = _COLUMNS,
    remembered: bool = True,
) -> Any:
    option = typer.Option(*flags, help=text, rich_help_panel=panel)
    return field(
        default=default, metadata={"group": group, "option": option, "remembered": remembered}
    )


@dataclass(frozen=True)
class TableOptions:
    """What the user says about a table; a field is an option, its group tells which commands have it."""

    time: str | None = _option("outcome", "Column with the time of the event or of censoring.")
    event: str | None = _option(
        "outcome", "Column with the event: 0 censored, 1, 2, ... event types; or words."
    )
    censored: tuple[str, ...] = _option(
        "outcome",
        "The value of the event column that means censored; may be repeated.",
        default=(),
        remembered=False,  # the model's file has the codes of all values
    )
    entry: str | None = _option(
        "outcome",
        "Column with the time at which observation began (late entry); with --id, where the interval of a row starts.",
        "--entry",
        "--start",
    )
    visit: str | None = _option(
        "outcome",
        "Column with the time of the visit, where a subject (--id) has one row per visit, each with its --time and "
        "--event; a row then holds until the next visit, or with --encoder the whole history is learned from.",
    )
    upper: str | None = _option(
        "outcome",
        "Column with the upper end of the interval, where an event is known to lie between two times.",
    )
    origin: str | None = _option(
        "file",
        "Where the time begins, if --time holds dates: a column of dates, or one date such as 2020-01-31. Other "
        "columns of dates become years before it.",
    )
    date_order: str | None = _option(
        "file", "The order of dates such as 3/4/2020: dmy or mdy.", panel=_TABLE
    )
    id: str | None = _option(
        "file",
        "Column that identifies the subject; its rows stay together, and it is never a covariate.",
        "--id",
    )
    drop: tuple[str, ...] = _option(
        "covariates", "Columns to leave out: repeat the option, or separate by commas.", default=()
    )
    keep: tuple[str, ...] = _option(
        "covariates",
        "Columns to use although they look like row numbers or identifiers.",
        default=(),
    )
    categorical: tuple[str, ...] = _option(
        "covariates", "Columns whose numbers are codes of categories.", default=()
    )
    time_unit: str = _option(
        "labels", "The unit of the times, such as days; for labels only.", "--unit", default=""
    )
    landmark: str | None = _option(
        "path",
        "Predict given survival to this time, such as 3y, from what is known then. --times count from the origin.",
        "--landmark",
        "--at",
        panel=_TABLE,
        remembered=False,
    )
    extend: bool = _option(
        "path",
        "Along start-stop rows: keep the last row of a subject beyond its stop.",
        "--extend",
        default=False,
        panel=_TABLE,
        remembered=False,
    )
    missing: tuple[str, ...] = _option(
        "file",
        "Another text that marks a missing value, such as ? or -9; may be repeated.",
        default=(),
        panel=_TABLE,
    )
    sheet: str | None = _option(
        "file", "The sheet of a spreadsheet. Default: the first.", panel=_TABLE, remembered=False
    )
    decimal: str | None = _option(
        "file",
        "The decimal mark of a text file, such as a comma. Default: a point.",
        panel=_TABLE,
        remembered=False,
    )
    thousands: str | None = _option(
        "file",
        "The thousands separator of a text file. Default: none.",
        panel=_TABLE,
        remembered=False,
    )
    encoding: str | None = _option(
        "file",
        "The encoding of a text file, such as cp1252. Default: UTF-8.",
        panel=_TABLE,
        remembered=False,
    )
    separate_rows: bool = _option(
        "outcome",
        "With --start and --id: the rows of one subject are separate observations, not consecutive intervals.",
        "--separate-rows",
        default=False,
        panel=_TABLE,
    )
    skip_incomplete: bool = _option(
        "outcome",
        "Leave out rows without time or event.",
        "--skip-incomplete",
        default=False,
        panel=_TABLE,
        remembered=False,
    )

    @property
    def outcome(self) -> dict[str, str]:
        """The columns of the target, by option."""
        named = {
            "--time": self.time,
            "--event": self.event,
            "--entry": self.entry,
            "--upper": self.upper,
        }
        return {option: column for option, column in named.items() if column is not None}

    @property
    def apart(self) -> list[str]:
        """The columns that are no covariates."""
        origin = [] if self.origin is None or is_date_text(self.origin) else [self.origin]
        origin += [self.visit] if self.visit else []
        return [*self.outcome.values(), *origin, *([self.id] if self.id else []), *self.drop]

    def override(self, given: TableOptions) -> TableOptions:
        """Return these options with those replaced that the user has given."""
        values = {each.name: getattr(given, each.name) for each in fields(self)}
        return replace(self, **{name: value for name, value in values.items() if value})

    def resolve(self, columns: Sequence[str]) -> TableOptions:
        """Return the options for a table, lists with commas taken apart; refuse columns that it does not have."""
        lists = {
            name: _split(getattr(self, name), set(columns))
            for name in ("drop", "keep", "categorical")
        }
        options: TableOptions = replace(self, **lists)  # type: ignore[arg-type]
        named = [*options.outcome.items(), *([("--id", options.id)] if options.id else [])]
        named += [("--visit", options.visit)] if options.visit else []
        if options.origin and not is_date_text(options.origin):
            named.append(("--origin", options.origin))
        named += [(f"--{name}", column) for name in lists for column in lists[name]]
        check_columns(columns, named)
        _check_different(options)
        if options.date_order not in (None, "dmy", "mdy"):
            raise SettingError(f"--date-order must be dmy or mdy; got {options.date_order!r}.")
        return options

    def to_state(self) -> dict[str, Any]:
        """Return what the model's file remembers, in JSON's types."""
        kept = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.metadata["remembered"]
        }
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> TableOptions:
        """Return the options whose ``to_state`` was saved."""
        known = {each.name for each in fields(cls)}
        return options_from({name: value for name, value in state.items() if name in known})


@dataclass(frozen=True)
class _Groups:
    """Which options a command takes."""

    names: tuple[str, ...]


FileOptions = Annotated[TableOptions, _Groups(("file", "path"))]
"""For rows without outcome."""
OutcomeOptions = Annotated[TableOptions, _Groups(("outcome", "file", "labels"))]
"""For rows with outcome, whose covariates the model knows."""
AllOptions = Annotated[TableOptions, _Groups(("outcome", "covariates", "file", "labels"))]
"""For a table to learn from."""
LabelOptions = Annotated[TableOptions, _Groups(("labels",))]
"""For pages without a table."""


def option_parameters(hint: Any) -> list[inspect.Parameter] | None:
    """Return the options that a parameter of this type stands for, as typer takes them; None for any other type."""
    parts = get_args(hint)
    if not parts or parts[0] is not TableOptions:
        return None
    types = get_type_hints(TableOptions)
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default if each.default != () else None,
            annotation=Annotated[
                list[str] | None if types[each.name] == tuple[str, ...] else types[each.name],
                each.metadata["option"],
            ],
        )
        for each in fields(TableOptions)
        if each.metadata["group"] in parts[1].names
    ]


def options_from(values: Mapping[str, Any]) -> TableOptions:
    """Return the options whose values typer or JSON has read, by the names of their fields; None is the default."""
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if value is not None
    }
    return TableOptions(**given)


def is_date_text(text: str) -> bool:
    """Tell whether a text is a date such as 2020-01-31."""
    return bool(re.fullmatch(r"\d{4}-\d\d?-\d\d?", text))


def check_columns(columns: Sequence[str], named: Sequence[tuple[str, str]]) -> None:
    """Refuse names of columns that the table does not have; each comes with the option that gave it."""
    for option, column in named:
        if column not in columns:
            raise CovariateError(_no_such_column(column, columns, option))


def _split(names: Sequence[str], known: set[str]) -> tuple[str, ...]:
    parts = [
        [name] if name in known else [part.strip() for part in name.split(",")] for name in names
    ]
    return tuple(dict.fromkeys(part for names in parts for part in names if part))


def _no_such_column(column: str, columns: Sequence[str], option: str) -> str:
    near = get_close_matches(column.lower(), [name.lower() for name in columns], n=1)
    meant = [name for name in columns if near and name.lower() == near[0]]
    hint = f" Did you mean {meant[0]!r}?" if meant else ""
    shown = ", ".join(columns[:_SHOWN]) + (
        f", ... ({len(columns)} in all)" if len(columns) > _SHOWN else ""
    )
    return f"the table has no column {column!r} ({option}).{hint} It has: {shown}."


def _check_different(options: TableOptions) -> None:
    seen: dict[str, str] = {}
    for option, column in (options.outcome | ({"--id": options.id} if options.id else {})).items():
        if column in seen:
            raise SettingError(
                f"{seen[column]} and {option} are the same column, {column!r}; give different ones."
            )
        seen[column] = option
    both = [
        name for name in options.drop if name in options.keep or name in options.outcome.values()
    ]
    if both:
        raise SettingError(
            f"the column {both[0]!r} is both dropped and used. Leave out one of the two options."
        )
