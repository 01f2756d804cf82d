"""Calibration at a horizon: does a predicted risk of 20 % mean that 20 of 100 have the event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import Whole
from .incidence import aalen_johansen
from .inputs import (
    Floats,
    Ints,
    check_event,
    check_horizon,
    check_level,
    check_probabilities,
    check_risk,
    observed,
    undefined,
)
from .smoothing import smooth_risk

__all__ = ["CalibrationCurve", "calibration_curve", "integrated_calibration_index"]


@dataclass(frozen=True, eq=False)
class CalibrationCurve:
    """Groups of subjects by predicted risk, from low to high; every field has one value a group.

    ``predicted`` is the mean predicted risk, ``observed`` the estimated risk with its confidence limits ``lower`` and
    ``upper``, ``count`` the number of subjects.
    """

    predicted: Floats
    observed: Floats
    lower: Floats
    upper: Floats
    count: Ints


def calibration_curve(
    y: Any, risk: ArrayLike, horizon: float, event: int | None = 1, *, bins: int = 10, level: float = 0.95
) -> CalibrationCurve:
    """Mean predicted risk against the Aalen-Johansen estimate of the risk (one kind of event: Kaplan-Meier), by groups.

    risk: (n,), the predicted probability of the event up to the horizon.
    event: the kind of event; None for any.
    bins: the number of groups, cut at quantiles of the risk; equal risks stay together, so there may be fewer.
    ``observed`` is NaN, with a warning, in a group that was not followed up to the horizon.
    """
    target = observed(y, "y", truncation=True)
    values = check_probabilities(check_risk(risk, len(target)), "risk")
    time, code = check_horizon(horizon), check_event(event)
    check_level(level)
    group = _quantile_groups(values, Whole(1)("bins", bins))
    estimates: list[tuple[Any, Any, Any]] = []
    for number in range(int(group.max()) + 1):
        curve = aalen_johansen(target.take(group == number), code, level=level, variance="greenwood")
        if time <= curve.time[-1]:
            estimates.append((curve.at(time), *curve.limits_at(time)))
        else:
            reason = f"group {number} was followed up to {curve.time[-1]:g}, not to the horizon {time:g}"
            missing = undefined(reason)
            estimates.append((missing, missing, missing))
    count = np.bincount(group)
    middle, lower, upper = np.asarray(estimates, dtype=np.float64).T
    return CalibrationCurve(np.bincount(group, weights=values) / count, middle, lower, upper, count)


def integrated_calibration_index(
    y: Any, risk: ArrayLike, horizon: float, event: int | None = 1, *, knots: int = 3
) -> float:
    """Mean distance between predicted and smoothed observed risk at a horizon (Austin et al., 2020 and 2022).

    ICI = 1/n sum_i |p_i - o_i|. The observed risk o_i is fitted on the predictions alone: a Fine-Gray model (for one
    kind of event, a Cox model) of a restricted cubic spline of log(-log(1 - p)).

    risk: (n,), the predicted probability of the event up to the horizon; risks of 0 or 1 are first moved inside by
    1e-8, with a warning.
    NaN, with a warning, if there is no event or the horizon lies beyond the follow-up.
    """
    target = observed(y, "y")
    values = check_probabilities(check_risk(risk, len(target)), "risk")
    smoothed = smooth_risk(target, values, check_horizon(horizon), check_event(event), knots)
    return float(np.abs(values - smoothed).mean())


def _quantile_groups(risk: Floats, bins: int) -> Ints:
    inner = np.unique(np.quantile(risk, np.arange(1, bins) / bins))
    return np.unique(np.searchsorted(inner, risk, side="left"), return_inverse=True)[1].astype(np.int64)
