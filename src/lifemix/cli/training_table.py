"""A table to learn from: covariates and target, what each column holds and whether it is used."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._types import IndexArray
from ..errors import CovariateError
from ..preprocessing import TableData
from ..preprocessing.columns import identifier_kind
from ..target import as_target
from .console import Console
from .options import TableOptions
from .outcome import EventCodes, dates_to_years, holds_dates, read_outcome
from .read_table import read_table

if TYPE_CHECKING:
    from ..report.doctor import Finding

__all__ = ["TrainingTable", "looks_like_number", "open_training_table"]

_N_EXAMPLES, _MAX_LEVELS = 3, 8
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:[.,' ]\d{3})+|\d+)(?:[.,]\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class ColumnFacts:
    """What a column holds and what is done with it; ``problem`` says why it cannot be used."""

    name: str
    kind: str
    missing: float  # share of the rows
    values: str
    action: str
    is_used: bool = False
    problem: str = ""


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """What a model is fitted to: the columns that are used, the target, and how the table was understood."""

    X: TableData
    y: NDArray[np.void]
    codes: EventCodes
    options: TableOptions
    columns: list[ColumnFacts]
    findings: list[Finding]
    rows: pd.DataFrame
    source: pd.DataFrame  # the table as it was read

    def source_rows(self, rows: IndexArray) -> pd.DataFrame:
        """Return rows as they were read; of visits all those of the subjects."""
        if self.options.visit is None:
            return self.source.loc[self.rows.index[rows]]
        subject = str(self.options.id)
        return self.source[self.source[subject].isin(self.rows[subject].iloc[rows])]


def open_training_table(console: Console, path: Path, options: TableOptions) -> TrainingTable:
    """Read a table to learn from and show how it was understood."""
    from ..report import check_table
    from ..report.doctor import Finding

    source = read_table(path, options)
    names = list(source.columns)
    console.say(f"{path.name}: {len(source):,} rows, {len(names)} columns", style="bold")
    options = options.resolve(names)
    if options.time and holds_dates(source[options.time]) and not options.unit:
        options = replace(options, unit="days")
    rows, y, codes = read_outcome(source, options)
    excluded = {*options.roles.values(), *(options.drop or ())}
    rows, ages = dates_to_years(rows, [name for name in names if name not in excluded], options)
    frame = rows.drop(columns=[name for name in excluded if name in rows])
    labels = {name: frame[name].astype("category") for name in options.categorical or ()}
    table = TableData(frame.assign(**labels).reset_index(drop=True))
    columns = [_describe(name, table, options) for name in table.columns]
    X = table[[column.name for column in columns if column.is_used]]
    findings = [
        Finding(
            "unusable-column", "stop", column.problem, f"Or leave it out: --drop {column.name!r}."
        )
        for column in columns
        if column.problem
    ]
    findings += check_table(X, y, event_names=codes.names) if X.columns else []
    subjects = [column.name for column in columns if column.kind == "repeated subjects"]
    if subjects and not options.id:
        about_subjects = check_table(table[subjects], y)
        findings += [finding for finding in about_subjects if finding.code == "repeated-subjects"]
    training = TrainingTable(X, y, codes, options, columns, findings, rows, source)
    _show_outcome(console, training)
    if ages:
        console.say(f"  dates  {', '.join(ages)}: years before {options.origin}")
    console.say("\nColumns", style="bold")
    if not console.quiet:
        facts = [
            (column.name, column.kind, f"{column.missing:.1%}" if column.missing else "")
            + (column.values, column.action)
            for column in columns
        ]
        console.show_table(("name", "kind", "missing", "values", "use"), facts)
    return training


def looks_like_number(text: str) -> bool:
    """Return whether a text is a number with any decimal mark, thousands separator, currency or percent sign."""
    return bool(_NUMBER.fullmatch(text.strip(" \t€$£%")))


def _describe(name: str, table: TableData, options: TableOptions) -> ColumnFacts:
    values = table.frame[name]
    missing = float(values.isna().mean())
    if missing == 1:
        return ColumnFacts(name, "empty", missing, "", "left out: no values")
    examples = ", ".join(str(value)[:20] for value in values.dropna().head(_N_EXAMPLES)) + ", ..."
    problem = _problem(name, table, options)
    if problem:
        return ColumnFacts(name, "unusable", missing, examples, "cannot be used", problem=problem)
    column = table.column(name)
    if column.distinct == 1:
        return ColumnFacts(name, "constant", missing, examples, "left out: one value")
    kind = "" if name in (options.keep or ()) else identifier_kind(column)
    if kind:
        action = f"left out: {column.distinct:,} different values (--keep {name!r} to use)"
        return ColumnFacts(name, kind, missing, examples, action)
    imputed = "; missing values imputed, and an indicator" if missing else ""
    if column.codes is None:
        numbers = column.observed
        text = f"{numbers.min():g} to {numbers.max():g}, mean {numbers.mean():.4g}"
        return ColumnFacts(name, "numbers", missing, text, f"scaled{imputed}", is_used=True)
    shares = values.value_counts(normalize=True).head(_MAX_LEVELS)
    text = ", ".join(f"{level} {share:.0%}" for level, share in shares.items())
    action = f"{column.distinct} levels{imputed}"
    return ColumnFacts(name, "categories", missing, text, action, is_used=True)


def _problem(name: str, table: TableData, options: TableOptions) -> str:
    """Return why a column cannot be used as it is; "" if it can."""
    values = table.frame[name]
    if holds_dates(values):
        problem = f"Column {name!r} holds dates such as {values.dropna().iloc[0]}"
        if options.origin is None:
            return f"{problem}. To use them as years before a start, add --origin with a column of dates or one date."
        return f"{problem}, some after the origin {options.origin!r}, where the outcome lies. --keep {name!r} uses it."
    try:
        column = table.column(name)
    except CovariateError as error:
        return str(error)
    if column.codes is None or name in (options.categorical or ()):
        return ""
    counts = values.value_counts()
    is_number = np.array([looks_like_number(str(level)) for level in counts.index])
    if counts[is_number].sum() <= counts.sum() / 2:
        return ""
    texts = counts.index[~is_number].tolist()
    fix = "Name the marks of a text file, such as --decimal , or --thousands ,"
    if texts:
        fix = f"If {texts[0]!r} means missing, add --missing {texts[0]!r}"
    return (
        f"Column {name!r} holds numbers as text, such as {counts.index[is_number][0]!r}. {fix}; if the numbers are "
        f"codes, add --categorical {name!r}."
    )


def _show_outcome(console: Console, training: TrainingTable) -> None:
    """Show times, events and subjects as they were understood."""
    rows, options, codes = as_target(training.y), training.options, training.codes
    target = rows.joined()  # of intervals the last time of a subject and its event
    counts = np.bincount(target.event, minlength=len(codes.types) + 1)
    console.say(
        f"  time   {options.time}: {target.time.min():g} to {target.time.max():g} {options.unit or ''}"
    )
    events = [f"{name} {count:,}" for name, count in zip(codes.names, counts[1:], strict=True)]
    labels = f" ({', '.join(map(repr, codes.censored))})" if codes.censored else ""
    console.say(f"  event  {options.event}: {', '.join(events)}; censored{labels} {counts[0]:,}")
    for count, kind in (
        (target.truncated.sum(), "with late entry"),
        (target.interval.sum(), "with an interval-censored event"),
        (len(training.source) - len(rows), "without time or event were left out"),
    ):
        if count > 0 and options.visit is None:
            console.say(f"         {count:,} rows {kind}")
    if rows.subject is not None:
        counts = np.bincount(rows.subject_numbers)
        unit = "intervals" if options.has_intervals else "rows"
        console.say(
            f"  id     {options.id}: {len(rows):,} {unit} of {len(counts):,} subjects, up to {counts.max()} each"
        )
