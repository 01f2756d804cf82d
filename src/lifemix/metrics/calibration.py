"""Calibration: of subjects with a predicted risk of 20 %, do 20 % have the event.

At one horizon, by groups of predicted risk or by a smooth curve; and over all times
(D-calibration).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import chi2

from .._types import FloatArray, IntArray
from ..checks import Whole, warn_user
from ..errors import InputError
from ..partial_likelihood import (
    RiskSets,
    hazard_increments,
    log_likelihood,
    make_terms,
    maximise,
)
from ..target import Target, TargetLike
from .censoring import censoring_curve
from .curves import aalen_johansen
from .inputs import (
    check_event,
    check_horizon,
    check_level,
    check_probabilities,
    check_risk,
    observed,
    status,
    undefined,
)

__all__ = [
    "CalibrationCurve",
    "DCalibration",
    "calibration_curve",
    "d_calibration",
    "integrated_calibration_index",
    "quantile_groups",
    "smooth_risk",
    "spline_basis",
]

_MARGIN = 1e-8  # predicted risks are moved inside of 0 and 1 by this
_KNOTS = (0.1, 0.5, 0.9)  # quantiles of the transformed risk
_MAX_ITER = 50
_LARGEST_COEFFICIENT = 100.0  # of columns of standard deviation 1


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

    The observed risk of a group is its Aalen-Johansen estimate (with one event type: one minus
    Kaplan-Meier).

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
        Number of groups, cut at quantiles of the risk. Equal risks stay together, so there may be
        fewer.
    level : float, default 0.95
        Confidence level of the limits.

    Returns
    -------
    CalibrationCurve
        ``predicted``, ``observed``, ``lower``, ``upper`` and ``count`` per group. ``observed`` is
        NaN, with a warning, in a group that was not followed up to the horizon.

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
    time, event = check_horizon(horizon), check_event(event)
    check_level(level)
    group = quantile_groups(values, Whole(1)("bins", bins))
    count = np.bincount(group)
    estimates = np.full((3, len(count)), np.nan)
    for number in range(len(count)):
        rows = target.take(group == number)
        curve = aalen_johansen(rows, event, level=level, variance="greenwood")
        if time <= curve.time[-1]:
            estimates[:, number] = curve.at(time), *curve.limits_at(time)
        else:
            undefined(
                f"group {number} was followed up to {curve.time[-1]:g}, not to the horizon {time:g}"
            )
    mean_risk = np.bincount(group, weights=values) / count
    observed_risk, lower, upper = estimates
    return CalibrationCurve(mean_risk, observed_risk, lower, upper, count)


def quantile_groups(values: FloatArray, n_groups: int) -> IntArray:
    """Return groups 0, 1, ... cut at quantiles; equal values stay together, which may leave fewer."""
    cuts = np.unique(np.quantile(values, np.arange(1, n_groups) / n_groups))
    group = np.unique(np.searchsorted(cuts, values, side="left"), return_inverse=True)[1]
    return group.astype(np.int64)


def integrated_calibration_index(
    y: TargetLike, risk: ArrayLike, horizon: float, event: int | None = 1
) -> float:
    """Integrated calibration index: mean distance of predicted and smoothed observed risk.

    ``ICI = 1/n sum_i |p_i - o_i|``. The observed risk ``o_i`` is a smooth function of the
    prediction alone: a Fine-Gray model (with one event type, a Cox model) of a restricted cubic
    spline of ``log(-log(1 - p))`` with three knots.

    Parameters
    ----------
    y : target
        n subjects, observed from the origin.
    risk : array-like of shape (n,)
        Predicted probability of the event up to the horizon. Risks of 0 or 1 are moved inside by
        1e-8, with a warning.
    horizon : float
        Time at which to evaluate.
    event : int or None, default 1
        The event type; None for events of any type.

    Returns
    -------
    float
        Between 0 (calibrated) and 1. NaN, with a warning, if there is no event or the horizon lies
        beyond the follow-up.

    References
    ----------
    Austin, Harrell and van Klaveren (2020). Graphical calibration curves and the integrated
    calibration index (ICI) for survival models. Statistics in Medicine 39, 2714-2742.
    https://doi.org/10.1002/sim.8570

    Austin, Putter, Giardiello and van Klaveren (2022). Graphical calibration curves and the
    integrated calibration index (ICI) for competing risk models. Diagnostic and Prognostic Research
    6, 2. https://doi.org/10.1186/s41512-021-00114-6

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
    smoothed = smooth_risk(target, values, check_horizon(horizon), check_event(event))
    return float(np.abs(values - smoothed).mean())


def smooth_risk(target: Target, risk: FloatArray, horizon: float, event: int | None) -> FloatArray:
    """Return the smoothed observed risk up to the horizon at each predicted risk, shape (n,).

    A Fine-Gray model (without other events, a Cox model) of a restricted cubic spline of
    log(-log(1 - risk)). All values are NaN, with a warning, if it cannot be fitted.
    """
    kind, time = status(target, event), target.time
    if horizon > time.max():
        reason = f"the horizon {horizon:g} lies beyond the follow-up, {time.max():g}"
        return np.full(len(target), undefined(reason))
    if not (kind == 1).any():
        return np.full(len(target), undefined("no row has the event"))
    inside = np.clip(risk, _MARGIN, 1 - _MARGIN)
    n_moved = int(np.sum(inside != risk))
    if n_moved:
        warn_user(
            f"{n_moved} predicted risks are 0, 1 or within {_MARGIN:g} of them, and were moved "
            "inside for the smooth calibration curve."
        )
    basis = spline_basis(np.log(-np.log1p(-inside)))
    event_times = np.unique(time[kind == 1])
    censoring = censoring_curve(time, kind == 0, events_first=False).before
    weight = np.ones(len(target))
    sets = RiskSets(event_times, time, target.entry, kind == 2, censoring)
    terms = make_terms(event_times, time, kind == 1, weight, "breslow")
    objective = partial(log_likelihood, x=basis, weight=weight, sets=sets, terms=terms)
    optimum = maximise(objective, np.zeros(basis.shape[1]), _MAX_ITER)
    coefficients = optimum.parameters
    if not optimum.converged or np.abs(coefficients).max(initial=0.0) > _LARGEST_COEFFICIENT:
        reason = "the smooth calibration curve could not be fitted: its likelihood has no maximum"
        return np.full(len(target), undefined(reason))
    increments = hazard_increments(basis @ coefficients, weight, sets, terms)
    hazard = increments[event_times <= horizon].sum()
    return np.asarray(-np.expm1(-hazard * np.exp(basis @ coefficients)))


def spline_basis(x: FloatArray) -> FloatArray:
    """Return the columns of a restricted cubic spline, each of mean 0 and standard deviation 1.

    The shape is (n, 2), with three knots at quantiles of x; the spline is linear beyond the outer
    ones. If knots coincide only the linear term remains, and no column if all x are equal.
    """
    low, middle, high = np.quantile(x, _KNOTS)
    columns = [x]
    if low < middle < high:
        from_low, from_middle, from_high = (
            np.maximum(x - k, 0.0) ** 3 for k in (low, middle, high)
        )
        tail = (high - low) * from_middle - (middle - low) * from_high
        columns.append(from_low - tail / (high - middle))
    basis = np.column_stack(columns)
    deviation = basis.std(axis=0)
    varies = deviation > 1e-10 * np.abs(basis).max(axis=0, initial=1.0)
    return np.asarray((basis[:, varies] - basis[:, varies].mean(axis=0)) / deviation[varies])


@dataclass(frozen=True, eq=False)
class DCalibration:
    """A test of calibration; a small ``p_value`` is evidence of miscalibration.

    Attributes
    ----------
    statistic : float
        Pearson's chi-squared statistic, with ``bins - 1`` degrees of freedom.
    p_value : float
        Probability of a statistic at least as large for a calibrated model.
    counts : float array of shape (bins,)
        Number of subjects whose survival fell into each of the equal parts of [0, 1], from 0 up.
    """

    statistic: float
    p_value: float
    counts: FloatArray


def d_calibration(
    y: TargetLike, survival: ArrayLike, event: int | None = None, *, bins: int = 10
) -> DCalibration:
    """Pearson's test that predicted survival at the time of the event is uniform (D-calibration).

    A subject with an event counts in the bin that holds ``S_i(T_i)``. One censored at ``T_i`` would
    have had S uniform on ``[0, S_i(T_i)]``, and is spread accordingly: ``(S - a) / S`` to the bin
    ``[a, b)`` that holds S, ``(b - a) / S`` to each bin below. The statistic is ``sum (count - n /
    bins)^2 / (n / bins)``.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    survival : array-like of shape (n,)
        Each row's predicted survival at its own time; for a left-truncated row given its entry,
        ``S(T) / S(entry)``.
    event : int, optional
        None for events of any type. With ``event=m`` other events count as censored, and survival
        is the net survival of m.
    bins : int, default 10
        Number of equal parts of [0, 1].

    Returns
    -------
    DCalibration
        ``statistic``, ``p_value`` and ``counts``. A small p-value is evidence of miscalibration.

    See Also
    --------
    lifemix.plots.d_calibration : the picture.

    References
    ----------
    Haider, Hoehn, Davis and Greiner (2020). Effective ways to build and evaluate individual
    survival distributions. Journal of Machine Learning Research 21(85), 1-63.
    https://jmlr.org/papers/v21/18-772.html

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import make_target, metrics
    >>> time = np.linspace(0.1, 4.0, 40)
    >>> y = make_target(time, np.ones(40, dtype=int))
    >>> result = metrics.d_calibration(y, survival=1 - time / 4.1, bins=4)
    >>> print(result.counts, round(result.p_value, 3))
    [10. 10. 10. 10.] 1.0
    """
    target = observed(y, "y", truncation=True)
    has_event = status(target, check_event(event)) == 1
    values = np.clip(check_probabilities(survival, "survival"), 0.0, 1.0)  # they may be rounded
    if values.shape != (len(target),):
        raise InputError(
            f"survival must have one value per row, ({len(target)},): S_i(T_i); got shape "
            f"{values.shape}."
        )
    Whole(2)("bins", bins)
    bin_index = np.minimum((values[has_event] * bins).astype(np.int64), bins - 1)
    censored = values[~has_event]
    positive = censored[censored > 0, None]
    overlap = np.clip(positive - np.arange(bins) / bins, 0, 1 / bins)  # of [0, S] and each bin
    counts = np.bincount(bin_index, minlength=bins) + (overlap / positive).sum(axis=0)
    counts[0] += np.sum(censored == 0)
    expected = len(target) / bins
    statistic = float(np.sum((counts - expected) ** 2) / expected)
    return DCalibration(statistic, float(chi2.sf(statistic, bins - 1)), counts)
