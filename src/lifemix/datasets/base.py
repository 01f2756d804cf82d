"""The class that every loader returns, and a user's own table as such a data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import CovariateError
from ..target import as_target, make_target

__all__ = ["Dataset", "from_frame"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Covariates, target, and a description of both.

    Attributes
    ----------
    name : str
        Name of the data set.
    X : DataFrame of n rows
        Covariates, one row per subject; missing values are kept as missing.
    y : structured array of shape (n,)
        Target as returned by ``make_target``.
    features : mapping of str to str
        The meaning of each column of ``X``.
    time_unit : str
        The unit of the times, ``""`` where they have none.
    event_names : mapping of int to str
        The name of each event type 1..M.
    source, citation, licence, description : str
        Where the data come from, what to cite, what may be done with them, and what they are.
    truth : SyntheticTruth or None
        For simulated data, on request: the distribution that each row was drawn from.

    Examples
    --------
    >>> from lifemix import datasets
    >>> data = datasets.load_support()
    >>> data
    <Dataset SUPPORT: 9,105 rows x 30 columns; 2,904 censored, 6,201 death; time in days>
    >>> data.counts
    {0: 2904, 1: 6201}
    """

    name: str
    X: pd.DataFrame
    y: NDArray[np.void]
    features: Mapping[str, str]
    time_unit: str
    event_names: Mapping[int, str]
    source: str
    citation: str
    licence: str
    description: str
    truth: Any = None

    @property
    def counts(self) -> dict[int, int]:
        """How many rows are censored (0) and how many have each event type (1..M)."""
        return {code: int((self.y["event"] == code).sum()) for code in (0, *self.event_names)}

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the summary and the first rows."""
        first = self.X.head().assign(time=self.y["time"][:5], event=self.y["event"][:5])
        return f"<p>{escape(repr(self)[1:-1])}</p>{first.to_html()}"

    def __repr__(self) -> str:
        kinds = {0: "censored", **self.event_names}
        counts = ", ".join(f"{count:,} {kinds[code]}" for code, count in self.counts.items())
        unit = f"; time in {self.time_unit}" if self.time_unit else ""
        shape = f"{len(self.X):,} rows x {self.X.shape[1]} columns"
        return f"<Dataset {self.name}: {shape}; {counts}{unit}>"


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
    optional = {"entry": entry, "upper": upper, "subject": subject}
    optional = {role: column for role, column in optional.items() if column is not None}
    outcome = [time, event, *optional.values()]
    absent = [column for column in outcome if column not in frame.columns]
    if absent:
        raise CovariateError(f"the table has no column {absent}; it has {list(frame.columns)}.")
    if len(set(outcome)) < len(outcome):
        raise CovariateError(
            f"time, event, entry and upper must be different columns; got {outcome}."
        )
    X = frame.drop(columns=outcome)
    if X.shape[1] == 0:
        raise CovariateError(
            f"the table must have covariates too; got only {outcome}. Add at least one more column."
        )
    columns: dict[str, Any] = {role: frame[column] for role, column in optional.items()}
    y = make_target(frame[time], frame[event], **columns)
    codes = range(1, as_target(y).n_events + 1)
    return Dataset(
        name=name,
        X=X,
        y=y,
        features={str(column): "" for column in X.columns},
        time_unit=time_unit,
        event_names=dict(event_names or {code: f"event {code}" for code in codes}),
        source="a table of the user",
        citation="",
        licence="",
        description="",
    )
