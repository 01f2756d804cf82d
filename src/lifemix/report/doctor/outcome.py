"""Checks of the target alone: event types, times, censoring, ties, horizons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..._types import FloatArray
from ...target import Target
from ..text import capital, counted, listed, percent
from .finding import Finding

__all__ = ["check_horizons", "check_outcome", "exact_times"]

_VERY_FEW_EVENTS, _FEW_EVENTS = 10, 50
_FEW_ROWS = 100
_MOSTLY_CENSORED = 0.95
_COARSE = 12  # so few distinct event times are coarse steps
_SPIKE = 0.2  # share of the events at one time
_MIN_AT_RISK = 20


def exact_times(target: Target) -> Target:
    """Return the target with the midpoint of each interval, exact enough for checks and counts."""
    middle = np.where(target.interval, (target.time + target.upper) / 2, target.time)
    return replace(target, time=middle, upper=np.full(len(target), np.nan))


def check_outcome(target: Target, names: Sequence[str]) -> Iterator[Finding]:
    """Yield the problems of a target with exact times; ``names`` are those of event types 1..M."""
    counts = np.bincount(target.event, minlength=len(names) + 1)[1:]
    if not counts.any():
        yield Finding(
            "no-events",
            "stop",
            f"All {len(target):,} rows are censored, so there is nothing to learn from.",
            "Check the codes of the event column: 0 is censored, 1, 2, ... are event types.",
        )
        return
    if len(target) < _FEW_ROWS:
        yield Finding(
            "few-rows",
            "warn",
            f"There are only {counted(len(target), 'row')}; every measure of quality will be very "
            "uncertain.",
            "Use few columns, hidden=() or a Cox model, and cross-validation instead of one test "
            "set.",
            ("hidden",),
        )
    yield from _check_event_types(counts.tolist(), names)
    n_at_zero = int(((target.time == 0) & (target.event > 0)).sum())
    if n_at_zero:
        yield Finding(
            "events-at-time-0",
            "warn" if n_at_zero > 0.02 * len(target) else "note",
            f"{counted(n_at_zero, 'event')} happened at time 0, where a continuous distribution "
            "has no density; each is treated as if it happened before the smallest positive event "
            "time.",
            "Measure time more finely, or check that these subjects were at risk at all.",
        )
    yield from _check_censoring(target)
    yield from _check_ties(target.time[(target.event > 0) & (target.time > 0)])


def _check_event_types(counts: Sequence[int], names: Sequence[str]) -> Iterator[Finding]:
    for code, (name, count) in enumerate(zip(names, counts, strict=True), 1):
        if count == 0:
            label = f"{code}" if name == f"event {code}" else f"{code} ({name})"
            yield Finding(
                "missing-event-type",
                "stop",
                f"No row has event code {label}, although the event types are 1 to {len(counts)}; "
                "fit refuses such data.",
                "Number the event types 1, 2, ... without a gap.",
            )
        elif count < _FEW_EVENTS:
            very_few = count < _VERY_FEW_EVENTS
            yield Finding(
                "few-events",
                "warn" if very_few else "note",
                f"{capital('the event' if name == 'event' else name)} was observed in "
                f"{counted(count, 'row')} only; its risk {'cannot' if very_few else 'can hardly'} "
                "be learned or assessed from so few.",
                "Collect more events, merge this event type with another, or code it as censored "
                "(0).",
            )


def _check_censoring(target: Target) -> Iterator[Finding]:
    share = float((target.event == 0).mean())
    if share > _MOSTLY_CENSORED:
        yield Finding(
            "censoring",
            "warn",
            f"{percent(share)} of the rows are censored: the model learns from few events.",
            "Judge the model by its calibration at early horizons, and report the number of "
            "events.",
        )
    elif share == 0 and target.n_events > 1:
        yield Finding(
            "censoring",
            "warn",
            f"No row is censored (event code 0), and there are {target.n_events} event types: one "
            "of the codes may mean censored, as in status 1 = censored, 2 = dead.",
            "Check the codes of the event column, and give censored rows the code 0.",
        )
    elif share == 0 and len(target) >= _FEW_EVENTS:
        yield Finding(
            "censoring",
            "note",
            "No row is censored, which is rare in follow-up studies.",
            "Check that subjects without the event were not left out: survival would look too "
            "short.",
        )


def _check_ties(times: FloatArray) -> Iterator[Finding]:
    """Yield ties among the positive times of events."""
    if len(times) < _FEW_EVENTS:
        return
    values, counts = np.unique(times, return_counts=True)
    most_frequent = int(counts.argmax())
    if len(values) <= _COARSE:
        yield Finding(
            "ties",
            "warn",
            f"{len(times):,} events share {counted(len(values), 'time')}: time is measured in "
            "coarse steps, but the model has a density at every time.",
            "Give the steps as intervals, make_target(start, event, upper=end), or measure time "
            "more finely.",
        )
    elif counts[most_frequent] > _SPIKE * len(times):
        yield Finding(
            "ties",
            "warn",
            f"{percent(counts[most_frequent] / len(times))} of the events happened at the same "
            f"time, {values[most_frequent]:g}; a smooth density cannot follow such a spike.",
            "Check whether this time means something else, such as the end of the study or an "
            "unknown date.",
        )


def check_horizons(target: Target, horizons: ArrayLike) -> Iterator[Finding]:
    """Yield the horizons at which the data give no or little information."""
    values = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    last = float(target.time.max())
    last_event = float(target.time[target.event > 0].max(initial=0.0))
    invalid = values[~np.isfinite(values) | (values <= 0)]
    if len(invalid):
        yield Finding(
            "horizons",
            "stop",
            f"A horizon must be a finite time after 0; got {_numbers(invalid)}.",
            "Give times in the unit of the target.",
        )
    beyond = values[np.isfinite(values) & (values > last_event)]
    if len(beyond):
        yield Finding(
            "horizons",
            "stop" if len(beyond) == len(values) and (beyond > last).all() else "warn",
            f"{counted(len(beyond), 'horizon')} ({_numbers(beyond)}) beyond the last event, at "
            f"{last_event:g} (the last time of all is {last:g}): predictions there are "
            "extrapolations that cannot be checked.",
            f"Choose horizons below {last_event:g}, and check their unit of time.",
        )
    inside = values[(values > 0) & (values <= last_event)]
    at_risk = [int(((target.time >= t) & (target.entry < t)).sum()) for t in inside]
    thin = [
        f"{count} at {t:g}"
        for t, count in zip(inside, at_risk, strict=True)
        if count < _MIN_AT_RISK
    ]
    if thin:
        yield Finding(
            "horizons",
            "warn",
            f"Few subjects are still under observation at some horizons ({listed(thin)}); measures "
            "there will be unstable.",
            "Choose an earlier horizon, or report it with its interval.",
        )


def _numbers(values: FloatArray) -> str:
    return listed([f"{value:g}" for value in values])
