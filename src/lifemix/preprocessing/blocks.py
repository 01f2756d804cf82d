"""Columns of plain numbers read several at a time, as matrices with one column of the table per row.

What is read one column at a time costs a dozen calls per column, more than the arithmetic where a table is wide, and
fresh memory each time, where it is long. Blocks are small enough for the caches of a processor, or a few columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._types import FloatArray, IndexArray
from .reading import TableData, holds_plain_numbers

__all__ = ["number_blocks", "number_places"]


_SIZE = 2**17  # numbers in a block
_LEAST = 4  # columns in a block: a line of memory of a table in rows holds eight


def number_places(table: pd.DataFrame | TableData) -> IndexArray:
    """Return the numbers of the columns that hold plain numbers: those that are NumPy's, booleans included."""
    if isinstance(table, TableData):
        found = [place for place, column in enumerate(table.data) if column.kind == "numeric"]
    else:
        found = [place for place, dtype in enumerate(table.dtypes) if holds_plain_numbers(dtype)]
    return np.array(found, dtype=np.intp)


def number_blocks(
    table: pd.DataFrame | TableData, places: IndexArray, rows_at_once: int | None = None
) -> Iterator[tuple[slice, slice, FloatArray]]:
    """Yield (rows, which of the places, their values ``[places, rows]``), NaN where missing; infinity is not refused.

    All rows at once, or so many. The values may be those of the table itself: they must not be written to; and the next
    block may take their memory.
    """
    length = len(table)
    many = min(length, rows_at_once or length)
    columns = max(_LEAST, _SIZE // max(many, 1))
    source = _source(table, places)
    memory = np.empty(0)
    for start in range(0, length, max(many, 1)):
        rows = slice(start, min(start + many, length))
        for first in range(0, len(places), columns):
            some = slice(first, min(first + columns, len(places)))
            part = _matrix(source, places[some], rows)
            if not _in_rows(part):
                memory = memory if memory.size >= part.size else np.empty(part.size)
                part = _turned(part, memory[: part.size].reshape(part.shape))
            yield rows, some, part


def _source(table: pd.DataFrame | TableData, places: IndexArray) -> Any:
    """Return the matrix of a table whose columns share one, else the table."""
    if isinstance(table, TableData) or not len(places):
        return table
    if len(places) == table.shape[1] and len(set(table.dtypes)) == 1:
        return table.to_numpy()
    return table


def _matrix(source: Any, places: IndexArray, rows: slice) -> NDArray[Any]:
    """Return the values of some columns ``[columns, rows]``, in any order in memory."""
    if isinstance(source, TableData):
        return np.stack([source.data[place].numbers[rows] for place in places])
    if isinstance(source, np.ndarray):
        return source[rows, places[0] : places[-1] + 1].T
    consecutive = places[-1] - places[0] + 1 == len(places)
    part = source.iloc[rows, slice(places[0], places[-1] + 1) if consecutive else places]
    return np.asarray(part.to_numpy(dtype=np.float64).T)


def _in_rows(part: NDArray[Any]) -> bool:
    """Tell whether a matrix holds float64 and its rows are contiguous."""
    return part.dtype == np.float64 and part.strides[1] == part.itemsize


def _turned(part: NDArray[Any], result: FloatArray) -> FloatArray:
    """Write a matrix into another, whose rows are contiguous, in pieces that fit into a cache."""
    step = max(1, _SIZE // (8 * len(part)))
    for start in range(0, part.shape[1], step):
        result[:, start : start + step] = part[:, start : start + step]
    return result
