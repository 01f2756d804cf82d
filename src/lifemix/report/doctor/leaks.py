"""Leaks: columns that were recorded because of the outcome, or copies of it under another name.

A column is compared with the outcome in four ways, each with a limit that no honest covariate
reaches: the order of the times of events (Spearman), who has the event (area under the ROC curve),
who had it first (Harrell's concordance), and missing values in the censored rows. Categories are
ordered by their ratio of observed to expected events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from scipy.stats import rankdata, spearmanr

from ..._types import FloatArray
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
    has_event = target.event > 0
    if min(has_event.sum(), (~has_event).sum()) >= _MIN_ROWS:
        with_event = float((~column.missing[has_event]).mean())
        censored = float((~column.missing[~has_event]).mean())
        if max(with_event, censored) > 0.5 and min(with_event, censored) < 0.02:
            return Finding(
                "leak",
                "stop",
                f"{column.name} is recorded in {percent(with_event)} of the rows with the event "
                f"and in {percent(censored)} of the censored rows: whether it is recorded reveals "
                "the outcome.",
                f"Leave {column.name} out.",
            )
    score = _scores(column, target, expected)
    if score is None:
        return None
    strength, text = max(_signs(score, column, target, names), default=(0.0, ""))
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


def _signs(
    score: FloatArray, column: ColumnData, target: Target, names: Sequence[str]
) -> Iterator[tuple[float, str]]:
    """Yield how strongly a column is associated with the outcome, and in which way."""
    has_event = target.event > 0
    rows = has_event & ~column.missing
    if rows.sum() >= _MIN_ROWS:
        n_values = min(len(np.unique(target.time[rows])), column.distinct)
        if column.codes is None and n_values > _FEW_VALUES and np.ptp(score[rows]) > 0:
            value = abs(float(spearmanr(score[rows], target.time[rows]).statistic))
            yield value, f"follows the time of the event (rank correlation {value:.3f})"
        value = concordance(target.take(slice(_PAIRS_ROWS)), score[:_PAIRS_ROWS], None)
        value = max(value, 1 - value)
        yield value, f"alone orders the subjects by their outcome with a concordance of {value:.3f}"
    everyone = np.ones(len(target), dtype=bool)
    questions = [(everyone, has_event, "predicts who has the event")]
    if target.n_events > 1:
        questions += [
            (has_event, target.event == code, f"separates {name} from the other events")
            for code, name in enumerate(names, 1)
        ]
    for rows, is_positive, text in questions:
        positive = is_positive[rows]
        n_positive, n_negative = positive.sum(), (~positive).sum()
        if min(n_positive, n_negative) >= _MIN_ROWS:
            mean_rank = rankdata(score[rows])[positive].mean()
            area = float(mean_rank - (n_positive + 1) / 2) / n_negative
            area = max(area, 1 - area)
            yield area, f"{text} with an area under the ROC curve of {area:.3f}"


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


def check_informative_missingness(
    columns: Iterable[ColumnData], target: Target, expected: FloatArray
) -> Iterator[Finding]:
    """Yield the columns whose missing values go with more or fewer events, by a log-rank test."""
    has_event, texts = target.event > 0, []
    for column in columns:
        masks = (column.missing, ~column.missing)
        n_observed = np.array([has_event[mask].sum() for mask in masks])
        n_expected = np.array([expected[mask].sum() for mask in masks])
        if min(mask.sum() for mask in masks) < _MIN_ROWS or (n_expected < 5).any():
            continue
        chi_squared = ((n_observed - n_expected) ** 2 / n_expected).sum()
        rates = n_observed / n_expected
        ratio = rates[0] / max(rates[1], 1e-3)
        if chi_squared >= _CHI_SQUARED and not 1 / _RATE_RATIO < ratio < _RATE_RATIO:
            texts.append(f"{column.name} ({ratio:.2g} times as often)")
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
