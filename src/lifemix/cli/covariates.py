"""The covariates of a table: what each column holds, and whether and how it is used."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from .._types import IndexArray
from ..errors import CovariateError
from ..preprocessing import TableData
from ..preprocessing.columns import ColumnData, identifier_kind
from .outcome import holds_dates
from .read_table import looks_like_numbers
from .table_options import TableOptions

__all__ = ["ColumnFacts", "describe_columns", "drop_option", "numbers_as_text", "refuse_problems"]

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
    return [_describe(name, table, options) for name in table.columns]


def refuse_problems(facts: list[ColumnFacts]) -> None:
    """Raise one error for all columns that cannot be used, with the options that would leave them out."""
    bad = [fact for fact in facts if fact.problem]
    if bad:
        what = "; ".join(fact.problem for fact in bad)
        options = " ".join(drop_option(fact.name) for fact in bad)
        raise CovariateError(
            f"{what}. Correct {'it' if len(bad) == 1 else 'them'}, or leave out: {options}"
        )
    if not any(fact.used for fact in facts):
        raise CovariateError(
            "no column is left to predict from: each is constant, empty or left out. Add covariates."
        )


def drop_option(name: str) -> str:
    """Return the option that leaves out a column."""
    return f"--drop '{name}'" if " " in name else f"--drop {name}"


def _describe(name: str, table: TableData, options: TableOptions) -> ColumnFacts:
    values = table.frame[name]
    missing = float(values.isna().mean())
    if missing == 1:
        return ColumnFacts(name, "empty", missing, "", "left out: no values", False)
    if holds_dates(values):
        example = str(values.dropna().iloc[0])
        problem = f"column {name!r} holds dates such as {example!r}"
        if options.origin is None:
            problem += "; to use them as years before a start, add --origin with a column of dates or one date"
        else:
            problem += (
                f", some of them after the origin {options.origin!r}, where the outcome lies "
                f"(--keep {name} uses it)"
            )
        return ColumnFacts(name, "dates", missing, _examples(values), "", False, problem)
    try:
        column = table.column(name)
        problem = (
            ""
            if column.kind == "numeric" or name in options.categorical
            else numbers_as_text(column)
        )
        identifier = (
            None if problem or name in options.keep else _describe_identifier(column, missing)
        )
    except CovariateError as error:
        return ColumnFacts(
            name, "unusable", missing, _examples(values), "", False, str(error).rstrip(".")
        )
    if identifier is not None:
        return identifier
    return (
        _describe_numbers(column, missing)
        if column.kind == "numeric"
        else _describe_labels(column, missing, problem)
    )


def _describe_identifier(column: ColumnData, missing: float) -> ColumnFacts | None:
    """Return the facts of a column that identifies rows or subjects; None of a covariate."""
    kind = identifier_kind(column)
    if not kind:
        return None
    name = column.name
    why = (
        f"{column.distinct:,} different values"
        if kind == "repeated subjects"
        else "all values differ"
    )
    if kind == "row numbers":
        why = "they count the rows"
    keep = f"--keep '{name}'" if " " in name else f"--keep {name}"
    return ColumnFacts(
        name, kind, missing, _examples(column.values), f"left out: {why} ({keep} to use)", False
    )


def _describe_numbers(column: ColumnData, missing: float) -> ColumnFacts:
    name, seen = column.name, column.observed
    low, high = seen.min(), seen.max()
    if low == high:
        return ColumnFacts(name, "constant", missing, f"{low:g}", "left out: one value", False)
    span = f"{low:g} to {high:g}, mean {seen.mean():.4g}"
    kind = "0 / 1" if column.distinct == 2 and (low, high) == (0, 1) else "numbers"
    return ColumnFacts(name, kind, missing, span, "scaled" + _filled(missing, "mean"), True)


def _describe_labels(column: ColumnData, missing: float, problem: str) -> ColumnFacts:
    name, levels = column.name, column.levels
    if len(levels) == 1:
        return ColumnFacts(name, "constant", missing, levels[0], "left out: one value", False)
    counts = _level_counts(column)
    present = int(counts.sum())
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


def _level_counts(column: ColumnData) -> IndexArray:
    codes = column.as_labels().codes
    assert codes is not None
    return np.bincount(codes[codes >= 0], minlength=len(column.levels))


def numbers_as_text(column: ColumnData) -> str:
    """Return what to do about a column of text in which most rows look like numbers; "" for other columns."""
    name, levels, counts = column.name, column.levels, _level_counts(column)
    is_number = looks_like_numbers(levels)
    if counts[is_number].sum() <= counts.sum() / 2:
        return ""
    texts = [repr(level) for level, numeric in zip(levels, is_number, strict=True) if not numeric]
    if texts:
        return (
            f"column {name!r} holds numbers, but text in {counts[~is_number].sum()} rows: {', '.join(texts)[:60]} (if "
            f"it means missing, add --missing {texts[0]}; if the numbers are codes, --categorical {name})"
        )
    return (
        f"column {name!r} holds numbers as text, such as {levels[0]!r} (name the marks of a text file, such as "
        f"--decimal , or --thousands ,; remove currency and percent signs; if the numbers are codes, add --categorical "
        f"{name})"
    )


def _examples(values: pd.Series[Any]) -> str:
    return ", ".join(str(value)[:20] for value in values.dropna().iloc[:_SHOWN]) + ", ..."
