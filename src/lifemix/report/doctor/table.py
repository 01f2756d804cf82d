"""The doctor before the fit: a table and its target."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ...checks import check_same_rows
from ...errors import CovariateError, InputError, LifemixWarning
from ...preprocessing import TableLike
from ...preprocessing.columns import ColumnData, identifier_kind
from ...preprocessing.tabular import as_table
from ...target import Target, TargetLike, as_target
from ...target import event_names as all_event_names
from ..text import capital, counted, listed, percent
from .finding import Finding, most_severe_first
from .leaks import check_informative_missingness, check_leak, expected_events
from .outcome import check_horizons, check_outcome, exact_times

__all__ = ["check_table", "identifier_finding", "readable_columns"]

_EVENTS_PER_INPUT = 10
_MANY_LEVELS, _MAX_LEVELS = 30, 1000  # fit refuses more than 1000
_RARE = 5
_MOSTLY_MISSING = 0.5
_MIN_ROWS = 20
_OUTLYING = 20.0  # times the range of the middle 90 %


def check_table(
    X: TableLike,
    y: TargetLike,
    *,
    horizons: ArrayLike | None = None,
    event_names: Mapping[int, str] | Sequence[str] | None = None,
    max_rows: int = 10_000,
    random_state: int = 0,
    held_out: bool = False,
) -> list[Finding]:
    """Check a table and its target before a fit: leaks, identifiers, few events, missing values.

    Parameters
    ----------
    X : DataFrame or array of shape (n, n_features)
        The covariates.
    y : target
        Any target of the package. Data that cannot be read become a finding, not an error.
    horizons : array-like of float, optional
        Times at which the model will predict.
    event_names : mapping from code to name, or sequence of names, optional
        The names of the event types in the findings.
    max_rows : int, default 10000
        The checks against the outcome use at most so many rows, drawn at random.
    random_state : int, default 0
        Random seed of the draw.
    held_out : bool, default False
        Whether the rows are to judge a fitted model: checks that only matter to a fit are left out.

    Returns
    -------
    list of Finding
        The most severe first.

    Raises
    ------
    SettingError
        If ``event_names`` does not name the event types of ``y``.

    Examples
    --------
    >>> from lifemix import datasets
    >>> from lifemix.report import check_table
    >>> data = datasets.load_metabric()
    >>> check_table(data.X.assign(copy=data.y["time"]), data.y)[0].code
    'leak'

    """
    try:
        table = as_table(X)
        target = exact_times(as_target(y))
        check_same_rows(len(table), len(target))
    except InputError as error:
        text = f"The data cannot be read: {error}"
        return [Finding("unreadable", "stop", text, "Repair this first.")]
    names = all_event_names(event_names, max(1, target.n_events, len(event_names or ())))
    findings = list(check_outcome(target.joined(), names, held_out))
    if horizons is not None:
        findings += check_horizons(target.joined(), horizons)
    columns, unreadable = readable_columns(table)
    findings += unreadable
    findings += _check_duplicates(columns, target)
    if not held_out:
        findings += _check_sizes(columns, target, names)
        findings += _check_columns(columns)
        findings += _check_gaps(columns)
    rows = np.random.default_rng(random_state).permutation(len(target))[:max_rows]
    sample = target.take(rows)
    if not (sample.event > 0).any():
        return most_severe_first(findings)
    with warnings.catch_warnings():
        # Late entries may leave nobody at risk, and then curves restart with a warning.
        warnings.simplefilter("ignore", LifemixWarning)
        expected = expected_events(sample)
    honest = []
    for column in (column.take(rows) for column in columns):
        leak = check_leak(column, sample, expected, names)
        if leak is None:
            honest.append(column)
        else:
            findings.append(leak)
    if not held_out:
        findings += check_informative_missingness(honest, sample, expected)
    return most_severe_first(findings)


def readable_columns(X: TableLike) -> tuple[list[ColumnData], list[Finding]]:
    """Return the columns of a table, and a finding for each that no model could read."""
    columns, findings = [], []
    table = as_table(X)
    for name in table.columns:
        try:
            columns.append(table.column(name))
        except CovariateError as error:
            text = f"The column {name} cannot be used as it is: {error}"
            remedy = "Repair the column, or leave it out."
            findings.append(Finding("unreadable-column", "stop", text, remedy))
    return columns, findings


def _check_sizes(
    columns: list[ColumnData], target: Target, names: Sequence[str]
) -> Iterator[Finding]:
    varying = [column for column in columns if column.distinct > 1]
    if not varying:
        yield Finding(
            "no-column",
            "stop",
            "No column varies from row to row, so every subject would get the same curve.",
            "Give the columns that describe the subjects; without any, use Kaplan-Meier.",
        )
        return
    # A category has an input for each level but one; an indicator of missing values is one more.
    n_inputs = sum(
        (1 if column.codes is None else column.distinct - 1) + int(column.missing.any())
        for column in varying
    )
    for code, name in enumerate(names, 1):
        count = int((target.event == code).sum())
        if 0 < count < _EVENTS_PER_INPUT * n_inputs:
            label = "" if len(names) == 1 else f"{capital(name)}: "
            yield Finding(
                "events-per-input",
                "warn" if count < _EVENTS_PER_INPUT / 2 * n_inputs else "note",
                f"{label}{counted(count, 'event')} for {n_inputs} inputs "
                f"({count / n_inputs:.1f} per input; a category counts its levels but one). Below "
                f"{_EVENTS_PER_INPUT} a model easily fits noise.",
                "Leave out columns that matter little, use LifeMix or CoxPH(penalty='auto'), which "
                "choose how much to shrink, and trust only measures on held-out rows.",
            )


def _check_duplicates(columns: list[ColumnData], target: Target) -> Iterator[Finding]:
    if not columns:
        return
    values = {c.name: c.as_numbers() if c.codes is None else c.codes for c in columns}
    covariates = pd.util.hash_pandas_object(pd.DataFrame(values), index=False)
    rows = pd.DataFrame({"covariates": covariates, "time": target.time, "event": target.event})
    is_copy = rows.duplicated()
    if is_copy.any():
        # With few columns of few values, different people have the same covariates.
        is_coarse = covariates.duplicated().mean() > 0.5
        yield Finding(
            "duplicates",
            "note" if is_coarse else "warn",
            f"{counted(int(is_copy.sum()), 'row')} ({percent(float(is_copy.mean()))}) repeat an "
            "earlier row in every column, time and event. Copies of a subject in both training and "
            "test rows make a model look better than it is.",
            "Drop the copies, unless they are different people with the same values.",
        )


def _check_columns(columns: list[ColumnData]) -> Iterator[Finding]:
    for column in columns:
        if column.distinct > 1:
            identifier = identifier_finding(column)
            if identifier is not None:
                yield identifier
            elif column.codes is not None:
                yield from _check_levels(column)
            else:
                yield from _check_outliers(column)


def identifier_finding(column: ColumnData) -> Finding | None:
    """Return the finding about a column that identifies rows or subjects; None for a covariate."""
    kind = identifier_kind(column)
    if not kind:
        return None
    n_present = int((~column.missing).sum())
    text = (
        f"{column.name} has {counted(column.distinct, 'different value')} in "
        f"{counted(n_present, 'row')} and looks like an identifier"
    )
    if kind == "repeated subjects":
        return Finding(
            "repeated-subjects",
            "warn",
            f"{text} of subjects who have several rows.",
            "Give the subject of each row: make_target(..., subject=), on the command line --id "
            f"{column.name}. Every split then keeps the rows of a subject together; otherwise "
            "held-out rows of known subjects make a model look better than it is.",
        )
    is_refused = column.codes is not None and column.distinct > _MAX_LEVELS
    return Finding(
        "identifier",
        "stop" if is_refused else "warn",
        f"{text}: a model can only memorise it, or use the order in which subjects were recorded.",
        f"Leave {column.name} out.",
    )


def _check_levels(column: ColumnData) -> Iterator[Finding]:
    levels = pd.Series(column.levels)
    numbers = pd.to_numeric(levels.str.replace(",", "."), errors="coerce")
    texts = levels[~np.isfinite(numbers)]
    if column.distinct > 20 and len(texts) <= 0.1 * len(levels):
        reason = f" because of {listed([repr(text) for text in texts], 4)}" if len(texts) else ""
        yield Finding(
            "numbers-as-text",
            "warn",
            f"{column.name} holds numbers but is read as {column.distinct:,} categories{reason}, "
            "so its order is lost.",
            f"Turn {column.name} into numbers, with missing values where one is unknown.",
        )
    elif column.distinct > _MANY_LEVELS:
        assert column.codes is not None
        counts = np.bincount(column.codes[column.codes >= 0])
        n_rare = int((counts < _RARE).sum())
        is_refused = column.distinct > _MAX_LEVELS
        is_mostly_rare = n_rare > 0.2 * len(counts)
        yield Finding(
            "many-levels",
            "stop" if is_refused else "warn" if is_mostly_rare else "note",
            f"{column.name} has {column.distinct:,} levels, {n_rare:,} of them in fewer than "
            f"{_RARE} rows; each becomes a separate input"
            f"{'; a fit will refuse so many' if is_refused else ''}.",
            "Group levels that belong together, or leave the column out.",
        )


def _check_outliers(column: ColumnData) -> Iterator[Finding]:
    values = column.observed
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95])
    distances = np.abs(values - median)
    outliers = values[(distances > _OUTLYING * (high - low)) & (high > low)]
    if len(values) < _MIN_ROWS or not len(outliers):
        return
    codes, counts = np.unique(outliers, return_counts=True)
    repeated = f"{codes[counts.argmax()]:g} alone occurs {counted(counts.max(), 'time')}, "
    code = f"; {repeated}which looks like a code" if counts.max() > 2 else ""
    yield Finding(
        "outliers",
        "warn",
        f"{column.name} has {counted(len(outliers), 'outlier')}, further from the median, "
        f"{median:g}, than {_OUTLYING:g} times the range of the middle 90 % of the values; the "
        f"furthest is {values[distances.argmax()]:g}{code}. Such values dominate the scale of the "
        "column.",
        "Check the unit, and replace codes for unknown by missing values; take a logarithm if the "
        "values are right.",
    )


def _check_gaps(columns: list[ColumnData]) -> Iterator[Finding]:
    """Yield constant columns and missing values."""
    empty = [column.name for column in columns if column.distinct == 0]
    if empty:
        text = f"No value at all in {listed(empty)}."
        yield Finding("empty-column", "note", text, "Check how the values were read.")
    constant = [column.name for column in columns if column.distinct == 1]
    if constant:
        yield Finding(
            "constant-column",
            "note",
            f"Only one value in {listed(constant)}, which does not distinguish subjects.",
            "Leave such columns out, unless a value was read wrongly.",
        )
    missing = pd.DataFrame({c.name: c.missing for c in columns if c.distinct > 0})
    shares = missing.mean().sort_values(ascending=False, kind="stable")
    mostly = [f"{name} ({percent(x)})" for name, x in shares.items() if x > _MOSTLY_MISSING]
    if mostly:
        yield Finding(
            "mostly-missing",
            "warn",
            f"More than half is missing in {listed(mostly)}; what a model uses there is mostly "
            "imputed.",
            "Find out whether the value will be known when the model is used; if not, leave the "
            "column out.",
        )
    if shares.sum() > 0:
        complete = float((~missing.any(axis=1)).mean())
        yield Finding(
            "missing-values",
            "note",
            f"{percent(shares.mean())} of all values are missing, and {percent(complete)} of the "
            "rows are complete.",
            "preprocessor='auto' imputes the training mean or most frequent level, and adds "
            "missing-value indicators.",
            ("preprocessor",),
        )
