"""From a table to its matrix, by what was learned from each column of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._types import BoolArray, FloatArray, IndexArray
from ..checks import warn_user
from ..errors import CovariateError
from .blocks import number_blocks, number_places
from .columns import Column
from .few_rows import are_few, write_few
from .piecewise import encode_piecewise
from .reading import ColumnData, TableData, column_at

__all__ = ["Encoding"]

_ROWS = 2**14  # written at once


class Encoding:
    """Where each column's numbers stand in the matrix, and what is done to plain numbers, for all of them together."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        outputs = [column.outputs for column in columns]
        self.names = np.array([name for own in outputs for name in own], dtype=object)
        self.widths = np.array([len(own) for own in outputs], dtype=np.intp)
        self.ends = self.widths.cumsum()
        self.starts = self.ends - self.widths
        self.scaled = np.array(
            [column.kind == "numeric" and column.knots is None for column in columns], dtype=bool
        )
        numbers = [
            (column.fill, column.mean, column.scale) if own else (0.0, 0.0, 1.0)
            for own, column in self._each()
        ]
        self.fill, self.mean, self.scale = (
            np.array(numbers, dtype=np.float64).reshape(-1, 3).T[..., None]
        )
        self.indicator = np.array([column.indicator for column in columns], dtype=bool)
        self.positions = [
            _positions(column) if column.kind == "categorical" else {} for column in columns
        ]

    def _each(self) -> zip[tuple[bool, Column]]:
        return zip(self.scaled.tolist(), self.columns, strict=True)

    def matrix(self, table: pd.DataFrame | TableData, single: bool = False) -> NDArray[Any]:
        """Return the numbers of a table with the columns of training: float64 in Fortran order, or float32 in C's.

        A number too large for single precision is infinite there.
        """
        shape = (len(table), len(self.names))
        result = np.zeros(shape, dtype=np.float32) if single else np.zeros(shape, order="F")
        with np.errstate(over="ignore"):  # in a cast; what must not overflow says so
            self._write_all(table, result)
        return result

    def _write_all(self, table: pd.DataFrame | TableData, result: NDArray[Any]) -> None:
        left = (
            write_few(self, table, result)
            if isinstance(table, pd.DataFrame) and are_few(table)
            else None
        )
        if left is None:
            left = self._write_numbers(table, result)
        for place in left:
            out = result[:, self.starts[place] : self.ends[place]]
            _write(self.columns[place], column_at(table, place), self.positions[place], out)

    def _write_numbers(self, table: pd.DataFrame | TableData, result: NDArray[Any]) -> list[int]:
        """Write columns of plain numbers that are scaled; return the places of the others."""
        together = number_places(table)
        together = together[self.scaled[together]]
        self._write_together(table, together, result)
        alone = self.widths > 0
        alone[together] = False
        return np.flatnonzero(alone).tolist()

    def _write_together(
        self, table: pd.DataFrame | TableData, places: IndexArray, result: NDArray[Any]
    ) -> None:
        """Write columns of plain numbers that are scaled."""
        for rows, some, values in number_blocks(table, places, _ROWS):
            own = places[some]
            missing = np.isnan(values)
            incomplete = missing.any()
            if incomplete:
                values = np.where(missing, self.fill[own], values)
            run = _run(self.starts[own])
            direct = (
                isinstance(run, slice) and result.dtype == np.float64 and result.flags.f_contiguous
            )
            scaled = result.T[run, rows] if direct else np.empty(values.shape)
            try:
                with np.errstate(over="raise"):
                    np.subtract(values, self.mean[own], out=scaled)
                    scaled /= self.scale[own]
            except FloatingPointError:
                self._refuse(table, own)
            if not np.isfinite(scaled).all():
                self._refuse(table, own)
            if not direct:
                result.T[run, rows] = scaled
            if incomplete:
                for place in np.flatnonzero(self.indicator[own]):
                    result[rows, self.ends[own[place]] - 1] = missing[place]

    def _refuse(self, table: pd.DataFrame | TableData, places: IndexArray) -> None:
        """Raise the error of the first of some columns that cannot be written."""
        for place in places.tolist():
            _scaled(self.columns[place], column_at(table, place).as_numbers())


def _run(places: IndexArray) -> slice | IndexArray:
    """Return places as a slice where they are consecutive."""
    return slice(places[0], places[-1] + 1) if places[-1] - places[0] + 1 == len(places) else places


def _positions(column: Column) -> dict[str, int]:
    """Return where each level stands."""
    return {level: i for i, level in enumerate(column.levels or ())}


def _write(column: Column, data: ColumnData, position: dict[str, int], out: NDArray[Any]) -> None:
    """Write the numbers of one column into ``out`` of shape (n, outputs of the column), which is zero before."""
    if column.kind == "numeric":
        missing = _write_numbers(column, data.as_numbers(), out)
    elif column.kind == "categorical":
        missing = _write_levels(column, data, position, out)
    else:
        missing = data.missing
    if column.indicator:
        out[:, -1] = missing


def _write_numbers(column: Column, numbers: FloatArray, out: NDArray[Any]) -> BoolArray:
    """Write the standardised or encoded numbers; return which were missing."""
    if column.knots is None:
        out[:, 0] = _scaled(column, numbers)
        return np.isnan(numbers)
    missing = np.isnan(numbers)
    out[:, : len(column.knots) - 1] = encode_piecewise(
        np.where(missing, column.fill, numbers), column.knots
    )
    return missing


def _scaled(column: Column, numbers: FloatArray) -> FloatArray:
    """Return the standardised numbers."""
    filled = np.where(np.isnan(numbers), column.fill, numbers)
    try:
        with np.errstate(over="raise"):
            return np.asarray((filled - column.mean) / column.scale)
    except FloatingPointError:
        raise CovariateError(
            f"column {column.name!r} has values too far from those of training (mean {column.mean}, standard deviation "
            f"{column.scale}); got from {filled.min()} to {filled.max()}. Check its unit."
        ) from None


def _write_levels(
    column: Column, data: ColumnData, position: dict[str, int], out: NDArray[Any]
) -> BoolArray:
    """Write 1 in the column of each row's level; return which were missing."""
    codes, texts = data.coded
    unseen = sorted(set(texts) - position.keys())
    if unseen:
        rows = int(
            np.isin(codes, [i for i, text in enumerate(texts) if text not in position]).sum()
        )
        shown = ", ".join(map(repr, unseen[:5])) + (", ..." if len(unseen) > 5 else "")
        warn_user(
            f"column {column.name!r} has levels that training did not have: {shown} ({rows} rows); they are coded as "
            f"none of the {len(position)} known levels."
        )
    # One more entry, for the missing: factorize gives them -1.
    lookup = np.array([position.get(text, -1) for text in texts] + [position[column.fill]])
    place = lookup[codes]
    known = np.flatnonzero(place >= 0)
    out[known, place[known]] = 1.0
    missing: BoolArray = codes < 0
    return missing
