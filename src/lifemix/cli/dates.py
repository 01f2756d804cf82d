"""Dates in a table: start and end dates in place of a time, and date columns as years before the origin."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import CovariateError, SettingError, TargetError
from .table_options import TableOptions, is_date_text
from .time_units import DAYS, unit_days

__all__ = ["as_dates", "dates_as_ages", "holds_dates", "time_since_origin"]

_ISO = re.compile(r"\d{4}-\d\d?-\d\d?(?:[ T].*)?")
_DAY_FIRST = re.compile(r"\d\d?\.\d\d?\.\d{4}")
_SLASHES = re.compile(r"\d\d?/\d\d?/\d{4}")
_AFTER = 0.02  # share of dates after the origin, from which a column tells of the future


def holds_dates(values: pd.Series[Any]) -> bool:
    """Tell whether a column holds dates, as such or as text."""
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return True
    if not pd.api.types.is_object_dtype(values.dtype) and not pd.api.types.is_string_dtype(values.dtype):
        return False
    present = values.dropna()
    if not len(present):
        return False
    if pd.api.types.infer_dtype(present) in ("date", "datetime", "datetime64"):
        return True
    texts = present.iloc[:50].astype(str)
    return any(
        texts.map(lambda text, form=form: bool(form.fullmatch(text))).all() for form in (_ISO, _DAY_FIRST, _SLASHES)
    )


def as_dates(name: str, values: pd.Series[Any], order: str | None) -> pd.Series[Any]:
    """Return a column of dates as such, missing where it is; ``order`` is that of day and month between slashes."""
    if not pd.api.types.is_datetime64_any_dtype(values.dtype):
        texts = values.map(str, na_action="ignore")
        texts = texts.where(values.notna())
        day_first = _day_first(name, texts.dropna(), order)
        try:
            values = pd.to_datetime(texts, dayfirst=bool(day_first), format=None if day_first is None else "mixed")
        except (ValueError, TypeError) as error:
            raise CovariateError(f"column {name!r} has dates that cannot be read: {error}. Correct them.") from None
    return values.dt.tz_localize(None) if getattr(values.dt, "tz", None) is not None else values


def _day_first(name: str, texts: pd.Series[Any], order: str | None) -> bool | None:
    """Tell whether the day comes before the month; None for ISO dates."""
    if len(texts) and _DAY_FIRST.fullmatch(texts.iloc[0]):
        return True
    if not len(texts) or not _SLASHES.fullmatch(texts.iloc[0]):
        return None
    parts = texts.str.extract(r"(\d+)/(\d+)/").astype(float)
    first, second = bool((parts[0] > 12).any()), bool((parts[1] > 12).any())
    if first and second:
        raise CovariateError(f"column {name!r} has dates in two orders, such as {texts.iloc[0]!r}. Write one order.")
    if first or second:
        return first
    if order is None:
        raise CovariateError(
            f"column {name!r} has dates such as {texts.iloc[0]!r}; is the day or the month first? Add --date-order dmy "
            "or --date-order mdy"
        )
    return order == "dmy"


def _origin(frame: pd.DataFrame, options: TableOptions) -> Any:
    assert options.origin is not None
    if is_date_text(options.origin):
        return pd.Timestamp(options.origin)
    if options.origin not in frame:
        raise CovariateError(f"the table has no column {options.origin!r} (--origin), from which dates are counted.")
    if not holds_dates(frame[options.origin]):
        raise SettingError(f"--origin must be a column of dates, or a date such as 2020-01-31; got {options.origin!r}.")
    return as_dates(options.origin, frame[options.origin], options.date_order)


def time_since_origin(frame: pd.DataFrame, column: str, option: str, options: TableOptions) -> NDArray[np.float64]:
    """Return a column of dates as times since the origin, in the unit of the times; NaN where one is missing."""
    if options.origin is None:
        raise TargetError(
            f"column {column!r} ({option}) holds dates. Say where each subject's time begins, as a column or a date: "
            "--origin enrolled or --origin 2020-01-31; --unit says what to count, such as months (default days)."
        )
    days = unit_days(options.time_unit or "days")
    if days is None:
        raise SettingError(f"--unit must be one of {', '.join(DAYS)} to count dates; got {options.time_unit!r}.")
    elapsed = as_dates(column, frame[column], options.date_order) - _origin(frame, options)
    return elapsed.dt.total_seconds().to_numpy(dtype=np.float64) / 86400 / days


def dates_as_ages(frame: pd.DataFrame, names: list[str], options: TableOptions) -> tuple[pd.DataFrame, list[str]]:
    """Return a table with columns of dates as years before the origin, and which these are.

    Without an origin they stay dates; so do dates that lie after it, which tell of the future.
    """
    found = [name for name in names if name in frame and holds_dates(frame[name])]
    if options.origin is None or not found:
        return frame, []
    origin, ages = _origin(frame, options), {}
    for name in found:
        elapsed: Any = origin - as_dates(name, frame[name], options.date_order)
        years = elapsed.dt.total_seconds() / 86400 / DAYS["years"]
        if (years < 0).mean() <= _AFTER or name in options.keep:
            ages[name] = years
    return frame.assign(**ages), list(ages)
