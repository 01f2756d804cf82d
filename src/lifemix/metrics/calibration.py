"""Calibration at a horizon: of subjects with a predicted risk of 20 %, do 20 % have the event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import FloatArray, IntArray
from ..checks import Whole
from ..target import TargetLike
from .incidence import aalen_johansen
from .inputs import (
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
    """Groups of subjects by predicted risk, from low to high; every field has one value per group.

    Attributes
    ----------
    predicted : float array of shape (n_groups,)
        Mean predicted risk.
    observed : float array of shape (n_groups,)
        Aalen-Johansen estimate of the risk; NaN in a group that was not followed up to the horizon.
    lower, upper : float array of shape (n_groups,)
        Pointwise confidence limits of ``observed``.
    count : int array of shape (n_groups,)
        Number of subjects.
    """

    predicted: FloatArray
    observed: FloatArray
    lower: FloatArray
    upper: FloatArray
    count: IntArray


def calibration_curve(
    y: TargetLike,
    risk: ArrayLike,
    horizon: float,
    event: int | None = 1,
    *,
    bins: int = 10,
    level: float = 0.95,
) -> CalibrationCurve:
    """Predicted and observed risk at a horizon, by groups of predicted risk.

    The observed risk of a group is its Aalen-Johansen estimate (with one event type: one minus Kaplan-Meier).

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    risk : array-like of shape (n,)
        Predicted probability of the event up to the horizon.
    horizon : float
        Time at which to evaluate.
    event : int or None, default 1
        The event type; None for events of any type.
    bins : int, default 10
        Number of groups, cut at quantiles of the risk. Equal risks stay together, so there may be fewer.
    level : float, default 0.95
        Confidence level of the limits.

    Returns
    -------
    CalibrationCurve
        ``predicted``, ``observed``, ``lower``, ``upper`` and ``count`` per group. ``observed`` is NaN, with a warning,
        in a group that was not followed up to the horizon.

    See Also
    --------
    integrated_calibration_index : one number, without groups.
    lifemix.plots.calibration : the picture.

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    >>> curve = metrics.calibration_curve(y, risk=[0.9, 0.7, 0.4, 0.2], horizon=2.0, bins=2)
    >>> print(curve.predicted, curve.observed, curve.count)
    [0.3 0.8] [0.  0.5] [2 2]
    """
    target = observed(y, "y", truncation=True)
    values = check_probabilities(check_risk(risk, len(target)), "risk")
    time, code = check_horizon(horizon), check_event(event)
    check_level(level)
    group = _quantile_groups(values, Whole(1)("bins", bins))
    estimates: list[tuple[Any, Any, Any]] = []
    for number in range(int(group.max()) + 1):
        curve = aalen_johansen(
            target.take(group == number), code, level=level, variance="greenwood"
        )
        if time <= curve.time[-1]:
            estimates.append((curve.at(time), *curve.limits_at(time)))
        else:
            reason = (
                f"group {number} was followed up to {curve.time[-1]:g}, not to the horizon {time:g}"
            )
            missing = undefined(reason)
            estimates.append((missing, missing, missing))
    count = np.bincount(group)
    middle, lower, upper = np.asarray(estimates, dtype=np.float64).T
    return CalibrationCurve(np.bincount(group, weights=values) / count, middle, lower, upper, count)


def integrated_calibration_index(
    y: TargetLike, risk: ArrayLike, horizon: float, event: int | None = 1, *, knots: int = 3
) -> float:
    """Integrated calibration index: mean distance between predicted and smoothed observed risk at a horizon.

    ``ICI = 1/n sum_i |p_i - o_i|``. The observed risk ``o_i`` is a smooth function of the prediction alone: a Fine-Gray
    model (with one event type, a Cox model) of a restricted cubic spline of ``log(-log(1 - p))``.

    Parameters
    ----------
    y : target
        n subjects, observed from the origin.
    risk : array-like of shape (n,)
        Predicted probability of the event up to the horizon. Risks of 0 or 1 are moved inside by 1e-8, with a warning.
    horizon : float
        Time at which to evaluate.
    event : int or None, default 1
        The event type; None for events of any type.
    knots : {3, 4, 5}, default 3
        Number of knots of the spline.

    Returns
    -------
    float
        Between 0 (calibrated) and 1. NaN, with a warning, if there is no event or the horizon lies beyond the
        follow-up.

    References
    ----------
    Austin, Harrell and van Klaveren (2020). Graphical calibration curves and the integrated calibration index (ICI) for
    survival models. Statistics in Medicine 39, 2714-2742. https://doi.org/10.1002/sim.8570

    Austin, Putter, Giardiello and van Klaveren (2022). Graphical calibration curves and the integrated calibration
    index (ICI) for competing risk models. Diagnostic and Prognostic Research 6, 2.
    https://doi.org/10.1186/s41512-021-00114-6

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import make_target, metrics
    >>> rng = np.random.default_rng(0)
    >>> mean = rng.uniform(1, 5, 500)
    >>> y = make_target(rng.exponential(mean), np.ones(500, dtype=int))
    >>> true_risk = 1 - np.exp(-2.0 / mean)
    >>> ici = metrics.integrated_calibration_index(y, true_risk, horizon=2.0)
    >>> ici < metrics.integrated_calibration_index(y, true_risk / 2, horizon=2.0)
    True
    """
    target = observed(y, "y")
    values = check_probabilities(check_risk(risk, len(target)), "risk")
    smoothed = smooth_risk(target, values, check_horizon(horizon), check_event(event), knots)
    return float(np.abs(values - smoothed).mean())


def _quantile_groups(risk: FloatArray, bins: int) -> IntArray:
    inner = np.unique(np.quantile(risk, np.arange(1, bins) / bins))
    return np.unique(np.searchsorted(inner, risk, side="left"), return_inverse=True)[1].astype(
        np.int64
    )
