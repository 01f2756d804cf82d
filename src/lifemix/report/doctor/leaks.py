"""Leaks: columns that were recorded because of the outcome, or copies of it under another name.

A column is compared with the outcome in four ways, each with a limit that no honest covariate
reaches: the order of the times of events (Spearman), who has the event (area under the ROC curve),
who had it first (Harrell's concordance), and missing values in the censored rows. Categories are
ordered by their ratio of observed to expected events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from ..._types import BoolArray, FloatArray
from ...metrics import concordance, nelson_aalen
from ...preprocessing.columns import ColumnData
from ...target import Target
from ..text import listed, percent
from .finding import Finding

__all__ = ["check_informative_missingness", "check_leak", "expected_events"]

_MIN_ROWS = 20  # on either side of a comparison
_CERTAIN, _STRONG = 0.97, 0.90
_FEW_VALUES = 20
_ROWS_PER_LEVEL = 20
_NO_CHANCE = 1e-8
_RATE_RATIO = 1.25
_CHI_SQUARED = 20.0  # p about 1e-5, one degree of freedom
_PAIRS_ROWS = 3000


def expected_events(target: Target) -> FloatArray:
    """Return the events expected in the follow-up of each row, ``H(time) - H(entry)``.

    ``H`` is the Nelson-Aalen estimate for any event in all rows.
    """
    curve = nelson_aalen(target)
    return np.asarray(curve.at(target.time) - curve.at(target.entry))


def check_leak(
    column: ColumnData, target: Target, expected: FloatArray, names: Sequence[str]
) -> Finding | None:
    """Return the strongest sign that a column was recorded after the outcome, if there is one.

    ``expected`` is the result of ``expected_events``. The rows must be in random order.
    """
    if column.distinct < 2 and not column.missing.any():
        return None
    has_event = target.event > 0
    return (
        _recorded_by_outcome(column, has_event)
        or _associated_with_outcome(column, target, expected, names)
        or _level_with_events_only(column, has_event)
    )


def _recorded_by_outcome(column: ColumnData, has_event: BoolArray) -> Finding | None:
    if min(has_event.sum(), (~has_event).sum()) < _MIN_ROWS:
        return None
    with_event = float((~column.missing[has_event]).mean())
    censored = float((~column.missing[~has_event]).mean())
    if max(with_event, censored) <= 0.5 or min(with_event, censored) >= 0.02:
        return None
    return Finding(
        "leak",
        "stop",
        f"{column.name} is recorded in {percent(with_event)} of the rows with the event and in "
        f"{percent(censored)} of the censored rows: whether it is recorded reveals the outcome.",
        f"Leave {column.name} out.",
    )


def _associated_with_outcome(
    column: ColumnData, target: Target, expected: FloatArray, names: Sequence[str]
) -> Finding | None:
    score = _scores(column, target, expected)
    if score is None:
        return None
    has_event = target.event > 0
    signs: list[tuple[float, str]] = []
    rows = has_event & ~column.missing
    if rows.sum() >= _MIN_ROWS:
        signs += _time_signs(score, column, target, rows)
    signs += _event_signs(score, has_event, "tells who has the event")
    if target.n_events > 1:
        for code, name in enumerate(names, 1):
            is_type = target.event[has_event] == code
            signs += _event_signs(score[has_event], is_type, f"tells {name} from the other events")
    strength, text = max(signs, default=(0.0, ""))
    if strength < _STRONG:
        return None
    certain = strength >= _CERTAIN
    return Finding(
        "leak",
        "stop" if certain else "warn",
        f"{column.name} {text}: {'no' if certain else 'hardly any'} covariate known at time 0 can "
        "do that, so it was probably recorded after the outcome.",
        f"Leave {column.name} out, unless it is certain to be known when a prediction is made.",
    )


def _scores(column: ColumnData, target: Target, expected: FloatArray) -> FloatArray | None:
    """Return a score per row by which the column orders the rows; None if it has too many levels.

    Missing numbers count as the median, and missing labels as one level.
    """
    if column.codes is None:
        if not len(column.observed):
            return None
        return np.where(column.missing, np.median(column.observed), column.as_numbers())
    if len(column.levels) * _ROWS_PER_LEVEL > len(target):
        return None
    level = column.codes + 1
    n_observed = np.bincount(level, target.event > 0)
    n_expected = np.bincount(level, expected)
    return np.asarray((n_observed + 0.5) / (n_expected + 0.5))[level]


def _time_signs(
    score: FloatArray, column: ColumnData, target: Target, rows: BoolArray
) -> Iterator[tuple[float, str]]:
    times = target.time[rows]
    n_values = min(len(np.unique(times)), column.distinct)
    if column.codes is None and n_values > _FEW_VALUES and np.ptp(score[rows]) > 0:
        value = abs(float(spearmanr(score[rows], times).statistic))
        yield value, f"follows the time of the event (rank correlation {value:.3f})"
    value = concordance(target.take(slice(_PAIRS_ROWS)), score[:_PAIRS_ROWS], None)
    value = max(value, 1 - value)
    yield value, f"alone orders the subjects by their outcome with a concordance of {value:.3f}"


def _event_signs(score: FloatArray, positive: BoolArray, text: str) -> Iterator[tuple[float, str]]:
    if min(positive.sum(), (~positive).sum()) >= _MIN_ROWS:
        area = float(roc_auc_score(positive, score))
        area = max(area, 1 - area)
        yield area, f"{text} with an area under the ROC curve of {area:.3f}"


def _level_with_events_only(column: ColumnData, has_event: BoolArray) -> Finding | None:
    """Return a finding about a level in which all rows have the event, far beyond chance."""
    if column.codes is None and column.distinct > _FEW_VALUES:
        return None
    values = column.as_numbers() if column.codes is None else column.codes
    present = ~column.missing
    levels = pd.Series(has_event[present]).groupby(values[present]).agg(["sum", "size"])
    share = float(has_event.mean())
    certain = levels[
        (levels["sum"] == levels["size"])
        & (share ** levels["size"] < _NO_CHANCE)
        & (levels["size"] < 0.9 * len(has_event))
    ]
    if certain.empty:
        return None
    level: Any = certain["size"].idxmax()
    label = f"{level:g}" if column.codes is None else column.levels[level]
    return Finding(
        "leak",
        "warn",
        f"All {certain['size'].max():,} rows with {column.name} = {label} have the event, but only "
        f"{percent(share)} of all rows: the value may have been recorded because of the event.",
        f"Check when {column.name} was recorded, and leave it out unless it was known at time 0.",
    )


def check_informative_missingness(
    columns: Iterable[ColumnData], target: Target, expected: FloatArray
) -> Iterator[Finding]:
    """Yield the columns whose missing values go with more or fewer events, by a log-rank test."""
    ratios = {column.name: _rate_ratio(column.missing, target, expected) for column in columns}
    texts = [
        f"{name} ({ratio:.2g} times as often)"
        for name, ratio in ratios.items()
        if ratio is not None
    ]
    if texts:
        yield Finding(
            "informative-missingness",
            "note",
            "If a value is missing, events are more or less frequent than in the other rows: "
            f"{listed(texts)}. That a value was not measured is informative.",
            "Keep the missing-value indicators of preprocessor='auto', and ask why values are "
            "missing: a model that uses them is only valid if values are missing for the same "
            "reasons.",
            ("preprocessor",),
        )


def _rate_ratio(missing: BoolArray, target: Target, expected: FloatArray) -> float | None:
    """Return the ratio of event rates with and without a missing value; None if it is unclear."""
    if not _MIN_ROWS <= missing.sum() <= len(missing) - _MIN_ROWS:
        return None
    has_event = target.event > 0
    n_observed = np.array([has_event[missing].sum(), has_event[~missing].sum()])
    n_expected = np.array([expected[missing].sum(), expected[~missing].sum()])
    if (n_expected < 5).any():
        return None
    chi_squared = float(((n_observed - n_expected) ** 2 / n_expected).sum())
    rates = n_observed / n_expected
    ratio = float(rates[0] / max(rates[1], 1e-3))
    near_one = 1 / _RATE_RATIO < ratio < _RATE_RATIO
    return None if near_one or chi_squared < _CHI_SQUARED else ratio
