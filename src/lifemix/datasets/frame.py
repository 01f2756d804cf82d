"""A user's own table as a data set."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

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
    subject: str | None = None,
    *,
    name: str = "own data",
    time_unit: str = "",
    event_names: Mapping[int, str] | None = None,
) -> Dataset:
    """Return a table as a data set: the named columns make the target, all others are covariates.

    Parameters
    ----------
    frame : DataFrame
        One row per subject, or several with a column that says whose they are.
    time, event : str
        Columns of times and of event codes (0 for censored, 1..M for the event type, or booleans).
    entry, upper : str, optional
        Columns for left truncation and for interval-censored events, as in ``make_target``.
    subject : str, optional
        Column that identifies the subject, where one has several rows; as in ``make_target``.
    name : str, default "own data"
        Name of the data set.
    time_unit : str, default ""
        The unit of the times.
    event_names : mapping of int to str, optional
        The name of each event type; ``"event 1"``, ... by default.

    Returns
    -------
    Dataset
        The target and the remaining columns.

    Raises
    ------
    CovariateError
        Where a column does not exist or is named twice, or no covariate is left.

    Examples
    --------
    >>> import pandas as pd
    >>> from lifemix import datasets
    >>> frame = pd.DataFrame({"age": [50, 60], "days": [10.0, 5.0], "died": [0, 1]})
    >>> datasets.from_frame(frame, time="days", event="died", time_unit="days")
    <Dataset own data: 2 rows x 1 columns; 1 censored, 1 event 1; time in days>
    """
    optional = {
        name: column
        for name, column in (("entry", entry), ("upper", upper), ("subject", subject))
        if column is not None
    }
    roles = [time, event, *optional.values()]
    _check_columns(frame, roles)
    columns: dict[str, Any] = {name: frame[column] for name, column in optional.items()}
    y = make_target(frame[time], frame[event], **columns)
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
        raise CovariateError(
            f"time, event, entry and upper must be different columns; got {roles}."
        )
    if len(roles) == frame.shape[1]:
        raise CovariateError(
            f"the table must have covariates too; got only {roles}. Add at least one more column."
        )
