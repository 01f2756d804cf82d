"""A table to learn from: covariates and target, checked, and shown as they were understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rich.markup import escape

from ..errors import CovariateError, InputError, SettingError
from ..preprocessing import TableData
from ..target import Target, as_target
from .covariates import ColumnFacts, describe_columns, refuse_problems
from .outcome import EventCodes, dates_to_years, holds_dates, read_target
from .output import Screen
from .paths import STANDARD_INPUT
from .read_table import TableFile, read_table
from .start_stop import recognise_start_stop, show_paths
from .table_options import TableOptions
from .visits import refuse_visits, visits_as_intervals

__all__ = ["TrainingTable", "open_training_table", "show_columns", "show_outcome", "suggest_roles"]

_LEAST_ROWS, _LEAST_EVENTS = 30, 10
_MANY_BYTES = 50_000_000
_TIME_NAMES = set(
    "time t futime duration days months years week weeks os_months survival_time surv_time survival_in_days followup "
    "follow_up lenfol tte stop".split()
)
_EVENT_NAMES = set(
    "event status death dead died cens censor os_status fstat arrest relapse e".split()
)


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """What a model is fitted to.

    ``X`` are the columns that are used, ``rows`` all columns of the same rows as they were read, and ``skipped`` is the
    number of rows without outcome that were left out. ``repeated_subjects`` are columns that seem to identify subjects
    with several rows, if ``--id`` names none.
    """

    X: TableData
    y: NDArray[np.void]
    codes: EventCodes
    options: TableOptions
    facts: list[ColumnFacts]
    rows: pd.DataFrame
    skipped: int
    repeated_subjects: TableData

    def to_state(self) -> dict[str, Any]:
        """Return what a model file remembers, in JSON's types."""
        return {
            "roles": self.options.to_state(),
            "censored": list(self.codes.censored),
            "events": list(self.codes.types),
            "columns": [fact.to_state() for fact in self.facts],
            **({"paths": True} if "path" in (self.y.dtype.names or ()) else {}),
        }


def open_training_table(
    screen: Screen, path: Path, options: TableOptions, *, check: bool = True
) -> TrainingTable:
    """Read a table to learn from and show how it was understood; ``check`` refuses what no model could be fitted to."""
    size = 0 if path == STANDARD_INPUT else path.stat().st_size
    if size > _MANY_BYTES:
        screen.say(f"Reading {escape(path.name)}, {size / 1e6:.0f} MB ...")
    file = read_table(path, options)
    screen.say(f"[bold]{escape(str(file))}[/]")
    table = _understand(file, options)
    if check:
        refuse_problems(table.facts)
    show_outcome(screen, table)
    show_columns(screen, table.facts)
    if check:
        _check_size(table)
    return table


def _understand(file: TableFile, options: TableOptions) -> TrainingTable:
    names = list(file.frame.columns)
    if len(names) < 3:
        raise CovariateError(
            f"{file.name} has {len(names)} column{'s' * (len(names) != 1)} ({', '.join(names)}); expected a time, an "
            "event and at least one covariate. A text file must have , ; | a tab or blanks between its columns."
        )
    if options.time is None or options.event is None:
        raise SettingError(
            f"name the columns of the time and the event: --time and --event. {suggest_roles(names)}"
        )
    options = options.resolve(names)
    if holds_dates(file.frame[options.time or ""]) and not options.time_unit:
        options = replace(options, time_unit="days")
    file, options = visits_as_intervals(file, recognise_start_stop(file.frame, options))
    refuse_visits(file.frame, options)
    complete, y, codes = read_target(file, options)
    rows = file.frame if complete.all() else file.frame[complete]
    names = [name for name in rows.columns if name not in options.apart]
    aged, ages = dates_to_years(rows, names, options)
    frame = aged[names]
    if frame.shape[1] == 0:
        raise CovariateError(
            f"no covariates are left besides {', '.join(options.apart)}. Add at least one column."
        )
    labels = {name: frame[name].astype("category") for name in options.categorical if name in frame}
    table = TableData(frame.assign(**labels).reset_index(drop=True))
    facts = [
        replace(fact, kind="dates", action=f"years before {options.origin}, {fact.action}")
        if fact.name in ages
        else fact
        for fact in describe_columns(table, options)
    ]
    used = table[[fact.name for fact in facts if fact.used and not fact.problem]]
    subjects = [fact.name for fact in facts if fact.kind == "repeated subjects" and not options.id]
    return TrainingTable(
        used, y, codes, options, facts, rows, int((~complete).sum()), table[subjects]
    )


def suggest_roles(names: Sequence[str]) -> str:
    """Return the columns of a table, and which of them sound like an outcome."""
    times = [name for name in names if name.lower() in _TIME_NAMES]
    events = [name for name in names if name.lower() in _EVENT_NAMES]
    guess = f" Perhaps --time {times[0]} --event {events[0]}?" if times and events else ""
    return f"The table has: {', '.join(names[:40])}.{guess}"


def _check_size(table: TrainingTable) -> None:
    """Refuse a table with too few rows or events to fit a model and to evaluate it."""
    counts = np.bincount(table.y["event"], minlength=len(table.codes.types) + 1)[1:]
    if len(table.y) < _LEAST_ROWS or counts.sum() == 0:
        raise InputError(
            f"{len(table.y)} rows with {int(counts.sum())} events are too few to fit a model and to evaluate it; "
            f"expected at least {_LEAST_ROWS} rows, better hundreds, and {_LEAST_EVENTS} events of each type."
        )
    events = dict(zip(table.codes.names, counts.tolist(), strict=True))
    rare = ", ".join(f"{name}: {count}" for name, count in events.items() if count < _LEAST_EVENTS)
    if rare:
        raise InputError(
            f"too few events to learn from ({rare}); expected at least {_LEAST_EVENTS} of each type. Merge event "
            "types, count rare ones as censored (--censored), or collect more rows."
        )


def show_outcome(screen: Screen, table: TrainingTable) -> None:
    """Show times, events and subjects as they were understood."""
    rows, options, codes = as_target(table.y), table.options, table.codes
    target = rows.joined()  # of a path its last time and its event
    counts = np.bincount(target.event, minlength=len(codes.types) + 1)
    unit = f" {options.time_unit}" if options.time_unit else ""
    screen.say(
        f"  time   {escape(options.time or '')}: {target.time.min():g} to {target.time.max():g}{escape(unit)}, "
        f"median {np.median(target.time):g}"
    )
    shares = [
        f"{escape(name)} {counts[i]:,} ({counts[i] / len(target):.0%})"
        for i, name in enumerate(codes.names, 1)
    ]
    labels = f" ({', '.join(map(repr, codes.censored))})" if codes.censored else ""
    screen.say(
        f"  event  {escape(options.event or '')}: {', '.join(shares)}; censored{escape(labels)} {counts[0]:,}"
    )
    for what, some in (
        ("with late entry", target.truncated),
        ("with an interval-censored event", target.interval),
    ):
        if some.any():
            screen.say(f"         {int(some.sum()):,} rows {what}")
    if rows.path is not None:
        show_paths(screen, options, rows)
    elif rows.subject is not None:
        _show_subjects(screen, options.id or "", rows)
    if table.skipped:
        screen.warn(f"{table.skipped} rows without time or event were left out.")


def _show_subjects(screen: Screen, column: str, target: Target) -> None:
    most = int(np.bincount(target.subject_numbers).max())
    several = (
        f"up to {most} rows each, which stay together in every split"
        if most > 1
        else "one row each"
    )
    screen.say(f"  id     {escape(column)}: {target.n_subjects:,} subjects, {several}")


def show_columns(screen: Screen, facts: Sequence[ColumnFacts]) -> None:
    """Show what each column holds and how it is used."""
    screen.say("\n[bold]Columns[/]")
    table = screen.table("name", "kind", "missing", "values", "use", right=(2,))
    for fact in facts:
        missing = (
            "" if not fact.missing else f"{fact.missing:.1%}" if fact.missing >= 0.001 else "<0.1%"
        )
        style = None if fact.used else "dim"
        table.add_row(
            escape(fact.name),
            fact.kind,
            missing,
            escape(fact.values),
            escape(fact.action),
            style=style,
        )
    screen.say(table)
