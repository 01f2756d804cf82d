"""Checks of the columns, without the outcome: identifiers, constants, missing values, levels, outliers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._types import FloatArray
from ...errors import CovariateError
from ...preprocessing import TableLike
from ...preprocessing.columns import ColumnData, identifier_kind
from ...preprocessing.tabular import as_table
from ..text import counted, listed, percent
from .findings import Finding

__all__ = [
    "check_column",
    "check_constants",
    "check_missing",
    "identifier_finding",
    "readable_columns",
]

_ENOUGH_ROWS = 20
_MANY_LEVELS = 30
_MOST_LEVELS = 1000  # of the automatic preprocessing
_RARE = 5
_MOSTLY_MISSING = 0.5
_FAR = 20.0
_NEARLY_CONSTANT = 0.998


def readable_columns(X: TableLike) -> tuple[list[ColumnData], list[Finding]]:
    """Read every column of a table; one that no model could read becomes a finding."""
    columns, findings = [], []
    table = as_table(X)
    for name in table.columns:
        try:
            columns.append(table.column(name))
        except CovariateError as error:
            text = f"The column {name} cannot be used as it is: {error}"
            findings.append(
                Finding("stop", "unreadable column", text, "Repair the column, or leave it out.")
            )
    return columns, findings


def check_column(variable: ColumnData) -> Iterator[Finding]:
    """Yield what stands out in one column that varies."""
    if variable.distinct < 2:
        return
    identifier = identifier_finding(variable)
    if identifier is not None:
        yield identifier
    elif variable.numbers is None:
        yield from _check_levels(variable)
    else:
        yield from _check_outliers(variable.name, variable.numbers[~variable.missing])


def identifier_finding(variable: ColumnData) -> Finding | None:
    """Return what to say of a column that identifies rows or subjects; None of a covariate."""
    kind = identifier_kind(variable)
    if not kind:
        return None
    present = int((~variable.missing).sum())
    seen = f"has {counted(variable.distinct, 'different value')} in {counted(present, 'row')}"
    if kind != "repeated subjects":
        return Finding(
            "warn" if variable.numbers is not None or variable.distinct <= _MOST_LEVELS else "stop",
            "identifier",
            f"{variable.name} {seen} and looks like an identifier: a model can only memorise it, or pick up the order "
            "in which subjects were recorded.",
            f"Leave {variable.name} out.",
        )
    return Finding(
        "warn",
        "repeated subjects",
        f"{variable.name} {seen} and looks like an identifier of subjects who have several rows.",
        f"Say whose row it is: make_target(..., subject=), on the command line --id {variable.name}. Every split then "
        "keeps the rows of a subject together; otherwise held-out rows of known subjects make a model look better than "
        "it is.",
    )


def _check_levels(variable: ColumnData) -> Iterator[Finding]:
    assert variable.codes is not None
    numeric = [level for level in variable.levels if _is_number(level)]
    if variable.distinct > 20 and len(numeric) >= 0.9 * len(variable.levels):
        others = [level for level in variable.levels if not _is_number(level)]
        because = f" because of {listed([repr(other) for other in others], 4)}" if others else ""
        yield Finding(
            "warn",
            "numbers as text",
            f"{variable.name} holds numbers but is read as {variable.distinct:,} categories{because}, so its order is "
            "lost.",
            f"Turn {variable.name} into numbers, with missing values where one is unknown.",
        )
    elif variable.distinct > _MANY_LEVELS:
        counts = np.bincount(variable.codes[variable.codes >= 0])
        rare = int((counts < _RARE).sum())
        refused = variable.distinct > _MOST_LEVELS
        yield Finding(
            "stop" if refused else "warn" if rare > 0.2 * len(counts) else "note",
            "many levels",
            f"{variable.name} has {variable.distinct:,} levels, {rare:,} of them in fewer than {_RARE} rows; each "
            f"becomes an input of its own{'; a fit will refuse so many' if refused else ''}.",
            "Group levels that belong together, or leave the column out.",
        )


def _is_number(text: str) -> bool:
    try:
        return np.isfinite(float(text.replace(",", ".")))
    except ValueError:
        return False


def _check_outliers(name: str, values: FloatArray) -> Iterator[Finding]:
    if len(values) < _ENOUGH_ROWS:
        return
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    far = (
        values[np.abs(values - middle) > _FAR * max(high - low, 0.0)] if high > low else values[:0]
    )
    if not len(far):
        return
    common, count = max(
        ((v, int((far == v).sum())) for v in np.unique(far)[:100]), key=lambda pair: pair[1]
    )
    code = (
        f"; {common:g} alone occurs {counted(count, 'time')}, which looks like a code"
        if count > 2
        else ""
    )
    yield Finding(
        "warn",
        "outliers",
        f"{name} has {counted(len(far), 'outlier')}, further from the median, {middle:g}, than {_FAR:g} times the "
        f"range of the middle 90 % of the values; the furthest is {far[np.abs(far - middle).argmax()]:g}{code}. Such "
        "values dominate the scale of the column.",
        "Check the unit, and replace codes for unknown by missing values; take a logarithm where the values are right.",
    )


def check_constants(variables: list[ColumnData]) -> Iterator[Finding]:
    """Yield the columns with the same value in every row, or in almost every row."""
    empty = [v.name for v in variables if v.distinct == 0]
    constant = [v.name for v in variables if v.distinct == 1]
    nearly = [v.name for v in variables if v.distinct > 1 and _largest_share(v) > _NEARLY_CONSTANT]
    for topic, names, what in (
        ("empty column", empty, "no value at all"),
        ("constant column", constant, "the same value in every row that has one"),
        (
            "nearly constant",
            nearly,
            f"the same value in more than {100 * _NEARLY_CONSTANT:g} % of the rows",
        ),
    ):
        if names:
            yield Finding(
                "note",
                topic,
                f"{listed(names)} {'has' if len(names) == 1 else 'have'} {what}, which does not distinguish subjects.",
                f"Leave {'it' if len(names) == 1 else 'them'} out, unless a value was read wrongly.",
            )


def _largest_share(variable: ColumnData) -> float:
    if variable.distinct > 10:
        return 0.0
    if variable.codes is not None:
        counts = np.bincount(variable.codes[variable.codes >= 0])
    else:
        assert variable.numbers is not None
        counts = np.unique(variable.numbers[~variable.missing], return_counts=True)[1]
    return float(counts.max() / max(1, len(variable.missing)))


def check_missing(variables: list[ColumnData]) -> Iterator[Finding]:
    """Yield how much is missing, and where it is most of a column."""
    if not variables:
        return
    shares = {v.name: float(v.missing.mean()) for v in variables if v.distinct > 0}
    mostly = sorted(
        (name for name, share in shares.items() if share > _MOSTLY_MISSING),
        key=lambda n: -shares[n],
    )
    if mostly:
        yield Finding(
            "warn",
            "mostly missing",
            f"More than half is missing in {listed([f'{name} ({percent(shares[name])})' for name in mostly])}; what a "
            "model uses there is mostly imputed.",
            "Ask whether the value will be known when the model is used; if not, leave the column out.",
        )
    total = float(np.mean(list(shares.values()))) if shares else 0.0
    complete = (
        float((~np.any([v.missing for v in variables if v.distinct > 0], axis=0)).mean())
        if shares
        else 1.0
    )
    if total > 0:
        yield Finding(
            "note",
            "missing values",
            f"{percent(total)} of all values are missing, and {percent(complete)} of the rows are complete.",
            "preprocessor='auto' imputes the training mean or most frequent level, and adds missing-value indicators.",
        )
