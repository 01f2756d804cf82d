"""A table on disk for ``lifemix fit``: its roles, columns and event codes, understood from a sample and one pass."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from rich.markup import escape

from ..errors import CovariateError, InputError, SettingError
from ..preprocessing.reading import TableData
from ..streaming import TableSource
from ..streaming.arrow import arrow, kind_of
from ..streaming.blocks import label_text
from ..streaming.files import OpenedTable, open_table
from ..streaming.pieces import check_columns
from .covariates import describe_columns, drop_option, refuse_problems
from .outcome import EventCodes
from .output import Screen
from .read_table import looks_like_numbers
from .table_options import TableOptions
from .training_table import TrainingTable, show_columns, suggest_roles

__all__ = ["LargeTable", "open_large_table"]

_SAMPLE = 50_000  # rows by which columns are described and settings are chosen
_MOST_LABELS = 100


@dataclass(frozen=True, eq=False)
class LargeTable:
    """The training part of a table on disk, the rows that are held out, and a sample of the first to look at."""

    source: TableSource
    test: TableSource
    sample: TrainingTable
    rows: int


def open_large_table(screen: Screen, path: Path, options: TableOptions, holdout: float, seed: int) -> LargeTable:
    """Open all files, show how the table was understood, and divide its rows."""
    opened = open_table(path, None, options.missing, [options.id] if options.id else [])
    names = [str(name) for name in opened.schema.names]
    if options.time is None or options.event is None:
        raise SettingError(f"name the columns of the time and the event: --time and --event. {suggest_roles(names)}")
    options = options.resolve(names)
    check_columns(opened.schemas, [name for name in names if name not in options.drop])
    _refuse_unreadable(opened.schema, names, options)
    event = str(options.event)
    codes = EventCodes.learn(_labels(opened, event), event, options.censored)
    code_of = dict.fromkeys(codes.censored, 0) | {label: number for number, label in enumerate(codes.types, 1)}

    def made(columns: list[str] | None) -> TableSource:
        return TableSource(
            path,
            options.time,
            options.event,
            entry=options.entry,
            upper=options.upper,
            subject=options.id,
            paths=not options.separate_rows,
            columns=columns,
            drop=options.drop,
            categorical=options.categorical,
            codes=code_of,
            skip_incomplete=options.skip_incomplete,
            missing=options.missing,
        )

    whole = made(None)
    screen.say(f"[bold]{escape(path.name)}[/]: {whole.n_rows:,} rows, {len(names)} columns in {whole.n_files:,} files")
    block = whole.split(holdout, seed)[0].some_rows(_SAMPLE)
    table = TableData(block.frame())
    _refuse_written_numbers(table, options)
    facts = describe_columns(table, options)
    refuse_problems(facts)
    show_columns(screen, facts)
    used = [fact.name for fact in facts if fact.used]
    subjects = [fact.name for fact in facts if fact.kind == "repeated subjects" and not options.id]
    y = block.outcome.to_array()
    sample = TrainingTable(table[used], y, codes, options, facts, block.frame(), 0, table[subjects])
    train, test = made(used).split(holdout, seed)
    return LargeTable(train, test, sample, whole.n_rows)


def _refuse_unreadable(schema: Any, names: list[str], options: TableOptions) -> None:
    """Refuse columns that hold neither numbers nor labels, such as dates."""
    other = [name for name in names if name not in options.drop and kind_of(schema.field(name).type) == "other"]
    if other:
        name = other[0]
        raise CovariateError(
            f"column {name!r} holds {schema.field(name).type}, which cannot be read from disk in blocks; expected "
            f"numbers or labels. Turn dates into numbers first, or leave out: {' '.join(map(drop_option, other))}"
        )


def _refuse_written_numbers(table: TableData, options: TableOptions) -> None:
    """Refuse numbers that are written in another way than with a decimal point: blocks cannot tell what they mean."""
    for column in table.data:
        if column.kind == "categorical" and column.name not in options.categorical:
            levels = column.levels[:200]
            if levels and looks_like_numbers(levels).all():
                raise InputError(
                    f"column {column.name!r} holds numbers as text, such as {levels[0]!r}; from disk only plain "
                    "numbers with a decimal point can be read. Write it as numbers, or, where they are codes: "
                    f"--categorical {column.name}"
                )


def _labels(opened: OpenedTable, column: str) -> pd.Series[Any]:
    """Return the different labels of the event column, of all rows."""
    found: dict[str, None] = {}
    types = arrow("types")
    for piece in opened.pieces:
        for batch in piece.batches([column]):
            values = batch.column(0)
            encoded = values if types.is_dictionary(values.type) else values.dictionary_encode()
            found |= dict.fromkeys(label_text(one) for one in encoded.dictionary.to_pylist() if one is not None)
            if len(found) > _MOST_LABELS:
                return pd.Series(list(found))  # too many: whoever learns the codes says so
    return pd.Series(list(found))
