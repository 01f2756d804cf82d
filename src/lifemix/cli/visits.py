"""Tables with one row per visit: made into intervals from visit to visit, the last known values carried forward."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from ..errors import SettingError, TargetError
from ..preprocessing import start_stop
from .outcome import EventCodes, read_times
from .output import Screen
from .read_table import TableFile
from .start_stop import is_path
from .table_options import TableOptions

__all__ = ["refuse_visits", "visits_as_intervals", "visits_to_predict"]

_SEVERAL = 0.1  # least share of rows that are not a subject's first
_ASCENDS = 0.95  # least share of the subjects with several rows in which a time of visits ascends
_NEVER = 1e300  # the end of a last row where the table does not tell it


def visits_as_intervals(
    table: TableFile, options: TableOptions, codes: EventCodes | None = None
) -> tuple[TableFile, TableOptions]:
    """Return a table of visits as one of intervals: the column of the visit is its start, that of the time its stop.

    A table without ``--visit``, and one whose rows are intervals already, is returned as it is.
    """
    if options.visit is None:
        return table, options
    named, frame = replace(options, entry=options.visit), _complete(table.frame, options)
    if options.id is None:
        raise SettingError("--visit needs --id, the column that identifies the subjects.")
    visit, stop = _times(frame, options)
    if is_path(visit, stop, frame[options.id]):
        return table, named
    event = str(options.event)
    known = codes or EventCodes.learn(frame[event], event, options.censored)
    label = (
        known.censored or ("0" if all(one.isdecimal() for one in known.types) else "censored",)
    )[0]
    rows = _intervals(frame, options, visit, stop)
    last = rows[str(options.id)].ne(rows[str(options.id)].shift(-1)).to_numpy()
    happened = rows["event"].astype(object).where(last, label)
    return replace(table, frame=_renamed(rows, options).assign(**{event: happened})), named


def visits_to_predict(
    screen: Screen, table: TableFile, options: TableOptions
) -> tuple[TableFile, TableOptions]:
    """Return a table of visits as one of intervals; where it has no end of observation, the last visit holds on."""
    if options.visit is None or not {options.visit, options.id} <= set(table.frame.columns):
        return table, options
    frame, time = table.frame, str(options.time)
    if time not in frame.columns:
        frame = frame.assign(**{time: _NEVER})
        screen.say(
            f"The table has no column {time!r}: the last visit of each subject holds on.",
            markup=False,
        )
    visit, stop = _times(frame, options)
    if not is_path(visit, stop, frame[str(options.id)]):
        without = frame.drop(columns=str(options.event), errors="ignore").assign(
            **{str(options.event): 0}
        )
        rows = _intervals(without, options, visit, stop)
        frame = _renamed(rows, options).drop(columns=str(options.event))
    return replace(table, frame=frame), replace(options, entry=options.visit)


def refuse_visits(frame: pd.DataFrame, options: TableOptions) -> None:
    """Refuse a table in which every row of a subject has its one outcome, and some column tells when the row was made.

    Its rows are visits: as separate observations each subject would count several times.
    """
    if options.id is None or options.entry is not None or options.visit is not None:
        return
    subject = frame[options.id]
    later = subject.duplicated()
    outcome = [options.id, str(options.time), str(options.event)]
    if later.mean() < _SEVERAL or len(frame[outcome].drop_duplicates()) > (~later).sum():
        return
    stop = pd.to_numeric(frame[str(options.time)], errors="coerce")
    for name in frame.columns:
        if name in options.apart or name in options.keep or frame[name].dtype.kind not in "if":
            continue
        values = frame[name]
        groups = values[subject.duplicated(keep=False)].groupby(subject, sort=False)
        ascends = groups.apply(lambda own: own.is_monotonic_increasing and own.is_unique)
        if (values <= stop).all() and ascends.mean() >= _ASCENDS:
            raise TargetError(
                f"this looks like a table of visits: all rows of a subject have its one outcome, and {str(name)!r} "
                f"ascends from row to row. Add --visit {name}, so that each row holds from one visit to the next; "
                f"--keep {name} uses it as a covariate of separate rows."
            )


def _times(frame: pd.DataFrame, options: TableOptions) -> tuple[Any, Any]:
    columns = ((str(options.visit), "--visit"), (str(options.time), "--time"))
    visit, stop = (read_times(frame, column, option, options) for column, option in columns)
    return visit, stop


def _intervals(frame: pd.DataFrame, options: TableOptions, visit: Any, stop: Any) -> pd.DataFrame:
    names: dict[str, Any] = {"subject": options.id, "visit": options.visit, "time": options.time}
    numbers = frame.assign(**{str(options.visit): visit, str(options.time): stop})
    return start_stop(numbers, event=str(options.event), **names)


def _renamed(rows: pd.DataFrame, options: TableOptions) -> pd.DataFrame:
    names = {"start": str(options.visit), "stop": str(options.time), "event": str(options.event)}
    return rows.rename(columns=names)


def _complete(frame: pd.DataFrame, options: TableOptions) -> pd.DataFrame:
    """Return the rows with an outcome, where those without are to be left out."""
    if not options.skip_incomplete:
        return frame
    return frame[frame[[str(options.time), str(options.event)]].notna().all(axis=1)].reset_index(
        drop=True
    )
