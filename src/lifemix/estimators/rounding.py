"""Times that were rounded coarsely: an event at t then fell somewhere in the step around t, and counts as such.

A continuous density can rise without limit at a few tied times, and held-out rows at the same times reward it, so that
both training and early stopping go by peaks that mean nothing. The probability of the step has no such peaks.

An event at t with step h counts as one in ``(t - h/2, t + h/2]``, from 0 or the entry on where that is later: times
that were rounded to the nearest multiple. A censored row keeps its time, the middle of where it was censored. So the
time scale is that of the exact density, ``f(t) h`` to the second order in h.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._types import FloatArray
from ..errors import SettingError
from ..target import Target

__all__ = ["check_rounding", "common_step", "events_in_steps", "rounding_of"]


_EVENTS_PER_TIME = 100.0  # at least so many events share a time, on average
_STEPS_IN_SPREAD = 20.0  # at most so many steps lie between the quartiles of the event times
_NEAR = 1e-3  # of a step: what a time may be off its multiple


def rounding_of(target: Target) -> float:
    """Return the step to which the event times of a training target were rounded, 0 where it is not coarse.

    Coarse: at least 100 events at a distinct time on average, all times of events multiples of a step, and at most
    20 steps from their lower to their upper quartile. Targets with several event types, intervals or paths are left
    as they are: the likelihood of the first would be an integral, the second say what is known themselves.
    """
    if target.n_events > 1 or target.path is not None or target.interval.any():
        return 0.0
    times = target.time[target.event > 0]
    distinct = np.unique(times)
    if len(distinct) < 2 or len(times) < _EVENTS_PER_TIME * len(distinct):
        return 0.0
    low, high = np.quantile(times, [0.25, 0.75])
    return common_step(distinct, max(high - low, distinct[-1] / 1e6) / _STEPS_IN_SPREAD)


def check_rounding(step: float, target: Target) -> None:
    """Refuse a step beyond the times themselves."""
    last = float(target.time.max())
    if step > last:
        raise SettingError(
            f"rounding must be at most the last time, {last:g}; got {step:g}. Give the step in the unit of the times, "
            "or 0 where they are exact."
        )


def common_step(distinct: FloatArray, least: float) -> float:
    """Return the largest step of which all times are multiples; 0 where it would be smaller than ``least``.

    Euclid's algorithm on all of them at once: what is left of the times after whole steps becomes the next step.
    """
    step = float(distinct[distinct > 0].min())
    while step >= least:
        left = np.abs(distinct - step * np.round(distinct / step))
        left = left[left > _NEAR * step]
        if len(left) == 0:
            return step
        step = float(left.min())
    return 0.0


def events_in_steps(target: Target, step: float) -> Target:
    """Return the target with exact events at t known to lie in the step around t; a step of 0 leaves it as it is."""
    if step == 0:
        return target
    exact = (target.event > 0) & ~target.interval
    lower = np.maximum(target.time - step / 2, target.entry)
    return replace(
        target,
        time=np.where(exact, lower, target.time),
        upper=np.where(exact, target.time + step / 2, target.upper),
    )
