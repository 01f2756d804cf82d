"""The columns of a table as the checks look at them, read once."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ...errors import CovariateError
from ...preprocessing.reading import ColumnData, TableData, read_columns
from ...target import Target
from .findings import Finding

__all__ = ["Bools", "Floats", "Ints", "exact_times", "read_variables"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def read_variables(table: pd.DataFrame | TableData) -> tuple[list[ColumnData], list[Finding]]:
    """Read every column of a table; one that no model could read becomes a finding."""
    columns, findings = [], []
    for column in read_columns(table):
        try:
            column.distinct  # noqa: B018  (reads the column)
            columns.append(column)
        except CovariateError as error:
            findings.append(
                Finding(
                    "stop",
                    "unreadable column",
                    f"The column {column.name} cannot be used as it is: {error}",
                    "Repair or leave out the column.",
                )
            )
    return columns, findings


def exact_times(target: Target) -> Target:
    """Return the target with every interval replaced by its middle: good enough to look for what stands out."""
    middle = np.where(target.interval, (target.time + np.where(target.interval, target.upper, 0.0)) / 2, target.time)
    return Target(target.event, middle, target.entry, np.full(len(target), np.nan))
