"""Leaks: columns recorded because of the outcome, or copies of it under another name.

Four signs are looked for, each against a limit that no honest covariate reaches: the order of the times among those
with the event (Spearman), who has the event (area under the ROC curve), who had it first (Harrell's concordance), and
values that are missing in the censored. Categories are ordered by their observed over expected events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from ..._types import BoolArray, FloatArray
from ...metrics import concordance, nelson_aalen
from ...preprocessing.columns import ColumnData
from ...target import Target
from ..text import listed, percent
from .findings import Finding

__all__ = ["check_informative_missingness", "check_leak", "expected_events"]

_ENOUGH = 20  # rows on either side of a comparison
_SAME = 0.97
_STRONG = 0.90
_FEW_VALUES = 20
_ROWS_PER_LEVEL = 20
_SURE = 1e-8
_RATIO = 1.25
_CHI_SQUARED = 20.0  # p about 1e-5, one degree of freedom
_PAIRS_ROWS = 3000


@dataclass(frozen=True)
class _Sign:
    strength: float
    text: str


def check_leak(
    variable: ColumnData, target: Target, expected: FloatArray, names: Sequence[str]
) -> Iterator[Finding]:
    """Yield at most one finding: the strongest sign that a column was recorded after the outcome.

    expected: (n,), the events expected of each row given how long it was followed, from ``expected_events``.
    """
    if variable.distinct < 2 and not variable.missing.any():
        return
    recorded = _recorded_for_events(variable, target)
    if recorded is not None:
        yield recorded
        return
    score = _scores(variable, target, expected)
    signs = (
        []
        if score is None
        else [*_time_signs(score, variable, target), *_event_signs(score, target, names)]
    )
    strongest = max(signs, key=lambda sign: sign.strength, default=_Sign(0.0, ""))
    if strongest.strength >= _STRONG:
        certain = strongest.strength >= _SAME
        yield Finding(
            "stop" if certain else "warn",
            "leak",
            f"{variable.name} {strongest.text}: {'no' if certain else 'hardly any'} covariate known at time 0 can do "
            "that, so it was probably recorded after the outcome.",
            f"Leave {variable.name} out, unless it is certain to be known when a prediction is made.",
        )
        return
    level = _level_with_events_only(variable, target)
    if level is not None:
        yield level


def expected_events(target: Target) -> FloatArray:
    """Return ``H(time) - H(entry)`` of each row, H the Nelson-Aalen estimate of all rows, any event; (n,)."""
    curve = nelson_aalen(target)
    return np.asarray(curve.at(target.time) - curve.at(target.entry))


def _recorded_for_events(variable: ColumnData, target: Target) -> Finding | None:
    event = target.event > 0
    if min(event.sum(), (~event).sum()) < _ENOUGH or not variable.missing.any():
        return None
    with_event, without = (
        float((~variable.missing[event]).mean()),
        float((~variable.missing[~event]).mean()),
    )
    if with_event > 0.5 and without < 0.02:
        seen, other = "happened", "censored"
    elif without > 0.5 and with_event < 0.02:
        seen, other = "was censored", "in rows with the event"
    else:
        return None
    return Finding(
        "stop",
        "leak",
        f"{variable.name} is recorded in {percent(max(with_event, without))} of the rows where the event {seen} and in "
        f"{percent(min(with_event, without))} of {'those ' if other == 'censored' else ''}{other}: whether it is "
        "recorded reveals the outcome.",
        f"Leave {variable.name} out.",
    )


def _scores(variable: ColumnData, target: Target, expected: FloatArray) -> FloatArray | None:
    """Return one number per row by which a column orders the rows; None where it has too many levels."""
    if variable.numbers is not None:
        seen = variable.numbers[~variable.missing]
        return np.where(variable.missing, np.median(seen), variable.numbers) if len(seen) else None
    assert variable.codes is not None
    if len(variable.levels) * _ROWS_PER_LEVEL > len(target):
        return None
    place = variable.codes + 1
    observed = np.bincount(place, target.event > 0, len(variable.levels) + 1)
    expected_of = np.bincount(place, expected, len(variable.levels) + 1)
    return np.asarray((observed + 0.5) / (expected_of + 0.5))[place]


def _time_signs(score: FloatArray, variable: ColumnData, target: Target) -> Iterator[_Sign]:
    rows = (target.event > 0) & ~variable.missing
    if rows.sum() < _ENOUGH:
        return
    if variable.numbers is not None and len(np.unique(target.time[rows])) > _FEW_VALUES:
        both = np.ptp(score[rows]) > 0 and variable.distinct > _FEW_VALUES
        value = (
            abs(float(np.corrcoef(rankdata(score[rows]), rankdata(target.time[rows]))[0, 1]))
            if both
            else 0.0
        )
        yield _Sign(
            value, f"follows the time of the event almost exactly (rank correlation {value:.3f})"
        )
    sample = np.arange(len(target))[
        :_PAIRS_ROWS
    ]  # the rows come in random order where there are more
    value = concordance(target.take(sample), score[sample], None)
    value = max(value, 1 - value)
    yield _Sign(
        value, f"alone orders the subjects by their outcome with a concordance of {value:.3f}"
    )


def _event_signs(score: FloatArray, target: Target, names: Sequence[str]) -> Iterator[_Sign]:
    happened = target.event > 0
    yield from _area(score, happened, "tells who has the event")
    if target.n_events > 1:
        for code, name in enumerate(names, 1):
            yield from _area(
                score[happened],
                target.event[happened] == code,
                f"tells {name} from the other events",
            )


def _area(score: FloatArray, positive: BoolArray, what: str) -> Iterator[_Sign]:
    n, m = int(positive.sum()), int((~positive).sum())
    if min(n, m) >= _ENOUGH:
        area = float((rankdata(score)[positive].sum() - n * (n + 1) / 2) / (n * m))
        area = max(area, 1 - area)
        yield _Sign(area, f"{what} with an area under the ROC curve of {area:.3f}")


def _level_with_events_only(variable: ColumnData, target: Target) -> Finding | None:
    """Return a level in which everyone has the event, far beyond chance."""
    if variable.codes is not None:
        codes, names = variable.codes, list(variable.levels)
    elif variable.distinct <= _FEW_VALUES and variable.numbers is not None:
        values, places = np.unique(variable.numbers[~variable.missing], return_inverse=True)
        codes, names = np.full(len(target), -1), [f"{value:g}" for value in values]
        codes[~variable.missing] = places
    else:
        return None
    happened, known = target.event > 0, codes >= 0
    share = float(happened.mean())
    total = np.bincount(codes[known], minlength=len(names))
    with_event = np.bincount(codes[known], happened[known], len(names))
    sure = (
        (total > 0) & (with_event == total) & (share**total < _SURE) & (total < 0.9 * len(target))
    )
    if not sure.any():
        return None
    level = int(np.flatnonzero(sure)[total[sure].argmax()])
    return Finding(
        "warn",
        "leak",
        f"All {total[level]:,} rows with {variable.name} = {names[level]} have the event, of all rows only "
        f"{percent(share)}: the value may have been recorded because of the event.",
        f"Check when {variable.name} was recorded, and leave it out unless it was known at time 0.",
    )


def check_informative_missingness(
    variables: Iterable[ColumnData], target: Target, expected: FloatArray
) -> Iterator[Finding]:
    """Yield the columns in which rows without a value have more or fewer events than expected, by a log-rank test."""
    ratios = {
        variable.name: _rate_ratio(variable.missing, target, expected) for variable in variables
    }
    found = [
        f"{name} ({ratio:.2g} times as often)"
        for name, ratio in ratios.items()
        if ratio is not None
    ]
    if found:
        yield Finding(
            "note",
            "informative missingness",
            f"Where a value is missing, events are more or less frequent than in the other rows: {listed(found)}. That "
            "a value was not measured is informative.",
            "Keep the missing-value indicators that preprocessor='auto' adds, and ask why values are missing: a model "
            "that uses them is only valid where values are missing for the same reasons.",
        )


def _rate_ratio(missing: BoolArray, target: Target, expected: FloatArray) -> float | None:
    """Return the ratio of event rates with and without a missing value; None where it is near 1 or uncertain."""
    if not _ENOUGH <= missing.sum() <= len(missing) - _ENOUGH:
        return None
    happened = target.event > 0
    seen = np.array([happened[missing].sum(), happened[~missing].sum()], dtype=np.float64)
    expected_of = np.array([expected[missing].sum(), expected[~missing].sum()])
    if (expected_of < 5).any():
        return None
    statistic = float(((seen - expected_of) ** 2 / expected_of).sum())
    ratio = float((seen[0] / expected_of[0]) / max(seen[1] / expected_of[1], 1e-3))
    return None if statistic < _CHI_SQUARED or 1 / _RATIO < ratio < _RATIO else ratio
