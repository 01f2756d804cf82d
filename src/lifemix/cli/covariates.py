"""The covariates of a table: what each column holds, and whether and how it is used."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..errors import CovariateError
from ..preprocessing.reading import ColumnData, TableData
from .table_files import ROW_NAMES
from .table_options import TableOptions

__all__ = ["ColumnFacts", "describe_columns", "refuse_problems"]

_FEW = 20  # rows below which all values of a column may differ by chance
_MOST_LEVELS = 1000
_SHOWN = 3


@dataclass(frozen=True)
class ColumnFacts:
    """One column: its kind, the share of missing values, a summary of its values, and what is done with it.

    problem: why it cannot be used as it is; "" where it can.
    """

    name: str
    kind: str
    missing: float
    values: str
    action: str
    used: bool
    problem: str = ""

    def to_state(self) -> dict[str, Any]:
        """Return the facts in JSON's types."""
        return asdict(self)


def describe_columns(table: TableData, options: TableOptions) -> list[ColumnFacts]:
    """Describe every covariate."""
    return [_describe(column, options) for column in table.data]


def refuse_problems(facts: list[ColumnFacts]) -> None:
    """Raise one error for all columns that cannot be used, with the options that would leave them out."""
    bad = [fact for fact in facts if fact.problem]
    if bad:
        what = "; ".join(fact.problem for fact in bad)
        options = " ".join(drop_option(fact.name) for fact in bad)
        raise CovariateError(f"{what}. Correct {'it' if len(bad) == 1 else 'them'}, or leave out: {options}")
    if not any(fact.used for fact in facts):
        raise CovariateError("no column is left to predict from: each is constant, empty or left out. Add covariates.")


def drop_option(name: str) -> str:
    """Return the option that leaves out a column."""
    return f"--drop '{name}'" if " " in name else f"--drop {name}"


def _describe(column: ColumnData, options: TableOptions) -> ColumnFacts:
    name = column.name
    missing = float(column.missing.mean())
    if missing == 1:
        return ColumnFacts(name, "empty", missing, "", "left out: no values", False)
    if _is_date(column):
        example = str(column.values.dropna().iloc[0])
        problem = f"column {name!r} holds dates such as {example!r}; expected numbers, such as days since a start"
        return ColumnFacts(name, "dates", missing, _examples(column), "", False, problem)
    try:
        if column.kind == "numeric":
            return _describe_numbers(column, missing, options)
    except CovariateError as error:
        return ColumnFacts(name, "unusable", missing, _examples(column), "", False, str(error).rstrip("."))
    return _describe_labels(column, missing, options)


def _describe_numbers(column: ColumnData, missing: float, options: TableOptions) -> ColumnFacts:
    name, seen = column.name, column.seen
    low, high = seen.min(), seen.max()
    if low == high:
        return ColumnFacts(name, "constant", missing, f"{low:g}", "left out: one value", False)
    span = f"{low:g} to {high:g}, mean {seen.mean():.4g}"
    if _are_row_numbers(column) and name not in options.keep:
        how = "left out" if name == ROW_NAMES else f"left out (--keep {name} to use)"
        return ColumnFacts(name, "row numbers", missing, span, how, False)
    kind = "0 / 1" if column.distinct == 2 and (low, high) == (0, 1) else "numbers"
    return ColumnFacts(name, kind, missing, span, "scaled" + _filled(missing, "mean"), True)


def _describe_labels(column: ColumnData, missing: float, options: TableOptions) -> ColumnFacts:
    name, levels = column.name, column.levels
    if len(levels) == 1:
        return ColumnFacts(name, "constant", missing, levels[0], "left out: one value", False)
    codes = column.coded[0]
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    present = int(counts.sum())
    problem = "" if name in options.categorical else _mixed_column(name, levels, counts)
    if not problem and present >= _FEW and len(levels) == present and name not in options.keep:
        kind = "row names" if name == ROW_NAMES else "identifier"
        return ColumnFacts(name, kind, missing, _examples(column), "left out: all values differ", False)
    if not problem and len(levels) > _MOST_LEVELS:
        problem = (
            f"column {name!r} has {len(levels)} different texts, such as {levels[0]!r}; at most {_MOST_LEVELS} can be "
            "used"
        )
    order = np.argsort(-counts, kind="stable")
    shown = ", ".join(f"{levels[i]} {counts[i] / present:.0%}" for i in order[:_SHOWN])
    text = shown + (f", and {len(levels) - _SHOWN} more" if len(levels) > _SHOWN else "")
    action = f"{len(levels)} levels" + _filled(missing, "most frequent")
    return ColumnFacts(name, "categories", missing, text, action, True, problem)


def _filled(missing: float, by: str) -> str:
    return f"; missing: {by}, and an indicator" if missing else ""


def _mixed_column(name: str, levels: tuple[str, ...], counts: NDArray[np.intp]) -> str:
    """Return what is wrong with a column that holds numbers in most rows, and text in others."""
    is_text = pd.to_numeric(pd.Series(levels, dtype=str), errors="coerce").isna().to_numpy()
    rows = int(counts[is_text].sum())
    if not 0 < rows < counts.sum() / 2:
        return ""
    texts = [repr(level) for level, text in zip(levels, is_text, strict=True) if text]
    return (
        f"column {name!r} holds numbers, but text in {rows} rows: {', '.join(texts)[:60]} (where it means missing, add "
        f"--missing {texts[0]}; where the numbers are codes, --categorical {name})"
    )


def _is_date(column: ColumnData) -> bool:
    dtype = column.values.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        return True
    if not pd.api.types.is_object_dtype(dtype) and not pd.api.types.is_string_dtype(dtype):
        return False
    sample = column.values.dropna().iloc[:50].astype(str)
    return bool(sample.str.fullmatch(r"\d{4}-\d\d?-\d\d?([ T].*)?|\d\d?[./]\d\d?[./]\d{4}").all())


def _are_row_numbers(column: ColumnData) -> bool:
    steps = np.arange(len(column.missing))
    x = column.numbers
    return x is not None and len(x) >= _FEW and bool(np.array_equal(x, steps) or np.array_equal(x, steps + 1))


def _examples(column: ColumnData) -> str:
    return ", ".join(str(value)[:20] for value in column.values.dropna().iloc[:_SHOWN]) + ", ..."
