"""A user's own table as a data set."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

import pandas as pd

from ..errors import CovariateError
from ..target import as_target, make_target
from .base import Dataset

__all__ = ["from_frame"]


def from_frame(
    frame: pd.DataFrame,
    time: str,
    event: str,
    entry: str | None = None,
    upper: str | None = None,
    *,
    name: str = "own data",
    time_unit: str = "",
    event_names: Mapping[int, str] | None = None,
) -> Dataset:
    """Return a table as a data set: four named columns make the target, the others are covariates.

    time, event: as in ``make_target``; events are 0 for censored, 1..M for kinds of event, or booleans.
    entry, upper: the columns for left truncation and for events known only up to an interval.
    """
    roles = [column for column in (time, event, entry, upper) if column is not None]
    _check_columns(frame, roles)
    y = make_target(
        frame[time], frame[event], None if entry is None else frame[entry], None if upper is None else frame[upper]
    )
    X = frame.drop(columns=roles)
    n_events = as_target(y).n_events
    return Dataset(
        name=name,
        X=X,
        y=y,
        features={str(column): "" for column in X.columns},
        time_unit=time_unit,
        event_names=dict(event_names or {code: f"event {code}" for code in range(1, n_events + 1)}),
        source="a table of the user",
        citation="",
        licence="",
        description="",
    )


def _check_columns(frame: pd.DataFrame, roles: list[str]) -> None:
    absent = [column for column in roles if column not in frame.columns]
    if absent:
        names = [str(column) for column in frame.columns]
        near = [match for column in absent for match in get_close_matches(str(column), names, n=1)]
        hint = f" Did you mean {near}?" if near else ""
        raise CovariateError(f"the table has no column {absent}; it has {names}.{hint}")
    if len(set(roles)) < len(roles):
        raise CovariateError(f"time, event, entry and upper must be different columns; got {roles}.")
    if len(roles) == frame.shape[1]:
        raise CovariateError(f"the table must have covariates too; got only {roles}. Add at least one more column.")
