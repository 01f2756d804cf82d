"""The outcome of a table: times as numbers, events as 0 (censored) and 1..M (event types), visits as intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._types import FloatArray, IntArray
from ..errors import CovariateError, SettingError, TargetError
from ..preprocessing import start_stop
from ..target import make_target, names_of_labels
from .options import DAYS, DateOrder, TableOptions, is_date, refuse_missing, unit_days

__all__ = [
    "EventCodes",
    "dates_to_years",
    "holds_dates",
    "intervals_of_visits",
    "read_outcome",
    "read_times",
    "to_dates",
]

_MAX_TYPES = 20
_CENSORED = {"0", "false", "alive", "censored"}
_DATE_FORMATS = ("ISO8601", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
_MAX_AFTER_ORIGIN = 0.02  # share of dates after the origin in a covariate


@dataclass(frozen=True)
class EventCodes:
    """The labels of the event column that mean censored, and the label of each event type 1, 2, ..."""

    censored: tuple[str, ...]
    types: tuple[str, ...]

    @classmethod
    def learn(
        cls, values: pd.Series[Any], column: str, censored: Sequence[str] | None
    ) -> EventCodes:
        """Read the labels of a column; refuse to guess if they are ambiguous."""
        labels = sorted({_label(value) for value in values.dropna().unique()})
        if all(label.lstrip("-").isdecimal() for label in labels):
            labels = sorted(labels, key=float)
        received = f"the event column {column!r} has the values {_listed(labels)}"
        if len(labels) > _MAX_TYPES:
            raise TargetError(
                f"{received}; expected 0 for censored and one whole number or word for each event type. Is --event "
                "the right column?"
            )
        absent = [label for label in censored or () if label not in labels]
        if absent:
            raise TargetError(f"{received}, but not {_listed(absent)} (--censored).")
        guesses = [label for label in labels if label.lower() in _CENSORED]
        if not censored and len(guesses) != 1 and labels not in (["1"], ["True"]):
            raise TargetError(
                f"{received}; expected 0, False, alive or censored for censored rows. Name the value that means "
                f"censored, such as --censored {labels[0]!r}; every other value is an event type."
            )
        censored = tuple(censored or guesses)
        return cls(censored, tuple(label for label in labels if label not in censored))

    @property
    def of_label(self) -> dict[str, int]:
        """The code of each label."""
        return dict.fromkeys(self.censored, 0) | {
            label: code for code, label in enumerate(self.types, 1)
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each event type."""
        return names_of_labels(self.types)

    def encode(self, values: pd.Series[Any], column: str) -> IntArray:
        """Return the code of each value."""
        labels = values.map(_label)
        unknown = sorted(set(labels) - set(self.of_label))
        if unknown:
            raise TargetError(
                f"the event column {column!r} has values that were not in the training data: {_listed(unknown)}; "
                f"expected {_listed(list(self.of_label))}. Correct them, or leave these rows out."
            )
        return np.array(labels.map(self.of_label), dtype=np.int64)


def read_outcome(
    frame: pd.DataFrame, options: TableOptions, codes: EventCodes | None = None
) -> tuple[pd.DataFrame, NDArray[np.void], EventCodes]:
    """Return the rows with an outcome, their target and the event codes (learned if there are none).

    The columns of the outcome are numbers. With ``--visit`` a row is an interval from one visit to the next.
    """
    if options.time is None or options.event is None:
        raise SettingError(
            f"name the columns of time and event: --time and --event. The table has: {', '.join(map(str, frame))}."
        )
    columns = {options.time, options.entry, options.visit, options.upper} - {None}
    frame = frame.assign(
        **{str(column): read_times(frame, str(column), options) for column in columns}
    )
    is_complete = frame[[options.time, options.event]].notna().all(axis=1).to_numpy()
    if not is_complete.any() or not (is_complete.all() or options.skip_incomplete):
        raise TargetError(
            f"{int((~is_complete).sum())} of {len(frame)} rows have no time or no event, the first is data row "
            f"{int(np.argmin(is_complete)) + 1}. Complete them, or leave them out with --skip-incomplete."
        )
    rows = frame[is_complete]
    codes = codes or EventCodes.learn(rows[options.event], options.event, options.censored)
    rows = rows.assign(**{options.event: codes.encode(rows[options.event], options.event)})
    if options.visit is not None:
        rows = intervals_of_visits(rows, options)
    try:
        y = make_target(
            rows[options.time],
            rows[options.event],
            None if options.start is None else rows[options.start],
            None if options.upper is None else rows[options.upper],
            None if options.id is None else rows.get(options.id),
            paths=not options.separate_rows,
        )
    except TargetError as error:
        hint = " On the command line it is --separate-rows." if "paths=" in str(error) else ""
        raise TargetError(f"{error}{hint}") from None
    return rows, y, codes


def intervals_of_visits(rows: pd.DataFrame, options: TableOptions) -> pd.DataFrame:
    """Return one row per interval between visits; the column of the visit is its start, that of the time its end."""
    if options.id is None:
        raise SettingError("--visit needs --id, the column that identifies the subjects.")
    time, event = str(options.time), str(options.event)
    intervals = start_stop(
        rows, subject=options.id, visit=str(options.visit), time=time, event=event
    )
    covariates = intervals.columns[4:]
    return intervals.set_axis([options.id, options.visit, time, event, *covariates], axis=1)


def read_times(frame: pd.DataFrame, column: str, options: TableOptions) -> FloatArray:
    """Return a column of the outcome as numbers, NaN if missing; dates count from the origin."""
    values = frame[column]
    if not holds_dates(values):
        numbers = pd.to_numeric(values.astype(object), errors="coerce")
        is_invalid = (numbers.isna() & values.notna()).to_numpy()
        if is_invalid.any():
            row = int(np.argmax(is_invalid))
            raise TargetError(
                f"column {column!r} must hold numbers; got {str(values.iloc[row])!r} in data row {row + 1} "
                f"({int(is_invalid.sum())} such rows). Correct them, or name the marks of the numbers, such as "
                "--decimal , or --thousands ,"
            )
        return numbers.to_numpy(dtype=np.float64)
    if options.origin is None:
        raise TargetError(
            f"column {column!r} holds dates. Name the column or the date at which each subject's time begins: "
            "--origin enrolled or --origin 2020-01-31; --unit sets the unit, such as months (default days)."
        )
    days = unit_days(options.unit or "days")
    if days is None:
        raise SettingError(
            f"--unit must be one of {', '.join(DAYS)} to count dates; got {options.unit!r}."
        )
    elapsed = to_dates(values, options.date_order) - _origin(frame, options)
    return elapsed.dt.total_seconds().to_numpy(dtype=np.float64) / 86400 / days


def dates_to_years(
    frame: pd.DataFrame, names: Sequence[str], options: TableOptions
) -> tuple[pd.DataFrame, list[str]]:
    """Return a table whose date columns are years before the origin, and the names of these columns.

    Without an origin they stay dates. So do columns with dates after the origin, unless ``--keep`` names them.
    """
    date_columns = [name for name in names if name in frame and holds_dates(frame[name])]
    if options.origin is None or not date_columns:
        return frame, []
    origin, years_before = _origin(frame, options), {}
    for name in date_columns:
        elapsed: Any = origin - to_dates(frame[name], options.date_order)
        years = elapsed.dt.total_seconds() / 86400 / DAYS["year"]
        if (years < 0).mean() <= _MAX_AFTER_ORIGIN or name in (options.keep or ()):
            years_before[name] = years
    return frame.assign(**years_before), list(years_before)


def _origin(frame: pd.DataFrame, options: TableOptions) -> Any:
    column = str(options.origin)
    if is_date(column):
        return pd.Timestamp(column)
    refuse_missing(column, "--origin", list(frame.columns))
    return to_dates(frame[column], options.date_order)


def holds_dates(values: pd.Series[Any]) -> bool:
    """Return whether a column holds dates, or texts of which the first 50 are dates in one format."""
    return bool(_readings(values.dropna().head(50)))


def to_dates(values: pd.Series[Any], order: DateOrder | str | None) -> pd.Series[Any]:
    """Return a column as dates without time zone."""
    readings = _readings(values)
    if not readings:
        raise CovariateError(
            f"column {values.name!r} must hold dates of one format; got others, such as "
            f"{values.dropna().tolist()[:1]}. Correct them."
        )
    month_first, day_first = readings[0], readings[-1]
    if order is None and not month_first.equals(day_first):
        raise CovariateError(
            f"column {values.name!r} has dates that can be read in two orders, such as {values.dropna().iloc[0]!r}. "
            "Add --date-order dmy or --date-order mdy"
        )
    return day_first if order == "dmy" else month_first


def _readings(values: pd.Series[Any]) -> list[pd.Series[Any]]:
    """Return a column as dates, by each format that fits all its values; none if it holds no dates."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return [pd.to_datetime(values, utc=True).dt.tz_localize(None)]
    texts = values.dropna().astype(str)
    if values.dtype.kind != "O" or isinstance(values.dtype, pd.CategoricalDtype) or texts.empty:
        return []
    readings = []
    for date_format in _DATE_FORMATS:
        if date_format == "ISO8601" and not texts.str.contains("-").all():
            continue  # a year alone, such as 2020
        dates = pd.to_datetime(texts, format=date_format, errors="coerce", utc=True)
        if dates.notna().all():
            readings.append(dates.dt.tz_localize(None).reindex(values.index))
    return readings


def _label(value: Any) -> str:
    """Return a value as a user would write it: 1 for 1.0."""
    return str(value).strip().removesuffix(".0")


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(map(repr, labels[:5])) + (", ..." if len(labels) > 5 else "")
