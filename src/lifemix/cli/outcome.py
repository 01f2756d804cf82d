"""The outcome of a table: its times, and its events as 0 (censored) and 1..M (event types), whatever their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._types import BoolArray, FloatArray, IntArray
from ..errors import CovariateError, SettingError, TargetError
from ..target import make_target, names_of_labels
from .read_table import TableFile, looks_like_numbers
from .table_options import TableOptions, is_date_text
from .time_units import DAYS, unit_days

__all__ = ["EventCodes", "dates_to_years", "holds_dates", "read_target", "read_times", "to_dates"]

_MONTH_FIRST, _DAY_FIRST = "%m/%d/%Y", "%d/%m/%Y"
_DATE_FORMATS = ("ISO8601", "%d.%m.%Y", _MONTH_FIRST, _DAY_FIRST)
_AFTER_ORIGIN = 0.02  # largest share of dates after the origin in a covariate

_MOST_TYPES = 20
_CENSORED_WORDS = {
    "0",
    "alive",
    "cens",
    "censor",
    "censored",
    "censoring",
    "event-free",
    "false",
    "living",
    "lost to follow-up",
    "no",
    "no event",
    "none",
    "right-censored",
    "survived",
}
_EVENT_PARTS = (
    *(
        "dead",
        "death",
        "died",
        "deceas",
        "event",
        "relaps",
        "recur",
        "progress",
        "fail",
        "yes",
        "true",
        "transplant",
    ),
    *(
        "churn",
        "cancel",
        "default",
        "infarct",
        "stroke",
        "diagnos",
        "expired",
        "exitus",
        "mort",
        "décès",
        "tod",
    ),
)


@dataclass(frozen=True)
class EventCodes:
    """Which labels of the event column mean censored, and the label of each event type 1, 2, ..."""

    censored: tuple[str, ...]
    types: tuple[str, ...]

    @classmethod
    def learn(cls, values: pd.Series[Any], column: str, censored: Sequence[str]) -> EventCodes:
        """Read the labels of a column; refuse to guess where they are ambiguous."""
        labels = _sorted_labels(values)
        if len(labels) > _MOST_TYPES:
            raise TargetError(
                f"the event column {column!r} has {len(labels)} different values, such as {_some(labels)}; expected 0 "
                "for censored and one value for each event type. Is --event the right column?"
            )
        found = _given(labels, column, censored) if censored else _guess(labels, column)
        return cls(tuple(found), tuple(label for label in labels if label not in found))

    def encode(self, values: pd.Series[Any], column: str) -> IntArray:
        """Return one code per row."""
        code = dict.fromkeys(self.censored, 0) | {
            label: number for number, label in enumerate(self.types, 1)
        }
        texts = values.map(_label_text)
        unknown = sorted(set(texts) - set(code))
        if unknown:
            raise TargetError(
                f"the event column {column!r} has values that were not in the training data: {_some(unknown)}; known "
                f"are {_some(self.censored)} (censored) and {_some(self.types)}. Correct them, or leave these rows out."
            )
        return np.asarray(texts.map(code), dtype=np.int64)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each event type."""
        return names_of_labels(self.types)


def read_target(
    table: TableFile, options: TableOptions, codes: EventCodes | None = None
) -> tuple[BoolArray, NDArray[np.void], EventCodes]:
    """Return which rows have an outcome, their target, and the event codes (learned where none are given)."""
    if options.time is None or options.event is None:
        raise SettingError("name the columns of the time and the event: --time and --event.")
    frame = table.frame
    time, event = read_times(frame, options.time, "--time", options), frame[options.event]
    rows = np.asarray(~np.isnan(time) & event.notna().to_numpy())
    if not rows.all() and not options.skip_incomplete:
        first = int(np.flatnonzero(~rows)[0]) + 1
        raise TargetError(
            f"{int((~rows).sum())} of {len(rows)} rows have no time or no event, the first is data row {first}. "
            "Complete them, or leave them out with --skip-incomplete."
        )
    if not rows.any():
        raise TargetError(
            f"no row has both a time ({options.time!r}) and an event ({options.event!r})."
        )
    if (
        pd.api.types.is_float_dtype(event.dtype)
        and not (event[rows] == np.floor(event[rows])).all()
    ):
        raise TargetError(
            f"the event column {options.event!r} has fractions; expected whole numbers or words."
        )
    codes = codes or EventCodes.learn(event[rows], options.event, options.censored)
    _refuse_negative(time[rows], options.time)
    given = (
        time[rows],
        codes.encode(event[rows], options.event),
        None
        if options.entry is None
        else read_times(frame, options.entry, "--entry", options)[rows],
        None
        if options.upper is None
        else read_times(frame, options.upper, "--upper", options)[rows],
        None if options.id not in frame.columns else _subjects(frame, options.id)[rows],
    )
    try:
        y = make_target(*given, paths=not options.separate_rows)
    except TargetError as error:
        raise TargetError(str(error).replace("give paths=False", "add --separate-rows")) from None
    return rows, y, codes


def read_times(frame: pd.DataFrame, column: str, option: str, options: TableOptions) -> FloatArray:
    """Return a column of the outcome as numbers, NaN where missing; dates count from the origin."""
    values = frame[column]
    if pd.api.types.is_timedelta64_dtype(values.dtype):
        raise TargetError(
            f"column {column!r} ({option}) holds durations; expected numbers. Divide them by a unit."
        )
    if holds_dates(values):
        return _time_since_origin(frame, column, option, options)
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.flatnonzero(np.isnan(numbers) & values.notna().to_numpy())
    if len(bad):
        text = str(values.iloc[bad[0]])
        fix = (
            "Name the marks of the numbers, such as --decimal , or --thousands ,"
            if looks_like_numbers([text])[0]
            else "Correct them, or name another column."
        )
        raise TargetError(
            f"column {column!r} ({option}) must hold numbers; got {text!r} in data row {bad[0] + 1} ({len(bad)} such "
            f"rows). {fix}"
        )
    return numbers


def holds_dates(values: pd.Series[Any]) -> bool:
    """Return whether a column holds dates, or texts of which the first 50 are dates in one format."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return True
    texts = values.dropna().iloc[:50]
    return (
        len(texts) > 0
        and not isinstance(texts.dtype, pd.CategoricalDtype)
        and len(_readings(texts)) > 0
    )


def to_dates(name: str, values: pd.Series[Any], order: str | None) -> pd.Series[Any]:
    """Return a column as dates without time zone; ``order`` (dmy or mdy) is that of dates such as 3/4/2020."""
    if not pd.api.types.is_datetime64_any_dtype(values.dtype):
        readings = _readings(values)
        if not readings:
            raise CovariateError(
                f"column {name!r} mixes dates of several formats, or has wrong ones. Correct them."
            )
        if order is not None and len(readings) > 1:
            return readings[_DAY_FIRST if order == "dmy" else _MONTH_FIRST]
        values, *others = readings.values()
        if others and not values.equals(others[0]):
            example = readings[_MONTH_FIRST].dropna().index[0]
            raise CovariateError(
                f"column {name!r} has dates that can be read in two orders, the first in data row {example + 1}. Add "
                "--date-order dmy or --date-order mdy"
            )
    return values.dt.tz_localize(None) if values.dt.tz is not None else values


def _readings(values: pd.Series[Any]) -> dict[str, pd.Series[Any]]:
    """Return a column of texts as dates, by each format that fits all of them."""
    readings: dict[str, pd.Series[Any]] = {}
    if values.dtype.kind in "biufcm":
        return readings
    texts = values.astype(str).where(values.notna())
    for date_format in _DATE_FORMATS:
        if date_format == "ISO8601" and not texts.dropna().str.contains("-").all():
            continue  # a year alone, such as 2020
        dates = pd.to_datetime(texts, format=date_format, errors="coerce")
        if dates.notna().equals(values.notna()):
            readings[date_format] = dates
    return readings


def _origin(frame: pd.DataFrame, options: TableOptions) -> Any:
    column = str(options.origin)
    if is_date_text(column):
        return pd.Timestamp(column)
    if column not in frame:
        raise CovariateError(
            f"the table has no column {column!r} (--origin), from which dates are counted."
        )
    if not holds_dates(frame[column]):
        raise SettingError(
            f"--origin must be a column of dates, or a date such as 2020-01-31; got {column!r}."
        )
    return to_dates(column, frame[column], options.date_order)


def _time_since_origin(
    frame: pd.DataFrame, column: str, option: str, options: TableOptions
) -> FloatArray:
    """Return a column of dates as times since the origin, NaN if missing."""
    if options.origin is None:
        raise TargetError(
            f"column {column!r} ({option}) holds dates. Name the column or the date at which each subject's time "
            "begins: --origin enrolled or --origin 2020-01-31; --unit sets the unit, such as months (default days)."
        )
    days = unit_days(options.time_unit or "days")
    if days is None:
        raise SettingError(
            f"--unit must be one of {', '.join(DAYS)} to count dates; got {options.time_unit!r}."
        )
    elapsed = to_dates(column, frame[column], options.date_order) - _origin(frame, options)
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
        elapsed: Any = origin - to_dates(name, frame[name], options.date_order)
        years = elapsed.dt.total_seconds() / 86400 / DAYS["years"]
        if (years < 0).mean() <= _AFTER_ORIGIN or name in options.keep:
            years_before[name] = years
    return frame.assign(**years_before), list(years_before)


def _subjects(frame: pd.DataFrame, column: str | None) -> NDArray[np.object_]:
    """Return the identifier of each row's subject, as text; all rows must have one."""
    values = frame[column]
    missing = np.flatnonzero(values.isna().to_numpy())
    if len(missing):
        raise TargetError(
            f"column {column!r} (--id) must say whose row it is; got no value in data row {missing[0] + 1} "
            f"({len(missing)} such rows). Complete them; a subject that is unknown gets a value of its own."
        )
    return values.map(_label_text).to_numpy(dtype=object)


def _refuse_negative(time: FloatArray, column: str) -> None:
    bad = np.flatnonzero(time < 0)
    if len(bad):
        raise TargetError(
            f"times must be 0 or more; column {column!r} has {time[bad[0]]:g} ({len(bad)} such rows). Correct them, or "
            "count from an earlier start."
        )


def _label_text(value: Any) -> str:
    """Return a value as a user would write it: 1 for 1.0."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _sorted_labels(values: pd.Series[Any]) -> list[str]:
    labels = {_label_text(value) for value in values.unique()}
    try:
        return sorted(labels, key=float)
    except ValueError:
        return sorted(labels)


def _given(labels: list[str], column: str, censored: Sequence[str]) -> list[str]:
    found = [label for label in labels if label in censored]
    absent = [label for label in censored if label not in labels]
    if absent:
        raise TargetError(
            f"the event column {column!r} has no value {_some(absent)}; it has {_some(labels)}."
        )
    return found


def _guess(labels: list[str], column: str) -> list[str]:
    found = [label for label in labels if _word(label) in _CENSORED_WORDS]
    if len(found) == 1:
        return found
    if labels == ["1"] or labels == ["True"]:
        return []  # no row is censored
    if all(label.lstrip("-").replace(".", "", 1).isdecimal() for label in labels):
        raise TargetError(
            f"the event column {column!r} has the values {_some(labels)}; expected 0 for censored and 1, 2, ... for "
            f"event types. {_ask(labels)}"
        )
    several = (
        f"several of which may mean censored: {_some(found)}"
        if found
        else "none of which is known to mean censored"
    )
    raise TargetError(
        f"the event column {column!r} has the values {_some(labels)}, {several}. {_ask(found or labels)}"
    )


def _ask(labels: Sequence[str]) -> str:
    """Return how to say which value means censored; as an example one that does not sound like an event."""
    calm = [label for label in labels if not any(part in _word(label) for part in _EVENT_PARTS)]
    if labels == ["1", "2"]:
        return "Say which means censored: as in R, where 1 is censored and 2 an event, --censored 1"
    if len(calm) == 1 and len(labels) > 1:
        return f"Say which means censored, for example --censored '{calm[0]}'; every other value is an event type."
    each = " or ".join(f"--censored '{label}'" for label in (calm or labels)[:4])
    more = " (may be repeated)" if len(labels) > 2 else ""
    return f"Say which means censored: {each}{more}; every other value is an event type."


def _word(label: str) -> str:
    """Return a label in lower case, without a code in front as in '0:LIVING'."""
    return label.rsplit(":", 1)[-1].strip().lower().replace("_", "-")


def _some(labels: Sequence[str]) -> str:
    shown = ", ".join(repr(label) for label in labels[:5])
    return shown + (", ..." if len(labels) > 5 else "")
