"""Checks of the target alone: times, event types, censoring, ties, horizons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..._types import FloatArray, IntArray
from ...target import Target
from ..text import capital, counted, listed, percent
from .findings import Finding

__all__ = ["check_horizons", "check_outcome"]

_FEW_EVENTS = 10
_SOME_EVENTS = 50
_FEW_ROWS = 100
_MOSTLY_CENSORED = 0.95
_COARSE = 12  # different event times, below which time is hardly continuous
_SPIKE = 0.2
_FAR = 10.0
_AT_RISK = 20


def check_outcome(target: Target, names: Sequence[str]) -> Iterator[Finding]:
    """Yield what stands out in the target, all of whose intervals have been replaced by exact times.

    names: those of the event types 1..M, some of which may not occur.
    """
    counts = np.bincount(target.event, minlength=len(names) + 1)[1:].astype(np.int64)
    yield from _check_counts(counts, names, len(target))
    yield from _check_origin(target)
    if not counts.any():
        return
    yield from _check_censoring(target)
    yield from _check_ties(target.time[(target.event > 0) & (target.time > 0)])
    yield from _check_outlying_times(target.time)


def _check_counts(counts: IntArray, names: Sequence[str], n: int) -> Iterator[Finding]:
    if not counts.any():
        yield Finding(
            "stop",
            "no events",
            f"All {n:,} rows are censored, so there is nothing to learn from.",
            "Check how the event column is coded: 0 is censored, 1, 2, ... are event types.",
        )
        return
    if n < _FEW_ROWS:
        yield Finding(
            "warn",
            "few rows",
            f"There are only {counted(n, 'row')}; every measure of quality will be very uncertain.",
            "Use few columns, hidden=() or a Cox model, and cross-validation instead of one test set.",
        )
    for code, (name, count) in enumerate(zip(names, counts, strict=True), 1):
        if count == 0:
            known = "" if name == f"event {code}" else f" ({name})"
            yield Finding(
                "stop",
                "missing event type",
                f"No row has event code {code}{known}, although the event types are 1 to {len(counts)}; fit refuses "
                "such data.",
                "Number the event types 1, 2, ... without a gap.",
            )
        elif count < _SOME_EVENTS:
            too_few = count < _FEW_EVENTS
            yield Finding(
                "warn" if too_few else "note",
                "few events",
                f"{capital('the event' if name == 'event' else name)} was observed in {counted(int(count), 'row')} "
                f"only; its risk {'cannot' if too_few else 'can hardly'} be learned or assessed from so few.",
                "Collect more events, merge this event type with another, or code it as censored (0).",
            )


def _check_origin(target: Target) -> Iterator[Finding]:
    at_zero = target.time == 0
    events, censored = (
        int((at_zero & (target.event > 0)).sum()),
        int((at_zero & (target.event == 0)).sum()),
    )
    if events:
        yield Finding(
            "warn" if events > 0.02 * len(target) else "note",
            "events at time 0",
            f"{counted(events, 'event')} happened at time 0, where a continuous distribution has no density; each is "
            "treated as having happened before the smallest positive event time.",
            "Measure time more finely, or check that these subjects were at risk at all.",
        )
    if censored:
        yield Finding(
            "note",
            "censored at time 0",
            f"A fit leaves out {counted(censored, 'row')} censored at time 0, where nothing was observed.",
            "Check that the follow-up is not missing.",
        )


def _check_censoring(target: Target) -> Iterator[Finding]:
    share = float((target.event == 0).mean())
    if share > _MOSTLY_CENSORED:
        yield Finding(
            "warn",
            "censoring",
            f"{percent(share)} of the rows are censored: the model learns from few events.",
            "Judge the model by its calibration at early horizons, and report how many events there are.",
        )
    elif share == 0 and target.n_events > 1:
        yield Finding(
            "warn",
            "censoring",
            f"No row is censored (event code 0), while there are {target.n_events} event types: one of the codes may "
            "stand for censored, as in status 1 = censored, 2 = dead.",
            "Check the codes of the event column, and give censored rows the code 0.",
        )
    elif share == 0 and len(target) >= _SOME_EVENTS:
        yield Finding(
            "note",
            "censoring",
            "No row is censored, which is rare in follow-up studies.",
            "Check that subjects still without the event were not left out: that would make survival look too short.",
        )


def _check_ties(times: FloatArray) -> Iterator[Finding]:
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


def _check_outlying_times(times: FloatArray) -> Iterator[Finding]:
    far = times > _FAR * np.quantile(times, 0.99)
    if len(times) >= _FEW_ROWS and far.any():
        yield Finding(
            "warn",
            "outlying times",
            f"{counted(int(far.sum()), 'time')}, up to {times.max():g}, lie above {_FAR:g} times the 99 % quantile, "
            f"{np.quantile(times, 0.99):g}.",
            "Check for a code for unknown such as 9999, and for different units of time.",
        )


def check_horizons(target: Target, horizons: ArrayLike) -> Iterator[Finding]:
    """Yield the horizons at which the data give no or little information."""
    values = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    last, last_event = (
        float(target.time.max()),
        float(target.time[target.event > 0].max(initial=0.0)),
    )
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


def _names(values: FloatArray, verb: str = "lie") -> str:
    text = listed([f"{v:g}" for v in values])
    noun, form = ("horizon", verb + "s" if verb else "") if len(values) == 1 else ("horizons", verb)
    return f"{'The' if verb else 'the'} {noun} {text} {form}".strip()
