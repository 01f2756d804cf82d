"""Columns that are no covariates: identifiers, free text, and copies of the outcome."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..checks import as_pandas
from ..errors import CovariateError
from ..target import Target
from .reading import ColumnData, TableData

__all__ = ["IdentifierKind", "identifier_kind", "refuse_free_text", "refuse_outcome_columns"]

IdentifierKind = Literal["", "row numbers", "identifier", "repeated subjects"]

_ENOUGH_ROWS = 20  # below which all values may differ by chance
_ALL_DIFFERENT = 0.95
_SOME_DIFFERENT = 0.1
_BY_CHANCE = 1e-3
_LEAST_SUBJECTS, _LEAST_SHARE = 20, 0.01  # different values, for a name that says subject
_NAME = re.compile(
    r"(^|[_.\- ])(id|uuid|guid|mrn|ssn|nhs|pid|sno|identifier|rownames|index|unnamed)([_.\- ]|$|:)|"
    r"(patient|subject|person|record|case|study|row)[_.\- ]?(id|no|nr|num|number|key|code)s?$",
    re.IGNORECASE,
)


_SUBJECT = re.compile(
    r"^(patient|subject|person|participant|animal|customer|machine|unit)s?([_.\- ]?(id|no|nr|number|key|code))?$|"
    r"^(p?id|mrn|ssn)$",
    re.IGNORECASE,
)


def identifier_kind(column: ColumnData) -> IdentifierKind:
    """Return what a column identifies; "" where it is a covariate.

    Row numbers count up from row to row. An identifier is text that differs in nearly all rows; or whole numbers that
    all differ, under a name such as ``pid``, or although so many of them from their range would repeat by chance.
    Subjects with several rows have a name such as ``patient_id`` and values that repeat.

    Parameters
    ----------
    column : ColumnData
        A column of a ``TableData``.

    Returns
    -------
    {"", "row numbers", "identifier", "repeated subjects"}
        What it is.

    Examples
    --------
    >>> import pandas as pd
    >>> from lifemix.preprocessing import TableData
    >>> from lifemix.preprocessing.identifiers import identifier_kind
    >>> table = TableData(pd.DataFrame({"pid": range(101, 131), "age": [50.5, 61.0, 72.5] * 10}))
    >>> [identifier_kind(column) for column in table.data]
    ['row numbers', '']

    """
    present = int((~column.missing).sum())
    if (
        present < _ENOUGH_ROWS
        or not (column.numbers is None or column.whole)
        or column.distinct < 2
    ):
        return ""
    named = bool(_NAME.search(column.name))
    if column.numbers is None:
        unique = column.distinct >= _ALL_DIFFERENT * present
        found = unique
    else:
        unique = column.distinct == present
        if unique and _counts_up(column):
            return "row numbers"
        found = unique and (named or _would_repeat(column, present))
    if found:
        return "identifier"
    repeats = (named and column.distinct > _SOME_DIFFERENT * present) or _names_subjects(
        column, present
    )
    return "repeated subjects" if repeats else ""


def _names_subjects(column: ColumnData, present: int) -> bool:
    """Tell whether a column has a name for subjects, and repeats as many values as subjects would have."""
    enough = column.distinct >= _LEAST_SUBJECTS and column.distinct > _LEAST_SHARE * present
    return enough and bool(_SUBJECT.search(column.name))


def _counts_up(column: ColumnData) -> bool:
    steps = np.diff(column.seen)
    return bool((steps == steps[0]).all() and steps[0] > 0)


def _would_repeat(column: ColumnData, present: int) -> bool:
    """Tell whether so many numbers from the range of a column would hardly all differ by chance."""
    span = float(column.seen.max() - column.seen.min()) + 1
    return bool(np.exp(-present * (present - 1) / (2 * span)) < _BY_CHANCE)


def refuse_free_text(column: ColumnData) -> None:
    """Raise ``CovariateError`` if the values of a text column hardly repeat: identifiers, names, notes."""
    if identifier_kind(column) == "identifier":
        raise CovariateError(
            f"column {column.name!r} must hold categories; got {column.distinct} different texts in "
            f"{int((~column.missing).sum())} rows, such as {list(column.levels[:3])!r:.120}. Drop the column if it is "
            "an identifier; turn free text into a few categories or numbers before fit."
        )


def refuse_outcome_columns(X: Any, target: Target) -> None:
    """Raise ``CovariateError`` if a column equals the time or the event of the target in every row.

    Constant columns, tables of fewer than 20 rows and inputs that are not a dense table are accepted.
    """
    if len(target) < _ENOUGH_ROWS:
        return
    outcomes = {
        "time": target.time,
        "event": target.event,
        "event > 0": (target.event > 0).astype(np.int64),
    }
    for name, values in _numeric_columns(X):
        for field, outcome in outcomes.items():
            same_type = outcome.astype(values.dtype) if values.dtype.kind == "f" else outcome
            if (
                values[0] == same_type[0]
                and np.array_equal(values, same_type)
                and np.ptp(outcome) > 0
            ):
                raise CovariateError(
                    f"column {name!r} of X equals the {field} of y in all {len(target)} rows, so the model would be "
                    "given the answer. Drop the column."
                )


def _numeric_columns(X: Any) -> list[tuple[Any, NDArray[Any]]]:
    """Return name and values of the columns of numbers and booleans; nothing if X is not a dense table."""
    X = as_pandas(X)
    if isinstance(X, TableData):
        return [(column.name, column.numbers) for column in X.data if column.numbers is not None]
    if isinstance(X, pd.DataFrame):
        dtypes = enumerate(X.dtypes)
        numeric = [i for i, dtype in dtypes if isinstance(dtype, np.dtype) and dtype.kind in "biuf"]
        columns: list[tuple[Any, NDArray[Any]]] = [
            (X.columns[i], X.iloc[:, i].to_numpy()) for i in numeric
        ]
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf":
        columns = [(i, X[:, i]) for i in range(X.shape[1])]
    else:
        return []
    return [
        (name, values.astype(np.int64) if values.dtype == bool else values)
        for name, values in columns
    ]
