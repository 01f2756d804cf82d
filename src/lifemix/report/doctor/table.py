"""The doctor before the fit: a table and its target."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ...errors import InputError, LifemixWarning
from ...preprocessing.frames import as_frame
from ...target import Target, as_target
from ..text import counted, listed, percent
from .columns import check_column, check_constants, check_missing
from .findings import Finding, in_order
from .leaks import check_leak, check_missing_pattern, expected_events
from .outcome import check_horizons, check_outcome
from .variables import Variable, exact_times, read_variables

__all__ = ["check_table"]

_EVENTS_A_COLUMN = 10
_SAMPLE = 10_000


def check_table(
    X: Any, y: Any, *, horizons: ArrayLike | None = None, max_rows: int = _SAMPLE, random_state: int = 0
) -> list[Finding]:
    """Look for what would spoil a fit, or its results, before it is made; the gravest findings come first.

    X: array or DataFrame (n, columns). y: any target. Data that cannot be read at all become a finding, not an error.
    horizons: times at which the model will be asked.
    max_rows: the checks against the outcome look at so many rows at most, drawn at random; a note says so.
    """
    try:
        frame, _ = as_frame(X)
        target = exact_times(as_target(y))
        if len(frame) != len(target):
            raise InputError(f"X and y must have the same rows; got {len(frame)} in X and {len(target)} in y.")
    except InputError as error:
        return [Finding("stop", "unreadable", f"The data cannot be read: {error}", "Repair this first.")]
    return in_order(_findings(frame, target, horizons, max_rows, np.random.default_rng(random_state)))


def _findings(
    frame: pd.DataFrame, target: Target, horizons: ArrayLike | None, max_rows: int, generator: np.random.Generator
) -> Iterator[Finding]:
    yield from check_outcome(target)
    if horizons is not None:
        yield from check_horizons(target, horizons)
    variables, unreadable = read_variables(frame)
    yield from unreadable
    yield from _check_sizes(variables, target)
    yield from _check_duplicates(frame, variables, target)
    for variable in variables:
        yield from check_column(variable)
    yield from check_constants(variables)
    yield from check_missing(variables)
    if (target.event > 0).any():
        yield from _against_outcome(variables, target, max_rows, generator)


def _against_outcome(
    variables: list[Variable], target: Target, max_rows: int, generator: np.random.Generator
) -> Iterator[Finding]:
    rows = generator.permutation(len(target))[:max_rows]
    sample = target.take(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # of curves that late entries begin anew
        if not (sample.event > 0).any():
            return
        expected = expected_events(sample)
        parts = [variable.take(rows) for variable in variables]
        leaks = {part.name: list(check_leak(part, sample, expected)) for part in parts}
    for findings in leaks.values():
        yield from findings
    yield from check_missing_pattern([part for part in parts if not leaks[part.name]], sample, expected)
    if len(rows) < len(target) and variables:
        yield Finding(
            "note",
            "sample",
            f"Leaks and telling gaps were looked for in {len(rows):,} of {len(target):,} rows, drawn at random.",
            "Nothing to do; max_rows takes more.",
        )


def _check_sizes(variables: list[Variable], target: Target) -> Iterator[Finding]:
    if not any(variable.distinct > 1 for variable in variables):
        yield Finding(
            "stop",
            "no column",
            "No column varies from row to row, so every subject would get the same curve.",
            "Give the columns that describe the subjects; without any, Kaplan-Meier is the answer.",
        )
        return
    inputs = sum(variable.n_inputs for variable in variables)
    counts = np.bincount(target.event, minlength=2)[1:]
    for kind, count in enumerate(counts, 1):
        if 0 < count < _EVENTS_A_COLUMN * inputs:
            yield Finding(
                "warn" if count < _EVENTS_A_COLUMN / 2 * inputs else "note",
                "events per input",
                f"Event {kind} has {counted(int(count), 'event')} for {inputs} inputs ({count / inputs:.1f} each; a "
                f"category counts its levels but one): below {_EVENTS_A_COLUMN} a model easily learns noise.",
                "Leave out columns that matter little, use a smaller model (hidden=(), k=1 or 2) or weight_decay, and "
                "trust held-out measures only.",
            )


def _check_duplicates(frame: pd.DataFrame, variables: list[Variable], target: Target) -> Iterator[Finding]:
    columns = [variable.numbers if variable.numbers is not None else variable.codes for variable in variables]
    hashes = np.zeros(len(target), dtype=np.uint64)
    names: dict[bytes, list[str]] = {}
    for variable, values in zip(variables, columns, strict=True):
        assert values is not None
        if variable.distinct > 1:
            names.setdefault(np.ascontiguousarray(values).tobytes(), []).append(variable.name)
        hashes = hashes * np.uint64(1_000_003) + pd.util.hash_array(values)
    alike = pd.Series(hashes).duplicated().to_numpy()
    hashes = hashes * np.uint64(1_000_003) + pd.util.hash_array(target.time + target.event * np.pi)
    same = int(pd.Series(hashes).duplicated().sum())
    if same and variables:
        coarse = float(alike.mean()) > 0.5  # few columns with few values: different people look alike
        yield Finding(
            "note" if coarse else "warn",
            "duplicates",
            f"{counted(same, 'row')} ({percent(same / len(target))}) repeat an earlier row in every column, time and "
            "event. Copies of a subject make a model look better than it is, as they fall into training and test rows.",
            "Drop the copies, unless they are different people who look alike.",
        )
    for group in names.values():
        if len(group) > 1:
            yield Finding(
                "note",
                "equal columns",
                f"{listed(group)} say the same in every row.",
                "Keep one of them.",
            )
