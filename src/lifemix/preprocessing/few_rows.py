"""A few rows of a DataFrame written one by one: what vectors cost at their beginning is more than the work itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._types import IndexArray
from .reading import FEW, few_labels, holds_plain_numbers

if TYPE_CHECKING:
    from .encoding import Encoding

__all__ = ["are_few", "array_of_few", "write_few"]

_COLUMNS = 64  # more are read together


def are_few(table: Any) -> bool:
    """Tell whether rows are few, of not too many columns."""
    return isinstance(table, pd.DataFrame) and len(table) <= FEW and table.shape[1] <= _COLUMNS


def array_of_few(encoding: Encoding, X: Any, single: bool) -> NDArray[Any] | None:
    """Return the matrix of a few rows of an array of plain numbers, all of them scaled; None of anything else."""
    if (
        not isinstance(X, np.ndarray)
        or isinstance(X, np.ma.MaskedArray)
        or X.ndim != 2
        or not 0 < len(X) <= FEW
    ):
        return None
    if not holds_plain_numbers(X.dtype):
        return None
    if X.shape[1] != len(encoding.columns) or not encoding.scaled.all():
        return None
    result = np.zeros(
        (len(X), len(encoding.names)), np.float32 if single else np.float64, "C" if single else "F"
    )
    with np.errstate(over="ignore"):
        written = _write_numbers(encoding, X.T, np.arange(X.shape[1]), result)
    return result if written else None


def write_few(encoding: Encoding, table: pd.DataFrame, result: NDArray[Any]) -> list[int] | None:
    """Write what is as expected; return the places of the columns that are left, or None where nothing was written."""
    places = np.flatnonzero(encoding.scaled)
    if len(places) == table.shape[1] and holds_plain_numbers((matrix := table.to_numpy()).dtype):
        return [] if _write_numbers(encoding, matrix.T, places, result) else None
    columns = [values for _, values in table.items()]
    if not all(holds_plain_numbers(columns[place].dtype) for place in places.tolist()):
        return None
    if len(places):
        numbers = np.array(
            [columns[place].to_numpy() for place in places.tolist()], dtype=np.float64
        )
        if not _write_numbers(encoding, numbers, places, result):
            return None
    others = np.flatnonzero((encoding.widths > 0) & ~encoding.scaled).tolist()
    return [place for place in others if not _write_labels(encoding, columns[place], place, result)]


def _write_numbers(
    encoding: Encoding, values: NDArray[Any], places: IndexArray, result: NDArray[Any]
) -> bool:
    """Write columns of plain numbers, ``[columns, rows]``; tell whether all of them are finite."""
    missing = np.isnan(values)
    incomplete = missing.any()
    if incomplete:
        values = np.where(missing, encoding.fill[places], values)
    with np.errstate(over="ignore"):
        scaled = (values - encoding.mean[places]) / encoding.scale[places]
    if not np.isfinite(scaled).all():
        return False
    result[:, encoding.starts[places]] = scaled.T
    if incomplete:
        marked = encoding.indicator[places]
        result[:, encoding.ends[places[marked]] - 1] = missing[marked].T
    return True


def _write_labels(
    encoding: Encoding, values: pd.Series[Any], place: int, result: NDArray[Any]
) -> bool:
    """Write a column of labels; tell whether it is one, of known labels."""
    column, position = encoding.columns[place], encoding.positions[place]
    labels = few_labels(values) if position else None
    if labels is None or not all(label is None or label in position for label in labels):
        return False
    start, last = encoding.starts[place], encoding.ends[place] - 1
    for row, label in enumerate(labels):
        result[row, start + position[column.fill if label is None else label]] = 1.0
        if column.indicator and label is None:
            result[row, last] = 1.0
    return True
