"""Checks of the target alone: times, kinds of event, censoring, ties, horizons."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from ...target import Target
from ..text import counted, listed, percent
from .findings import Finding
from .variables import Floats, Ints

__all__ = ["check_horizons", "check_outcome"]

_FEW_EVENTS = 10
_SOME_EVENTS = 50
_FEW_ROWS = 100
_MOSTLY_CENSORED = 0.95
_COARSE = 12  # different event times, below which time is hardly continuous
_SPIKE = 0.2
_FAR = 10.0
_AT_RISK = 20


def check_outcome(target: Target) -> Iterator[Finding]:
    """Yield what stands out in the target, all of whose intervals have been replaced by exact times."""
    counts = np.bincount(target.event, minlength=2)[1:].astype(np.int64)
    yield from _check_kinds(counts, len(target))
    yield from _check_origin(target)
    if not counts.any():
        return
    yield from _check_censoring(target)
    yield from _check_ties(target.time[(target.event > 0) & (target.time > 0)])
    yield from _check_far_times(target.time)


def _check_kinds(counts: Ints, n: int) -> Iterator[Finding]:
    if not counts.any():
        yield Finding(
            "stop",
            "no events",
            f"All {n:,} rows are censored, so there is nothing to learn from.",
            "Check how the event column is coded: 0 is censored, 1, 2, ... are kinds of event.",
        )
        return
    if n < _FEW_ROWS:
        yield Finding(
            "warn",
            "few rows",
            f"There are only {counted(n, 'row')}; every measure of quality will be very uncertain.",
            "Use few columns, hidden=() or a Cox model, and cross-validation instead of one test set.",
        )
    for kind, count in enumerate(counts, 1):
        if count == 0:
            yield Finding(
                "stop",
                "missing kind of event",
                f"Events are coded up to {len(counts)}, but no row has event {kind}; a fit will be refused.",
                "Number the kinds of event 1, 2, ... without gaps.",
            )
        elif count < _SOME_EVENTS:
            grave = count < _FEW_EVENTS
            yield Finding(
                "warn" if grave else "note",
                "few events",
                f"Event {kind} happened in {counted(int(count), 'row')} only; its risk "
                f"{'cannot' if grave else 'can hardly'} be learnt or judged from so few.",
                "Collect more events, join this kind with another, or code it as censored (0).",
            )


def _check_origin(target: Target) -> Iterator[Finding]:
    at_zero = target.time == 0
    events, censored = int((at_zero & (target.event > 0)).sum()), int((at_zero & (target.event == 0)).sum())
    if events:
        yield Finding(
            "warn" if events > 0.02 * len(target) else "note",
            "events at time 0",
            f"{counted(events, 'event')} happened at time 0, where no density exists; each is taken to have happened "
            "before the smallest positive event time.",
            "Measure time more finely, or check that these subjects were at risk at all.",
        )
    if censored:
        yield Finding(
            "note",
            "censored at time 0",
            f"Nothing is learnt from {counted(censored, 'row')} censored at time 0; a fit leaves such rows out.",
            "Check that the follow-up is not missing.",
        )


def _check_censoring(target: Target) -> Iterator[Finding]:
    share = float((target.event == 0).mean())
    if share > _MOSTLY_CENSORED:
        yield Finding(
            "warn",
            "censoring",
            f"{percent(share)} of the rows are censored: most of what a model says will be about people in whom "
            "nothing was seen.",
            "Judge the model by its calibration at early horizons, and report how many events there are.",
        )
    elif share == 0 and len(target) >= _SOME_EVENTS:
        yield Finding(
            "note",
            "censoring",
            "No row is censored, which is rare in follow-up studies.",
            "Check that subjects still without the event were not left out: that would make survival look too short.",
        )


def _check_ties(times: Floats) -> Iterator[Finding]:
    if len(times) < _SOME_EVENTS:
        return
    values, counts = np.unique(times, return_counts=True)
    most = int(counts.argmax())
    if len(values) <= _COARSE:
        yield Finding(
            "warn",
            "ties",
            f"{len(times):,} events share {counted(len(values), 'time')}: time is measured in coarse steps, while the "
            "model has a density at every time.",
            "Give the steps as intervals, make_target(start, event, upper=end), or measure time more finely.",
        )
    elif counts[most] > _SPIKE * len(times):
        yield Finding(
            "warn",
            "ties",
            f"{percent(counts[most] / len(times))} of the events happened at the same time, {values[most]:g}; a smooth "
            "density cannot follow such a spike.",
            "Check whether this time stands for something else, such as the end of the study or an unknown date.",
        )


def _check_far_times(times: Floats) -> Iterator[Finding]:
    far = times > _FAR * np.quantile(times, 0.99)
    if len(times) >= _FEW_ROWS and far.any():
        yield Finding(
            "warn",
            "far times",
            f"{counted(int(far.sum()), 'time')}, up to {times.max():g}, lie more than {_FAR:g} times beyond the 99 % "
            f"quantile, {np.quantile(times, 0.99):g}.",
            "Check for a code for unknown such as 9999, and for different units of time.",
        )


def check_horizons(target: Target, horizons: ArrayLike) -> Iterator[Finding]:
    """Yield which horizons the data cannot speak about."""
    values = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    last, last_event = float(target.time.max()), float(target.time[target.event > 0].max(initial=0.0))
    wrong = values[~np.isfinite(values) | (values <= 0)]
    if len(wrong):
        yield Finding(
            "stop",
            "horizons",
            f"{listed([f'{v:g}' for v in wrong])} cannot be a horizon: it must be a finite time after 0.",
            "Give times in the unit of the target.",
        )
    beyond = values[np.isfinite(values) & (values > last_event)]
    if len(beyond):
        yield Finding(
            "stop" if (beyond > last).all() and len(beyond) == len(values) else "warn",
            "horizons",
            f"{_names(beyond)} beyond the last event, at {last_event:g} (the last time of all is {last:g}): what "
            "a model says there is extrapolation and cannot be checked.",
            f"Choose horizons below {last_event:g}; check that they have the target's unit of time.",
        )
    inside = values[(values > 0) & (values <= last_event)]
    at_risk = {v: int(((target.time >= v) & (target.entry < v)).sum()) for v in inside.tolist()}
    thin = [v for v, count in at_risk.items() if count < _AT_RISK]
    if thin:
        yield Finding(
            "warn",
            "horizons",
            f"Only {listed([f'{at_risk[v]} (at {v:g})' for v in thin])} subjects are still under observation at "
            f"{_names(np.array(thin), verb='')}; measures there will be unstable.",
            "Choose an earlier horizon, or report it with its interval.",
        )


def _names(values: Floats, verb: str = "lie") -> str:
    text = listed([f"{v:g}" for v in values])
    noun, form = ("horizon", verb + "s" if verb else "") if len(values) == 1 else ("horizons", verb)
    return f"{'The' if verb else 'the'} {noun} {text} {form}".strip()
