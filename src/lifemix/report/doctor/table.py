"""The doctor before the fit: a table and its target."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..._types import FloatArray
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
_SUBJECT_ROWS, _MIN_SUBJECTS = 20_000, 20
_SAME_SUBJECTS = (
    "say whose row it is: make_target(..., subject=), on the command line --id {name}. Every split "
    "then keeps the rows of a subject together; otherwise held-out rows of known subjects make a "
    "model look better than it is."
)


def check_table(
    X: TableLike,
    y: TargetLike,
    *,
    horizons: ArrayLike | None = None,
    event_names: Mapping[int, str] | Sequence[str] | None = None,
    max_rows: int = 10_000,
    random_state: int = 0,
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
        The checks against the outcome use at most so many rows, drawn at random; a note says so.
    random_state : int, default 0
        Random seed of the draw.

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
    findings = list(check_outcome(target.joined(), names))
    if horizons is not None:
        findings += check_horizons(target.joined(), horizons)
    columns, unreadable = readable_columns(table)
    findings += unreadable
    findings += _check_sizes(columns, target, names)
    findings += _check_duplicates(columns, target)
    findings += _check_columns(columns)
    if target.subject is None and all(f.code != "repeated-subjects" for f in findings):
        findings += _check_subjects(columns)
    findings += _check_constants(columns)
    findings += _check_missing(columns)
    if (target.event > 0).any():
        rng = np.random.default_rng(random_state)
        findings += _check_against_outcome(columns, target, names, max_rows, rng)
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
    if not any(column.distinct > 1 for column in columns):
        yield Finding(
            "no-column",
            "stop",
            "No column varies from row to row, so every subject would get the same curve.",
            "Give the columns that describe the subjects; without any, use Kaplan-Meier.",
        )
        return
    n_inputs = sum(_n_inputs(column) for column in columns)
    counts = np.bincount(target.event, minlength=len(names) + 1)[1:]
    for name, count in zip(names, counts.tolist(), strict=True):
        if 0 < count < _EVENTS_PER_INPUT * n_inputs:
            label = "" if len(names) == 1 else f"{capital(name)}: "
            yield Finding(
                "events-per-input",
                "warn" if count < _EVENTS_PER_INPUT / 2 * n_inputs else "note",
                f"{label}{counted(count, 'event')} for {n_inputs} inputs "
                f"({count / n_inputs:.1f} per input; a category counts its levels but one). Below "
                f"{_EVENTS_PER_INPUT} a model easily fits noise.",
                "Leave out columns that matter little, use a smaller model (hidden=(), k=1 or 2) "
                "or weight_decay, and trust only measures on held-out rows.",
                ("hidden", "k", "weight_decay"),
            )


def _n_inputs(column: ColumnData) -> int:
    """Return the degrees of freedom: 1, or the levels but one; one more if values are missing."""
    has_missing = int(column.missing.any())
    if column.distinct < 2:
        return has_missing * column.distinct
    return (1 if column.codes is None else column.distinct - 1) + has_missing


def _check_duplicates(columns: list[ColumnData], target: Target) -> Iterator[Finding]:
    if not columns:
        return
    table = pd.DataFrame({column.name: _values(column) for column in columns})
    rows = pd.DataFrame({"covariates": pd.util.hash_pandas_object(table, index=False)})
    is_copy = rows.assign(time=target.time, event=target.event).duplicated()
    if is_copy.any():
        # With few columns of few values, different people have the same covariates.
        is_coarse = rows["covariates"].duplicated().mean() > 0.5
        yield Finding(
            "duplicates",
            "note" if is_coarse else "warn",
            f"{counted(int(is_copy.sum()), 'row')} ({percent(float(is_copy.mean()))}) repeat an "
            "earlier row in every column, time and event. Copies of a subject in both training and "
            "test rows make a model look better than it is.",
            "Drop the copies, unless they are different people with the same values.",
        )


def _values(column: ColumnData) -> FloatArray:
    return column.as_numbers() if column.codes is None else column.codes.astype(np.float64)


def _check_columns(columns: list[ColumnData]) -> Iterator[Finding]:
    for column in columns:
        if column.distinct < 2:
            continue
        identifier = identifier_finding(column)
        if identifier is not None:
            yield identifier
        elif column.codes is not None:
            yield from _check_levels(column)
        else:
            yield from _check_outliers(column.name, column.observed)


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
        remedy = capital(_SAME_SUBJECTS.format(name=column.name))
        return Finding(
            "repeated-subjects", "warn", f"{text} of subjects who have several rows.", remedy
        )
    is_refused = column.codes is not None and column.distinct > _MAX_LEVELS
    return Finding(
        "identifier",
        "stop" if is_refused else "warn",
        f"{text}: a model can only memorise it, or use the order in which subjects were recorded.",
        f"Leave {column.name} out.",
    )


def _check_levels(column: ColumnData) -> Iterator[Finding]:
    texts = [level for level in column.levels if not _is_number(level)]
    if column.distinct > 20 and len(texts) <= 0.1 * len(column.levels):
        reason = f" because of {listed([repr(text) for text in texts], 4)}" if texts else ""
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


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text.replace(",", "."))))
    except ValueError:
        return False


def _check_outliers(name: str, values: FloatArray) -> Iterator[Finding]:
    if len(values) < _MIN_ROWS:
        return
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95])
    distances = np.abs(values - median)
    is_outlier = (distances > _OUTLYING * (high - low)) & (high > low)
    if not is_outlier.any():
        return
    outliers, counts = np.unique(values[is_outlier], return_counts=True)
    code = ""
    if counts.max() > 2:
        code = (
            f"; {outliers[counts.argmax()]:g} alone occurs {counted(counts.max(), 'time')}, which "
            "looks like a code"
        )
    yield Finding(
        "outliers",
        "warn",
        f"{name} has {counted(int(is_outlier.sum()), 'outlier')}, further from the median, "
        f"{median:g}, than {_OUTLYING:g} times the range of the middle 90 % of the values; the "
        f"furthest is {values[distances.argmax()]:g}{code}. Such values dominate the scale of the "
        "column.",
        "Check the unit, and replace codes for unknown by missing values; take a logarithm if the "
        "values are right.",
    )


def _check_subjects(columns: list[ColumnData]) -> Iterator[Finding]:
    """Yield a column whose repeated values determine other columns: it may identify subjects."""
    samples = [column.take(slice(_SUBJECT_ROWS)) for column in columns]
    samples = [sample for sample in samples if sample.distinct >= _MIN_SUBJECTS]
    for sample in samples:
        repeats = sample.distinct <= 0.75 * len(sample.missing) and not sample.missing.any()
        if not repeats or not (sample.is_whole or sample.codes is not None):
            continue
        groups = _values(sample)
        determined = [
            candidate.name
            for candidate in samples
            if candidate is not sample and _is_determined(_values(candidate), groups)
        ]
        if len(determined) >= 2:
            yield Finding(
                "repeated-subjects",
                "warn",
                f"{sample.name} has {counted(sample.distinct, 'different value')} in "
                f"{counted(len(sample.missing), 'row')}, and {listed(determined, 4)} are the same "
                "in all rows of a value: it may identify subjects with several rows.",
                f"If so, {_SAME_SUBJECTS.format(name=sample.name)}",
            )
            return


def _is_determined(values: FloatArray, groups: FloatArray) -> bool:
    """Return whether values are constant in each group, and not monotone in the group numbers."""
    order = np.argsort(groups, kind="stable")
    steps = np.diff(np.nan_to_num(values, nan=-1e300)[order])
    within = np.diff(groups[order]) == 0
    return bool((steps[within] == 0).all() and (steps > 0).any() and (steps < 0).any())


def _check_constants(columns: list[ColumnData]) -> Iterator[Finding]:
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


def _check_missing(columns: list[ColumnData]) -> Iterator[Finding]:
    missing = pd.DataFrame({c.name: c.missing for c in columns if c.distinct > 0})
    shares = missing.mean()
    mostly = shares[shares > _MOSTLY_MISSING].sort_values(ascending=False, kind="stable")
    if len(mostly):
        texts = [f"{name} ({percent(share)})" for name, share in mostly.items()]
        yield Finding(
            "mostly-missing",
            "warn",
            f"More than half is missing in {listed(texts)}; what a model uses there is mostly "
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


def _check_against_outcome(
    columns: list[ColumnData],
    target: Target,
    names: Sequence[str],
    max_rows: int,
    rng: np.random.Generator,
) -> Iterator[Finding]:
    rows = rng.permutation(len(target))[:max_rows]
    sample = target.take(rows)
    if not (sample.event > 0).any():
        return
    sampled_columns = [column.take(rows) for column in columns]
    with warnings.catch_warnings():
        # Late entries may leave nobody at risk, and then curves restart with a warning.
        warnings.simplefilter("ignore", LifemixWarning)
        expected = expected_events(sample)
        leaks = [check_leak(column, sample, expected, names) for column in sampled_columns]
    yield from (leak for leak in leaks if leak is not None)
    honest = [column for column, leak in zip(sampled_columns, leaks, strict=True) if leak is None]
    yield from check_informative_missingness(honest, sample, expected)
    if len(rows) < len(target) and columns:
        yield Finding(
            "sample",
            "note",
            f"Leaks and informative missingness were checked on {len(rows):,} of {len(target):,} "
            "rows, drawn at random.",
            "Nothing to do; max_rows uses more.",
        )
