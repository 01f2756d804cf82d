"""From a long table, one row per visit, to one row per interval: the last known value of each covariate holds.

The rows are those of R's ``tmerge`` with ``tdc``.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

from ..checks import Choice
from ..errors import InputError
from ..other_frames import as_pandas
from ..warning import warn_user

__all__ = ["start_stop"]


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
