"""The fields of a calculator's form: what each column of a model may hold, its usual range and its typical value."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any

from ..errors import CovariateError, SettingError
from ..preprocessing import Passthrough, TabularPreprocessor
from ..preprocessing.columns import Column, usual_values
from ..preprocessing.tabular import TableData, as_table, match_columns

__all__ = ["fields_of"]

_STEPS = 50  # at least so many steps has another slider


def fields_of(
    preprocessor: Any, data: Any, descriptions: Mapping[str, str], units: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return one field per column, in JSON's types, in the order of the columns.

    Each has what the preprocessor knows of the column (see ``Column``) and how the form shows it. Where ``data`` is
    given, ranges and medians of numbers are its own. Typical is the median or the most frequent level, or unknown
    (None) where most of the training rows had no value.
    """
    columns, named = _columns(preprocessor)
    names = (
        [column.name for column in columns]
        if named
        else [f"feature {i + 1}" for i in range(len(columns))]
    )
    _check_names("features", descriptions, names)
    _check_names("units", units, names)
    table = None if data is None else _matched(data, columns, named)
    unknown = isinstance(preprocessor, TabularPreprocessor)
    return [
        _field(column, table)
        | {
            "name": name,
            "description": str(descriptions.get(name, "")),
            "unit": str(units.get(name, "")),
            "unknown": unknown,
        }
        for name, column in zip(names, columns, strict=True)
    ]


def _columns(preprocessor: Any) -> tuple[list[Column], bool]:
    if type(preprocessor) is TabularPreprocessor:
        return list(preprocessor.columns_), hasattr(preprocessor, "feature_names_in_")
    if type(preprocessor) is Passthrough:
        return [
            Column(name, "numeric", fill=0.0) for name in preprocessor.names
        ], preprocessor.named
    raise SettingError(
        f"a calculator cannot run a {type(preprocessor).__name__} in the browser; it knows preprocessor='auto' and "
        "None. Fit with preprocessor='auto', or transform X first and fit with preprocessor=None."
    )


def _check_names(what: str, given: Mapping[str, str], names: list[str]) -> None:
    strange = [name for name in given if name not in names]
    if strange:
        raise SettingError(
            f"{what} names columns that the model does not have: {strange}; it has {names}."
        )


def _matched(data: Any, columns: list[Column], named: bool) -> TableData:
    return match_columns(as_table(data), [column.name for column in columns], named, "the model")


def _field(column: Column, table: TableData | None) -> dict[str, Any]:
    known = {name: getattr(column, name) for name in ("kind", "fill", "mean", "scale", "indicator")}
    levels, knots = (None if part is None else list(part) for part in (column.levels, column.knots))
    shown = _numbers(column, table) if column.kind == "numeric" else {"middle": column.fill}
    typical = None if column.missing > 0.5 else shown["middle"]
    return known | {"levels": levels, "knots": knots} | shown | {"typical": typical}


def _numbers(column: Column, table: TableData | None) -> dict[str, Any]:
    """Return the range of a slider, its step, and the middle value.

    The smallest and the largest value of training do not enter the page, unless they are counts: they may tell who
    took part.
    """
    usual, whole = column.usual, column.is_whole
    if table is not None:
        values = table.column(column.name)
        if values.missing.all():
            raise CovariateError(
                f"data must have values in column {column.name!r}; got none. Give the training table."
            )
        numbers, whole = values.observed, values.is_whole
        usual = usual_values(numbers, (float(numbers.min()), float(numbers.max())), whole)
    if usual is None:
        raise SettingError(
            f"the model does not know which values its column {column.name!r} has; it was fitted with "
            "preprocessor=None, or saved by an earlier version. Give the training table as data=X."
        )
    low, middle, high = usual
    step = _step(low, high, whole)
    return {
        "low": _rounded(low, step, ROUND_FLOOR),
        "high": _rounded(high, step, ROUND_CEILING),
        "middle": _rounded(middle, step, ROUND_HALF_EVEN),
        "step": float(Decimal(1).scaleb(step)),
        "digits": max(0, -step),
    }


def _step(low: float, high: float, whole: bool) -> int:
    """Return the power of ten by which a slider moves."""
    width = Decimal(high) - Decimal(low)
    if width == 0:
        return 0
    step = (width / _STEPS).adjusted()
    return max(0, step) if whole else step


def _rounded(value: float, step: int, rounding: str) -> float:
    """Round to a multiple of a power of ten, free of binary residue."""
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(step), rounding))
