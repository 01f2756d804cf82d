"""The doctor before the fit: a table and its target."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ...checks import check_same_rows
from ...errors import InputError, LifemixWarning
from ...preprocessing import TableData, TableLike
from ...preprocessing.columns import ColumnData
from ...preprocessing.tabular import as_table
from ...target import Target, TargetLike, as_target
from ...target import event_names as all_event_names
from ..inputs import exact_times
from ..text import capital, counted, listed, percent
from .columns import check_column, check_constants, check_missing, readable_columns
from .findings import Finding, most_severe_first
from .leaks import check_informative_missingness, check_leak, expected_events
from .outcome import check_horizons, check_outcome
from .subjects import check_subjects

__all__ = ["check_table"]

_EVENTS_PER_INPUT = 10
_SAMPLE = 10_000


def check_table(
    X: TableLike,
    y: TargetLike,
    *,
    horizons: ArrayLike | None = None,
    event_names: Mapping[int, str] | Sequence[str] | None = None,
    max_rows: int = _SAMPLE,
    random_state: int = 0,
) -> list[Finding]:
    """Check a table and its target before a fit: leaks, identifiers, too few events, missing values and more.

    Parameters
    ----------
    X : DataFrame or array of shape (n, n_features)
        The covariates.
    y : target
        Any target of the package. Data that cannot be read at all become a finding, not an error.
    horizons : array-like of float, optional
        Times at which the model will be asked.
    event_names : mapping from code to name, or sequence of names, optional
        What the event types are called in the findings.
    max_rows : int, default 10000
        The checks against the outcome use at most so many rows, drawn at random; a note says so.
    random_state : int, default 0
        Random seed of the drawing.

    Returns
    -------
    list of Finding
        The most severe first.

    Raises
    ------
    SettingError
        Where ``event_names`` does not name the event types of ``y``.

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.report import check_table
    >>> data = datasets.load_metabric()
    >>> check_table(data.X.assign(copy=data.y["time"]), data.y)[0].topic
    'leak'

    """
    try:
        table = as_table(X)
        target = exact_times(as_target(y))
        check_same_rows(len(table), len(target))
    except InputError as error:
        return [
            Finding("stop", "unreadable", f"The data cannot be read: {error}", "Repair this first.")
        ]
    names = all_event_names(event_names, max(1, target.n_events, len(event_names or ())))
    generator = np.random.default_rng(random_state)
    return most_severe_first(_findings(table, target, names, horizons, max_rows, generator))


def _findings(
    table: TableData,
    target: Target,
    names: Sequence[str],
    horizons: ArrayLike | None,
    max_rows: int,
    generator: np.random.Generator,
) -> Iterator[Finding]:
    yield from check_outcome(target.joined(), names)
    if horizons is not None:
        yield from check_horizons(target.joined(), horizons)
    variables, unreadable = readable_columns(table)
    yield from unreadable
    yield from _check_sizes(variables, target, names)
    yield from _check_duplicates(variables, target)
    about_columns = [finding for variable in variables for finding in check_column(variable)]
    yield from about_columns
    named = [finding.topic for finding in about_columns if finding.topic == "repeated subjects"]
    yield from check_subjects(variables, target, named)
    yield from check_constants(variables)
    yield from check_missing(variables)
    if (target.event > 0).any():
        yield from _against_outcome(variables, target, names, max_rows, generator)


def _against_outcome(
    variables: list[ColumnData],
    target: Target,
    names: Sequence[str],
    max_rows: int,
    generator: np.random.Generator,
) -> Iterator[Finding]:
    rows = generator.permutation(len(target))[:max_rows]
    sample = target.take(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # of curves that late entries begin anew
        if not (sample.event > 0).any():
            return
        expected = expected_events(sample)
        parts = [variable.take(rows) for variable in variables]
        leaks = {part.name: list(check_leak(part, sample, expected, names)) for part in parts}
    for findings in leaks.values():
        yield from findings
    yield from check_informative_missingness(
        [part for part in parts if not leaks[part.name]], sample, expected
    )
    if len(rows) < len(target) and variables:
        yield Finding(
            "note",
            "sample",
            f"Leaks and informative missingness were looked for in {len(rows):,} of {len(target):,} rows, drawn at "
            "random.",
            "Nothing to do; max_rows takes more.",
        )


def _check_sizes(
    variables: list[ColumnData], target: Target, names: Sequence[str]
) -> Iterator[Finding]:
    if not any(variable.distinct > 1 for variable in variables):
        yield Finding(
            "stop",
            "no column",
            "No column varies from row to row, so every subject would get the same curve.",
            "Give the columns that describe the subjects; without any, Kaplan-Meier is the answer.",
        )
        return
    inputs = sum(_n_inputs(variable) for variable in variables)
    counts = np.bincount(target.event, minlength=len(names) + 1)[1:]
    for name, count in zip(names, counts, strict=True):
        if 0 < count < _EVENTS_PER_INPUT * inputs:
            which = "" if len(names) == 1 else f"{capital(name)}: "
            yield Finding(
                "warn" if count < _EVENTS_PER_INPUT / 2 * inputs else "note",
                "events per input",
                f"{which}{counted(int(count), 'event')} for {inputs} inputs ({count / inputs:.1f} per input; a "
                f"category counts its levels but one). Below {_EVENTS_PER_INPUT} a model easily fits noise.",
                "Leave out columns that matter little, use a smaller model (hidden=(), k=1 or 2) or weight_decay, and "
                "trust only measures on held-out rows.",
            )


def _n_inputs(variable: ColumnData) -> int:
    """Return the degrees of freedom: 1, or the levels but one; one more if values are missing."""
    has_missing = int(variable.missing.any())
    if variable.distinct < 2:
        return has_missing * variable.distinct
    return (1 if variable.kind == "numeric" else variable.distinct - 1) + has_missing


def _check_duplicates(variables: list[ColumnData], target: Target) -> Iterator[Finding]:
    columns = [
        variable.numbers if variable.numbers is not None else variable.codes
        for variable in variables
    ]
    hashes = np.zeros(len(target), dtype=np.uint64)
    same_columns: dict[bytes, list[str]] = {}
    for variable, values in zip(variables, columns, strict=True):
        assert values is not None
        if variable.distinct > 1:
            same_columns.setdefault(np.ascontiguousarray(values).tobytes(), []).append(
                variable.name
            )
        hashes = hashes * np.uint64(1_000_003) + pd.util.hash_array(values)
    alike = pd.Series(hashes).duplicated().to_numpy()
    hashes = hashes * np.uint64(1_000_003) + pd.util.hash_array(target.time + target.event * np.pi)
    copies = int(pd.Series(hashes).duplicated().sum())
    if copies and variables:
        coarse = (
            float(alike.mean()) > 0.5
        )  # few columns with few values: different people look alike
        yield Finding(
            "note" if coarse else "warn",
            "duplicates",
            f"{counted(copies, 'row')} ({percent(copies / len(target))}) repeat an earlier row in every column, time "
            "and event. Copies of a subject make a model look better than it is, as they fall into training and test "
            "rows.",
            "Drop the copies, unless they are different people who look alike.",
        )
    for group in same_columns.values():
        if len(group) > 1:
            yield Finding(
                "note",
                "equal columns",
                f"{listed(group)} are the same in every row.",
                "Keep one of them.",
            )
