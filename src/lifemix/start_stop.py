"""Rows of one subject that follow each other in time: a path of covariates, one interval ``(entry, time]`` per row.

Along a path the hazard at t is that of the row in force at t, so each row counts given survival to its start. Rows make
a path where they neither overlap nor leave a gap, and only the last of them may end with an event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ._types import FloatArray, IndexArray, IntArray
from .checks import Choice, as_pandas, check_same_rows, check_times, warn_user
from .errors import InputError, TargetError

__all__ = [
    "PathRows",
    "checked_starts",
    "path_curves",
    "path_order",
    "ratio_of_curves",
    "start_stop",
]


_ROUNDING = 1e-9  # of a time: an end and the next start that differ by less are the same
_APART = "Where they are separate observations that only stay together in splits, give paths=False"


def path_order(
    path: IntArray, start: FloatArray, stop: FloatArray
) -> tuple[IndexArray, IndexArray]:
    """Return the rows sorted by path, then by time, and where each path begins among them; all arguments (n,).

    path: numbers 0, 1, 2 ...; paths come in the order of their numbers.
    """
    order = np.lexsort((stop, start, path))
    return order, np.flatnonzero(np.diff(path[order], prepend=-1))


def checked_starts(
    path: IntArray,
    names: Any,
    start: FloatArray,
    stop: FloatArray,
    event: IntArray,
    number: IntArray | None = None,
    all_rows: bool = True,
) -> FloatArray:
    """Return the starts, each exactly the end of the row before; rows that do not follow each other are refused.

    path: numbers 0, 1, 2 ... of the subjects; names: what the user calls the subject of each row, None where that is
    not known; number: that of each row in a larger table; all_rows: whether no row of a subject is elsewhere, so that a
    gap is one.
    """
    order, firsts = path_order(path, start, stop)
    before, after = order[:-1], order[1:]
    same = np.ones(len(after), dtype=bool)
    same[firsts[1:] - 1] = False
    before, after = before[same], after[same]
    difference = start[after] - stop[before]
    differs = np.abs(difference) > _ROUNDING * stop[before]
    for wrong, what, fix in (
        (differs & (difference < 0), "which overlap", f"Correct the times. {_APART}"),
        (event[before] > 0, f"the first with event {_first(event[before])}, after which nothing can follow",
         f"Count an event that does not end the observation as 0. {_APART}"),
        (differs & (difference > 0) & all_rows, "with a gap between them",
         f"Keep the covariates of the row before until the next begins. {_APART}"),
    ):  # fmt: skip
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            one, other = int(before[i]), int(after[i])
            subject = "one" if names is None else f"subject {pd.Series(names).iloc[one]}"
            shown = (one, other) if number is None else (int(number[one]), int(number[other]))
            raise TargetError(
                f"with entry and subject, the rows of one subject must be consecutive intervals; got {subject} in "
                f"({start[one]:g}, {stop[one]:g}] and ({start[other]:g}, {stop[other]:g}], {what} (rows {shown[0]} and "
                f"{shown[1]}; {int(wrong.sum())} such pairs). {fix}."
            )
    snapped = start.copy()
    snapped[after] = stop[before]
    return snapped


def _first(events: IntArray) -> int:
    return int(events[events > 0][0]) if (events > 0).any() else 0


# From rows, their starts and times to survival (rows, times), and where it is asked for the incidence, both given
# survival to the start.
Conditional = Callable[[IndexArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray | None]]

_BLOCK = 128


@dataclass(frozen=True, eq=False)
class PathRows:
    """The intervals of paths, sorted by path and then by time; ``rows`` are their places in the table."""

    rows: IndexArray
    start: FloatArray
    stop: FloatArray
    path: IntArray  # 0, 1, 2 ... by first appearance
    firsts: IndexArray  # where each path begins

    @classmethod
    def read(
        cls, n_rows: int, start: ArrayLike, stop: ArrayLike, codes: IntArray, names: Any
    ) -> PathRows:
        """Check the intervals of a table: one per row, consecutive for each subject."""
        starts, stops = check_times(start, "start"), check_times(stop, "stop")
        for name, values in (("start", starts), ("stop", stops), ("subject", codes)):
            if len(values) != n_rows:
                raise InputError(
                    f"{name} must have one value per row of X, {n_rows}; got {len(values)}."
                )
        check_same_rows(n_rows, len(codes))
        if (starts >= stops).any():
            row = int(np.flatnonzero(starts >= stops)[0])
            raise InputError(
                f"start must be < stop; got ({starts[row]:g}, {stops[row]:g}] at row {row} "
                f"({int((starts >= stops).sum())} such rows). Drop empty intervals."
            )
        path = pd.factorize(codes)[0].astype(np.int64, copy=False)
        starts = checked_starts(path, names, starts, stops, np.zeros(n_rows, dtype=np.int64))
        order, firsts = path_order(path, starts, stops)
        return cls(order, starts[order], stops[order], path[order], firsts)

    @property
    def lasts(self) -> IndexArray:
        """Where each path ends."""
        return np.append(self.firsts[1:], len(self.rows)) - 1


def path_curves(
    paths: PathRows, times: FloatArray, conditional: Conditional, incidence: bool, extend: bool
) -> FloatArray:
    """Return survival, or incidence, of every path at every time, (n_paths, n_times).

    Up to the first start of a path it is 1 (an incidence 0), beyond the last stop NaN with a warning, or with
    ``extend`` as if the last covariates were kept.
    """
    grid, place = np.unique(times, return_inverse=True)
    low, high = (
        np.searchsorted(grid, paths.start, side="right"),
        np.searchsorted(grid, paths.stop, side="right"),
    )
    low[paths.firsts] = 0
    if extend:
        high[paths.lasts] = len(grid)
    else:
        _warn_beyond(paths, grid)
    inside, at_stop = _conditional_values(paths, grid, low, high, conditional, incidence)
    before, sum_before = _before(paths, *at_stop)
    result = np.full((len(paths.firsts), len(grid)), np.nan)
    for row in range(len(paths.rows)):
        span, own = slice(low[row], high[row]), inside[row]
        result[paths.path[row], span] = (
            sum_before[row] + before[row] * own if incidence else before[row] * own
        )
    return result[:, place]


def _conditional_values(
    paths: PathRows,
    grid: FloatArray,
    low: IndexArray,
    high: IndexArray,
    conditional: Conditional,
    incidence: bool,
) -> tuple[list[FloatArray], tuple[FloatArray, FloatArray]]:
    """Return for each row the values at the times inside it, and survival and incidence at its end."""
    inside: list[FloatArray] = [np.empty(0)] * len(paths.rows)
    survived, happened = np.ones(len(paths.rows)), np.zeros(len(paths.rows))
    order = np.argsort(
        paths.start, kind="stable"
    )  # neighbours share times, so that a block has few distinct ones
    for first in range(0, len(order), _BLOCK):
        block = order[first : first + _BLOCK]
        wanted = np.unique(
            np.concatenate([paths.stop[block], grid[low[block].min() : high[block].max()]])
        )
        survival, incidences = conditional(paths.rows[block], paths.start[block], wanted)
        values = incidences if incidence and incidences is not None else survival
        ends = np.searchsorted(wanted, paths.stop[block])
        survived[block] = survival[np.arange(len(block)), ends]
        if incidence:
            happened[block] = values[np.arange(len(block)), ends]
        for place, row in enumerate(block.tolist()):
            inside[row] = values[place, np.searchsorted(wanted, grid[low[row] : high[row]])]
    return inside, (survived, happened)


def _before(
    paths: PathRows, survived: FloatArray, happened: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return survival and incidence at the start of each row: those of the rows before it, put together."""
    survival, total = np.ones(len(paths.rows)), np.zeros(len(paths.rows))
    rank = np.arange(len(paths.rows)) - paths.firsts[paths.path]
    for step in range(1, int(rank.max()) + 1):
        rows = np.flatnonzero(rank == step)
        survival[rows] = survival[rows - 1] * survived[rows - 1]
        total[rows] = total[rows - 1] + survival[rows - 1] * happened[rows - 1]
    return survival, total


def _warn_beyond(paths: PathRows, grid: FloatArray) -> None:
    short = paths.stop[paths.lasts] < grid[-1]
    if short.any():
        warn_user(
            f"the paths of {int(short.sum())} of {len(short)} subjects end before the last time, {grid[-1]:g}: NaN "
            "beyond their last stop. extend=True keeps the last covariates."
        )


def ratio_of_curves(at_times: FloatArray, at_start: FloatArray) -> Any:
    """Return ``S(t) / S(start)``, (rows, times) by (rows,), between 0 and 1; 0 where nobody survived to the start."""
    shape = at_times.shape
    ratio = np.divide(at_times, at_start[:, None], out=np.zeros(shape), where=at_start[:, None] > 0)
    return np.clip(ratio, 0.0, 1.0)


def start_stop(
    visits: pd.DataFrame,
    outcomes: pd.DataFrame | None = None,
    *,
    subject: str = "id",
    visit: str = "visit",
    time: str = "time",
    event: str = "event",
    begin: Literal["origin", "first_visit"] = "origin",
) -> pd.DataFrame:
    """Return one row per interval between visits, each with the last known value of every covariate.

    An interval begins at a visit and ends at the next, the last one when observation ends. A value that is missing at a
    visit is that of the visit before. Visits at the same time count as one, visits at or after the end not at all, and
    of those up to time 0 the last known values hold from 0 on.

    Parameters
    ----------
    visits : DataFrame
        One row per visit: the columns ``subject`` and ``visit``, and the covariates that change.
    outcomes : DataFrame, optional
        One row per subject: the columns ``subject``, ``time`` and ``event``, and covariates that do not change. None:
        ``visits`` has the time and the event of a subject in each of its rows.
    subject, visit, time, event : str
        Names of columns: the identifier; the time of the visit; the end of the observation and its event, 0 where it is
        censored. Visits and ends count from the same origin.
    begin : {"origin", "first_visit"}, default "origin"
        Where the first interval begins: at 0, with missing covariates up to the first visit, or at the first visit, as
        a late entry.

    Returns
    -------
    DataFrame
        The columns ``subject``, ``start``, ``stop``, ``event`` and the covariates; subjects in the order of
        ``outcomes``, their intervals in order of time.

    Raises
    ------
    InputError
        For columns that are not there, times that are missing, ends that are not after 0, and a subject with two
        outcomes.

    Warns
    -----
    LifemixWarning
        For visits of subjects without an outcome, and subjects who have no visit before their end where ``begin`` is
        ``"first_visit"``: they are left out.

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
    Choice("origin", "first_visit")("begin", begin)
    table = as_pandas(visits)
    _check_columns(table, [subject, visit], "visits")
    ends, covariates = _ends(table, outcomes, subject, time, event)
    covariates = covariates.drop(columns=visit, errors="ignore")
    _check_names([*covariates.columns, *ends.columns[1:]], (subject, "start", "stop", "event"))
    number = pd.Index(ends[subject]).get_indexer(table[subject])
    at = _times(table[visit], visit)
    stop = ends["stop"].to_numpy()
    if (number < 0).any():
        names = table[subject].to_numpy()[number < 0][:3].tolist()
        warn_user(
            f"{int((number < 0).sum())} visits of subjects without an outcome are left out, such as {names}."
        )
    kept = (number >= 0) & (at < np.where(number >= 0, stop[number], 0.0))
    known = _carried_forward(covariates[kept], number[kept], np.maximum(at[kept], 0.0), at[kept])
    known = _with_first_intervals(known, len(ends), begin)
    order = known["number"].to_numpy()
    last = np.diff(order, append=-1) != 0
    rows = pd.DataFrame(
        {subject: ends[subject].to_numpy()[order], "start": known["start"].to_numpy()}
    )
    rows["stop"] = np.where(last, stop[order], np.append(rows["start"].to_numpy()[1:], 0.0))
    rows["event"] = np.where(last, ends["event"].to_numpy()[order], 0)
    fixed = ends.drop(columns=[subject, "stop", "event"]).iloc[order].reset_index(drop=True)
    return pd.concat([rows, fixed, known.drop(columns=["number", "start"])], axis=1)


def _ends(
    visits: pd.DataFrame, outcomes: pd.DataFrame | None, subject: str, time: str, event: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return one row per subject (identifier, stop, event, what does not change), and the covariates of the visits."""
    if outcomes is None:
        _check_columns(visits, [time, event], "visits")
        ends = visits[[subject, time, event]].drop_duplicates()
        covariates = visits.drop(columns=[subject, time, event])
        what = f"{time} and {event} must be the same in all rows of a subject"
    else:
        ends = as_pandas(outcomes)
        _check_columns(ends, [subject, time, event], "outcomes")
        covariates = visits.drop(columns=subject)
        what = "outcomes must have one row per subject"
    twice = ends[subject].duplicated()
    if twice.any():
        raise InputError(
            f"{what}; got several for {ends[subject][twice].iloc[0]} ({int(twice.sum())} such rows). Correct them."
        )
    stop = _times(ends[time], time)
    if not (stop > 0).all():
        row = int(np.flatnonzero(~(stop > 0))[0])
        raise InputError(
            f"{time} must be > 0; got {stop[row]:g} for subject {ends[subject].iloc[row]} "
            f"({int((~(stop > 0)).sum())} such). Leave out subjects who were never observed."
        )
    others = ends.drop(columns=[subject, time, event])
    first = pd.DataFrame({subject: ends[subject], "stop": stop, "event": ends[event]})
    return pd.concat([first, others], axis=1).reset_index(drop=True), covariates


def _carried_forward(covariates: pd.DataFrame, number: Any, start: Any, at: Any) -> pd.DataFrame:
    """Return one row per subject and start, each column with its last known value."""
    order = np.lexsort((at, number))
    known = covariates.iloc[order].reset_index(drop=True)
    number, start = number[order], start[order]
    carried = known.groupby(number, sort=False).ffill()
    carried = carried.reindex(columns=known.columns)
    place = pd.DataFrame({"number": number, "start": start})
    final = ~place.duplicated(keep="last").to_numpy()
    return pd.concat([place, carried], axis=1)[final].reset_index(drop=True)


def _with_first_intervals(known: pd.DataFrame, n_subjects: int, begin: str) -> pd.DataFrame:
    """Return the rows with those from 0 to the first visit, or without subjects who have no visit."""
    seen = np.unique(known["number"])
    if begin == "first_visit":
        if len(seen) < n_subjects:
            warn_user(
                f"{n_subjects - len(seen)} of {n_subjects} subjects have no visit before their end: left out."
            )
        return known
    from_origin = known["number"][known["start"] == 0]
    missing = np.setdiff1d(np.arange(n_subjects), from_origin)
    if not len(missing):
        return known
    empty = known.iloc[:0].reindex(range(len(missing))).assign(number=missing, start=0.0)
    together = pd.concat([known, empty], ignore_index=True) if len(known) else empty
    return together.sort_values(["number", "start"], kind="stable", ignore_index=True)


def _times(column: Any, name: str) -> Any:
    try:
        values = pd.to_numeric(column).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} must be numbers; got {column.dtype}, such as {column.iloc[0]!r}."
        ) from None
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(
            f"{name} must be known in every row; got {values[bad]} at row {bad} "
            f"({int((~np.isfinite(values)).sum())} such rows). Leave these rows out."
        )
    return values


def _check_columns(frame: pd.DataFrame, names: list[str], where: str) -> None:
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise InputError(
            f"{where} must have the columns {names}; got {list(frame.columns)}, without {missing}."
        )


def _check_names(names: list[Any], reserved: tuple[str, ...]) -> None:
    known = [*reserved[1:], reserved[0]]
    twice = sorted({str(name) for name in names if name in known and name not in ("stop", "event")})
    twice += sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"covariates must not be called like the columns of the result, {list(reserved)}, or occur in both tables; "
            f"got {twice}. Rename or drop them."
        )
