"""Rows of one subject as consecutive intervals ``(start, stop]``, each with its covariates.

The rows of a subject must not overlap or leave a gap, and only the last may end with an event. The
hazard at t is that of the row whose interval contains t, so each row counts given survival to its
start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ._types import BoolArray, FloatArray, IndexArray, IntArray
from .checks import as_numbers, as_pandas, check_times, refuse_rows, warn_user
from .errors import InputError, TargetError

__all__ = ["Intervals", "checked_starts", "path_curves", "path_order", "start_stop"]

_ROUNDING = 1e-9  # relative difference below which an end and the next start are equal
_BLOCK = 128  # rows whose curves are computed at once


def path_order(
    path: IndexArray, start: FloatArray, stop: FloatArray
) -> tuple[IndexArray, IndexArray]:
    """Return the rows sorted by path (0, 1, 2 ...) and time, and where each path begins there."""
    order = np.lexsort((stop, start, path))
    return order, np.flatnonzero(np.diff(path[order], prepend=-1))


def checked_starts(
    path: IndexArray,
    subject: Any,
    start: FloatArray,
    stop: FloatArray,
    event: IntArray,
    row_numbers: IntArray | None = None,
) -> FloatArray:
    """Return the starts, each equal to the end of the row before; refuse other rows.

    Parameters
    ----------
    path : int array of shape (n,)
        Numbers 0, 1, 2 ... of the subjects.
    subject : array-like of shape (n,) or None
        Identifiers of the subjects, for messages.
    start, stop, event : arrays of shape (n,)
        The intervals, and how they end.
    row_numbers : int array of shape (n,), optional
        Numbers of the rows for messages, if they are rows of a larger table.

    Returns
    -------
    float array of shape (n,)
        The starts without rounding errors.
    """
    order, firsts = path_order(path, start, stop)
    later = np.delete(np.arange(len(order)), firsts)
    before, after = order[later - 1], order[later]
    gap = start[after] - stop[before]
    gap[np.abs(gap) <= _ROUNDING * stop[before]] = 0.0

    def refuse(invalid: BoolArray, problem: str, fix: str) -> None:
        if not invalid.any():
            return
        pair = int(np.flatnonzero(invalid)[0])
        i, j = int(before[pair]), int(after[pair])
        name = "one" if subject is None else f"subject {pd.Series(subject).iloc[i]}"
        numbers = (i, j) if row_numbers is None else (int(row_numbers[i]), int(row_numbers[j]))
        raise TargetError(
            "with entry and subject, the rows of one subject must be consecutive intervals; got "
            f"{name} in ({start[i]:g}, {stop[i]:g}] and ({start[j]:g}, {stop[j]:g}], {problem} "
            f"(rows {numbers[0]} and {numbers[1]}; {int(invalid.sum())} such pairs). {fix}. For "
            "separate observations that only stay together in splits, give paths=False."
        )

    refuse(gap < 0, "which overlap", "Correct the times")
    fix = "Count an event that does not end the observation as 0"
    refuse(event[before] > 0, "the first with an event, after which nothing can follow", fix)
    refuse(gap > 0, "with a gap between them", "Extend the row before to the start of the next")
    starts = start.copy()
    starts[after] = stop[before]
    return starts


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals of several subjects, sorted by subject and time."""

    rows: IndexArray  # of the table
    start: FloatArray
    stop: FloatArray
    path: IndexArray  # 0, 1, 2 ... by first appearance
    firsts: IndexArray  # where each path begins

    @classmethod
    def read(
        cls, n_rows: int, start: ArrayLike, stop: ArrayLike, codes: IntArray, subject: ArrayLike
    ) -> Intervals:
        """Check the intervals of a table: one per row, consecutive for each subject."""
        starts, stops = check_times(start, "start"), check_times(stop, "stop")
        for name, values in {"start": starts, "stop": stops, "subject": codes}.items():
            if len(values) != n_rows:
                raise InputError(
                    f"{name} must have one value per row of X, {n_rows}; got {len(values)}."
                )
        refuse_rows(starts >= stops, starts, "start must be < stop", "Drop empty intervals")
        path = pd.factorize(codes)[0]
        starts = checked_starts(path, subject, starts, stops, np.zeros(n_rows, dtype=np.int64))
        order, firsts = path_order(path, starts, stops)
        return cls(order, starts[order], stops[order], path[order], firsts)


# From rows, their starts and times to survival, and if asked for incidence, given survival to the
# start; both [n_rows, n_times].
Conditional = Callable[[IndexArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray | None]]


def path_curves(
    intervals: Intervals,
    times: FloatArray,
    conditional: Conditional,
    incidence: bool,
    extend: bool,
) -> FloatArray:
    """Return survival (or incidence) of each path at each time, ``[n_paths, n_times]``.

    With ``S_j`` and ``F_j`` the survival and the incidence in row j given survival to its start,
    the survival at t in row j is ``S_j(t)`` times the product of ``S_i(stop_i)`` of the rows before
    it, and the incidence is the sum of ``F_i(stop_i)`` times the survival at ``start_i`` over these
    rows, plus the same for row j at t. Before the first start survival is 1 (incidence 0); after
    the last stop both are NaN, or with ``extend`` those of the last row.
    """
    n_paths = len(intervals.firsts)
    position = np.arange(len(intervals.rows)) - intervals.firsts[intervals.path]  # in the path
    is_last = np.append(np.diff(intervals.path) > 0, True)
    ends = intervals.stop[is_last]
    if not extend and (ends < times.max()).any():
        warn_user(
            f"the paths of {int((ends < times.max()).sum())} of {n_paths} subjects end before the "
            f"last time, {times.max():g}: NaN beyond their last stop. extend=True keeps the last "
            "covariates."
        )
    curves = np.full((n_paths, len(times)), np.nan)
    survived, happened = np.ones(n_paths), np.zeros(n_paths)  # up to the start of a row
    for step in range(int(position.max()) + 1):
        rows_of_step = np.flatnonzero(position == step)
        for first in range(0, len(rows_of_step), _BLOCK):
            rows = rows_of_step[first : first + _BLOCK]
            path, start, stop = intervals.path[rows], intervals.start[rows], intervals.stop[rows]
            grid = np.unique(np.append(times, stop))
            at_times, at_stop = np.searchsorted(grid, times), np.searchsorted(grid, stop)
            survival, incidences = conditional(intervals.rows[rows], start, grid)
            survived_to_start = survived[path][:, None]
            values = survived_to_start * survival
            if incidence:
                assert incidences is not None
                values = happened[path][:, None] + survived_to_start * incidences
            has_begun = (times > start[:, None]) | (step == 0)
            has_ended = (times > stop[:, None]) & ~(extend & is_last[rows])[:, None]
            inside = has_begun & ~has_ended
            curves[path] = np.where(inside, values[:, at_times], curves[path])
            row_index = np.arange(len(rows))
            survived[path] *= survival[row_index, at_stop]
            happened[path] = values[row_index, at_stop]
    return curves


def start_stop(
    visits: pd.DataFrame,
    outcomes: pd.DataFrame | None = None,
    *,
    subject: str = "id",
    visit: str = "visit",
    time: str = "time",
    event: str = "event",
) -> pd.DataFrame:
    """Return one row per interval between visits, with the last known value of every covariate.

    An interval begins at a visit and ends at the next one; the last ends when observation ends. A
    value that is missing at a visit is that of the visit before. Visits at the same time count as
    one, visits at or after the end are left out, and the last values known at time 0 hold from 0
    on. Covariates are missing up to the first visit.

    Parameters
    ----------
    visits : DataFrame
        One row per visit: the columns ``subject`` and ``visit``, and the covariates that change.
    outcomes : DataFrame, optional
        One row per subject: the columns ``subject``, ``time`` and ``event``, and covariates that do
        not change. None: every row of ``visits`` has the time and the event of its subject.
    subject, visit, time, event : str
        Names of columns: the identifier, the time of the visit, the end of the observation, and its
        event (0 if censored). Visits and ends count from the same origin.

    Returns
    -------
    DataFrame
        The columns ``subject``, ``start``, ``stop``, ``event`` and the covariates; subjects in the
        order of ``outcomes``, their intervals in order of time.

    Raises
    ------
    InputError
        If columns or times are missing, ends are not after 0, or a subject has two outcomes.

    Warns
    -----
    LifemixWarning
        If visits belong to subjects without an outcome; they are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from lifemix import make_target
    >>> from lifemix.preprocessing import start_stop
    >>> visits = pd.DataFrame({"id": [1, 1, 2], "visit": [0, 30, 0], "bili": [1.4, 2.1, 0.8]})
    >>> ends = pd.DataFrame({"id": [1, 2], "time": [75, 90], "event": [1, 0]})
    >>> rows = start_stop(visits, ends)
    >>> print(rows.to_string(index=False))
     id  start  stop  event  bili
      1    0.0  30.0      0   1.4
      1   30.0  75.0      1   2.1
      2    0.0  90.0      0   0.8
    >>> y = make_target(rows["stop"], rows["event"], entry=rows["start"], subject=rows["id"])
    """
    table = as_pandas(visits)
    names = subject, visit, time, event
    ends, covariates = _outcomes_and_covariates(table, outcomes, *names)
    stop, at = _known_times(ends[time], time), _known_times(table[visit], visit)
    fix = "Leave out subjects who were never observed"
    refuse_rows(stop <= 0, stop, f"{time} must be > 0", fix)
    number = pd.Index(ends[subject]).get_indexer(table[subject])  # -1: no outcome
    if (number < 0).any():
        warn_user(
            f"{int((number < 0).sum())} visits of subjects without an outcome are left out, such "
            f"as {table[subject][number < 0][:3].tolist()}."
        )
    visit_rows = np.flatnonzero((number >= 0) & (at < stop[number]))
    number, at = number[visit_rows], at[visit_rows]
    # Row -1 of the covariates, which are missing, begins the path of a subject at 0.
    late = np.setdiff1d(np.arange(len(ends)), number[at <= 0])
    visit_rows = np.append(visit_rows, np.full(len(late), -1))
    number, at = np.append(number, late), np.append(at, np.zeros(len(late)))
    order = np.lexsort((at, number))
    number, start = number[order], np.maximum(at[order], 0.0)
    values = covariates.reset_index(drop=True).reindex(visit_rows[order]).reset_index(drop=True)
    values[values.columns] = values.groupby(number, sort=False).ffill()
    # Of several visits at the same time (or before 0) the last row has all known values.
    is_complete = (np.diff(number, append=-1) != 0) | (np.diff(start, append=-1) != 0)
    number, start, values = number[is_complete], start[is_complete], values[is_complete]
    is_last = np.diff(number, append=-1) != 0
    ends = ends.iloc[number].reset_index(drop=True)  # one row per interval
    rows = pd.DataFrame({subject: ends[subject], "start": start})
    rows["stop"] = np.where(is_last, stop[number], np.append(start[1:], 0.0))
    rows["event"] = np.where(is_last, ends[event], 0)
    fixed = ends.drop(columns=[subject, time, event])
    return pd.concat([rows, fixed, values.reset_index(drop=True)], axis=1)


def _outcomes_and_covariates(
    table: pd.DataFrame,
    outcomes: pd.DataFrame | None,
    subject: str,
    visit: str,
    time: str,
    event: str,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return one row per subject with its outcome, and the covariates that change, one per visit."""
    ends = table if outcomes is None else as_pandas(outcomes)
    _require_columns(table, [subject, visit], "visits")
    _require_columns(ends, [subject, time, event], "visits" if outcomes is None else "outcomes")
    covariates = table.drop(columns=[subject, visit])
    if outcomes is None:
        covariates = covariates.drop(columns=[time, event])
        ends = table[[subject, time, event]].drop_duplicates()
    fixed = ends.columns.drop([subject, time, event])
    names = pd.Index([subject, "start", "stop", "event", *fixed, *covariates])
    if names.has_duplicates:
        raise InputError(
            "covariates must have other names than the columns subject, start, stop and event of "
            f"the result, and occur once in both tables; got {names[names.duplicated()].tolist()}. "
            "Rename or drop them."
        )
    is_repeated = ends[subject].duplicated()
    if is_repeated.any():
        raise InputError(
            f"each subject must have one {time} and one {event}; got several for "
            f"{ends[subject][is_repeated].iloc[0]} ({int(is_repeated.sum())} such rows). Correct them."
        )
    return ends, covariates


def _require_columns(frame: pd.DataFrame, names: list[str], table: str) -> None:
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(
            f"{table} must have the columns {names}; got {list(frame.columns)}, without {missing}."
        )


def _known_times(column: pd.Series[Any], name: str) -> FloatArray:
    times = as_numbers(column, name)
    fix = "Leave these rows out"
    refuse_rows(~np.isfinite(times), times, f"{name} must be known in every row", fix)
    return times
