"""Checks of the target alone: event types, times, censoring, ties, horizons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

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


def check_outcome(target: Target, names: Sequence[str], held_out: bool) -> Iterator[Finding]:
    """Yield the problems of a target with exact times; ``names`` are those of event types 1..M.

    held_out: whether the rows are to judge a model, not to fit one.
    """
    counts = np.bincount(target.event, minlength=len(names) + 1)[1:]
    if not counts.any():
        yield Finding(
            "no-events",
            "stop",
            f"All {len(target):,} rows are censored, so "
            f"{'no model can be judged by them' if held_out else 'there is nothing to learn from'}.",
            "Check the codes of the event column: 0 is censored, 1, 2, ... are event types.",
        )
        return
    if len(target) < _FEW_ROWS:
        yield Finding(
            "few-rows",
            "warn",
            f"There are only {counted(len(target), 'row')}; every measure of quality will be very "
            "uncertain.",
            "Judge the model by more rows."
            if held_out
            else "Use few columns, LifeMix or CoxPH(penalty='auto'), and cross-validation instead of "
            "one test set.",
        )
    for code, (name, count) in enumerate(zip(names, counts.tolist(), strict=True), 1):
        if held_out and count < _FEW_EVENTS:
            yield Finding(
                "few-events",
                "warn" if count < _VERY_FEW_EVENTS else "note",
                f"{capital('the event' if name == 'event' else name)} was observed in "
                f"{counted(count, 'row')} only; predictions of it can hardly be judged.",
                "Judge the model by rows with more of these events.",
            )
        elif count == 0:
            yield Finding(
                "missing-event-type",
                "stop",
                f"No row has event code {code} ({name}), although the event types are 1 to "
                f"{len(names)}; fit refuses such data.",
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
    if not held_out:
        yield from _check_censoring(target)
        yield from _check_times(target)


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


def _check_times(target: Target) -> Iterator[Finding]:
    """Yield events at time 0, and ties among the other times of events."""
    times = target.time[target.event > 0]
    n_at_zero = int((times == 0).sum())
    if n_at_zero:
        yield Finding(
            "events-at-time-0",
            "warn" if n_at_zero > 0.02 * len(target) else "note",
            f"{counted(n_at_zero, 'event')} happened at time 0, where a continuous distribution "
            "has no density; each is treated as if it happened before the smallest positive event "
            "time.",
            "Measure time more finely, or check that these subjects were at risk at all.",
        )
    values, counts = np.unique(times[times > 0], return_counts=True)
    n_positive = counts.sum()
    if n_positive < _FEW_EVENTS:
        return
    if len(values) <= _COARSE:
        yield Finding(
            "ties",
            "warn",
            f"{n_positive:,} events share {counted(len(values), 'time')}: time is measured in "
            "coarse steps, but the model has a density at every time.",
            "Measure time more finely, or give the steps as intervals, make_target(start, event, "
            "upper=end), and use DeepSurvivalMachines.",
        )
    elif counts.max() > _SPIKE * n_positive:
        yield Finding(
            "ties",
            "warn",
            f"{percent(counts.max() / n_positive)} of the events happened at the same time, "
            f"{values[counts.argmax()]:g}; a smooth density cannot follow such a spike.",
            "Check whether this time means something else, such as the end of the study or an "
            "unknown date.",
        )


def check_horizons(target: Target, horizons: ArrayLike) -> Iterator[Finding]:
    """Yield the horizons at which the data give no or little information."""
    times = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    invalid = times[~np.isfinite(times) | (times <= 0)]
    if len(invalid):
        yield Finding(
            "horizons",
            "stop",
            f"A horizon must be a finite time after 0; got {listed(invalid.tolist())}.",
            "Give times in the unit of the target.",
        )
        return
    n_at_risk = np.array([((target.time >= t) & (target.entry < t)).sum() for t in times])
    is_thin = n_at_risk < _MIN_AT_RISK
    if is_thin.any():
        last = target.time.max()
        thin = [f"{n} at {t:g}" for n, t in zip(n_at_risk[is_thin], times[is_thin], strict=True)]
        yield Finding(
            "horizons",
            "stop" if (times > last).all() else "warn",
            f"Few or no subjects are under observation at some horizons ({listed(thin)}; the last "
            f"time is {last:g}): predictions there are extrapolations that can hardly be checked.",
            "Choose earlier horizons, and check their unit of time.",
        )
