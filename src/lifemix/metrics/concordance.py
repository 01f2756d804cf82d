"""Concordance: of two subjects, did the one with the higher risk have the event first.

A pair is comparable if the event of one was observed while the other was still at risk. A subject
censored at the time of an event was still at risk; two subjects with the event at the same time are
no pair. Tied risks count one half.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .._types import FloatArray, IndexArray, IntArray
from ..checks import Choice, check_times
from ..errors import InputError, SettingError
from ..target import Target, TargetLike
from ._pair_counts import compare
from .censoring import censoring_curve
from .inputs import (
    check_event,
    check_horizon,
    check_probabilities,
    check_risk,
    observed,
    status,
    undefined,
)

__all__ = ["SKSURV_TOLERANCE", "concordance", "concordance_antolini", "concordance_td"]

SKSURV_TOLERANCE = 1e-8


def concordance(
    y: TargetLike,
    risk: ArrayLike,
    event: int | None = 1,
    *,
    horizon: float | None = None,
    competing: Literal["censored", "wolbers"] = "censored",
) -> float:
    """Harrell's concordance index; all comparable pairs have the same weight.

    ``C = #(comparable and concordant) / #(comparable)``, as ``survival::concordance`` in R with its
    defaults.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated: a subject is compared with those at risk at the time of
        its event. The intervals of a path are rows of their own, each with the risk by the
        covariates that hold in it.
    risk : array-like of shape (n,)
        Risk score; higher = earlier event.
    event : int or None, default 1
        The event type; None for events of any type.
    horizon : float, optional
        Only events up to this time count; None for all.
    competing : {"censored", "wolbers"}, default "censored"
        How other events count: as censored, or, after Wolbers, as subjects who stay at risk for
        ever.

    Returns
    -------
    float
        Between 0 and 1, 0.5 by chance. NaN, with a warning, if no pair is comparable.

    See Also
    --------
    concordance_td : weighted by the inverse probability of censoring.

    References
    ----------
    Harrell, Califf, Pryor, Lee and Rosati (1982). Evaluating the yield of medical tests. JAMA 247,
    2543-2546. https://doi.org/10.1001/jama.1982.03320430047030

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    >>> metrics.concordance(y, risk=[4.0, 1.0, 2.0, 3.0])
    0.75
    """
    Choice("censored", "wolbers")("competing", competing)
    rivals_censored = competing == "censored"
    target = observed(y, "y", truncation=rivals_censored, by_row=True)
    values = check_risk(risk, len(target))
    kind = status(target, check_event(event), rivals_censored)
    last = np.inf if horizon is None else check_horizon(horizon)
    if horizon is not None and last > target.time.max():
        return _beyond_follow_up(last, target.time.max())
    cases = np.flatnonzero((kind == 1) & (target.time <= last))
    return _concordant_share(target, kind, values, cases, np.ones(len(target)))


def concordance_td(
    y_train: TargetLike,
    y_test: TargetLike,
    risk: ArrayLike,
    horizon: float | None,
    event: int | None = 1,
    *,
    competing: Literal["censored", "wolbers"] = "censored",
    compat: Literal["sksurv"] | None = None,
) -> float:
    """Time-dependent concordance up to a horizon, weighted by the inverse probability of censoring.

    ``C^td(t) = P(risk_i > risk_j | T_i < T_j, T_i <= t, event i)``. The pair (i, j) has weight ``1
    / G(T_i-)^2``, with ``G`` the Kaplan-Meier estimate of the censoring distribution in
    ``y_train``.

    Parameters
    ----------
    y_train : target
        Training data, observed from the origin; the censoring distribution is estimated from it.
    y_test : target
        n subjects, observed from the origin.
    risk : array-like of shape (n,)
        Risk score; higher = earlier event. For a time-dependent model, its predicted incidence at
        the horizon.
    horizon : float or None
        Only events up to this time count; None for all of the follow-up (Uno's concordance).
    event : int or None, default 1
        The event type; None for events of any type.
    competing : {"censored", "wolbers"}, default "censored"
        ``"censored"``: other events count as censored, for ``G`` too (the paper's definition).
        ``"wolbers"``: subjects with another event stay at risk until the end, pairs with them have
        weight ``1 / (G(T_i-) G(T_j-))``, and ``G`` is estimated from true censorings.
    compat : {"sksurv"}, optional
        ``"sksurv"`` reproduces scikit-survival's ``concordance_index_ipcw``: ``T_i < t``, weights
        ``1 / G(T_i)^2``, and risks within 1e-8 of each other tie.

    Returns
    -------
    float
        Between 0 and 1, 0.5 by chance. NaN, with a warning, if no pair is comparable, the
        horizon lies beyond the follow-up of both samples, or an event up to the horizon lies beyond
        the training follow-up, beyond which ``G`` is unknown.

    See Also
    --------
    concordance : Harrell's index, without weights.
    concordance_antolini : of whole survival curves.

    Notes
    -----
    With ``y_train`` equal to ``y_test`` this is ``survival::concordance(timewt = "n/G2", ymax =
    t)`` in R.

    References
    ----------
    Uno, Cai, Pencina, D'Agostino and Wei (2011). On the C-statistics for evaluating overall
    adequacy of risk prediction procedures with censored survival data. Statistics in Medicine 30,
    1105-1117. https://doi.org/10.1002/sim.4154

    Wolbers, Koller, Witteman and Steyerberg (2009). Prognostic models with competing risks: methods
    and application to coronary risk prediction. Epidemiology 20, 555-561.
    https://doi.org/10.1097/EDE.0b013e3181a39056

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    >>> round(metrics.concordance_td(y, y, risk=[4.0, 1.0, 2.0, 3.0], horizon=3.5), 3)
    0.571
    """
    Choice("censored", "wolbers")("competing", competing)
    Choice(None, "sksurv")("compat", compat)
    rivals_censored = competing == "censored"
    if compat and not rivals_censored:
        raise SettingError(
            "compat='sksurv' does not support competing='wolbers'; use competing='censored', or "
            "compat=None."
        )
    train, test = observed(y_train, "y_train"), observed(y_test, "y_test")
    values = check_risk(risk, len(test))
    last = np.inf if horizon is None else check_horizon(horizon)
    follow_up = max(train.time.max(), test.time.max())
    if horizon is not None and last > follow_up:
        return _beyond_follow_up(last, follow_up)

    event = check_event(event)
    kind = status(test, event, rivals_censored)
    is_counted = (kind == 1) & (test.time < last if compat else test.time <= last)
    curve = censoring_curve(train.time, status(train, event, rivals_censored) == 0)
    g = curve.at(test.time) if compat else curve.before(test.time)
    is_unknown = is_counted & ~(g > 0)
    if is_unknown.any():
        return undefined(
            f"{int(is_unknown.sum())} events before the horizon have no weight (the first at "
            f"{test.time[is_unknown].min():g}): the censoring distribution is known, and not zero, "
            f"only up to {curve.follow_up:g}, the training follow-up. Use an earlier horizon"
        )
    # A rival event without a weight is later than every counted event: its weight is not used.
    weight = np.divide(1.0, g, out=np.zeros(len(g)), where=g > 0)
    tolerance = SKSURV_TOLERANCE if compat else 0.0
    return _concordant_share(test, kind, values, np.flatnonzero(is_counted), weight, tolerance)


def concordance_antolini(
    y: TargetLike,
    survival: ArrayLike,
    times: ArrayLike,
    event: int | None = 1,
    *,
    horizon: float | None = None,
) -> float:
    """Antolini's time-dependent concordance of predicted survival curves.

    ``C^td = P(S_i(T_i) < S_j(T_i) | T_i < T_j, event i)``, with pairs and ties as in
    ``concordance``: a subject censored at ``T_i`` is compared, another with the event at ``T_i`` is
    not, and equal survival counts one half.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated.
    survival : array-like of shape (n, n_times)
        Non-increasing step curves: between two times the curve has the value of the earlier one.
        With competing risks, one minus the cumulative incidence of ``event``.
    times : array-like of shape (n_times,)
        Increasing, from at most the first to at least the last event that is counted.
    event : int or None, default 1
        The event type; other events count as censored. None for events of any type.
    horizon : float, optional
        Only events up to this time count; None for all.

    Returns
    -------
    float
        The concordance; NaN, with a warning, if no pair is comparable.

    See Also
    --------
    concordance : the same for one risk score per subject.

    Notes
    -----
    A model with continuous curves is evaluated exactly with ``times`` the distinct event times of
    ``y``. The time needed is O(n_cases n), n_cases the number of counted events.

    References
    ----------
    Antolini, Boracchi and Biganzoli (2005). A time-dependent discrimination index for survival
    data. Statistics in Medicine 24, 3927-3944. https://doi.org/10.1002/sim.2427

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0], [1, 1, 0])
    >>> survival = [[0.4, 0.1], [0.7, 0.5], [0.9, 0.4]]
    >>> round(metrics.concordance_antolini(y, survival, times=[1.0, 2.0]), 3)
    0.667
    """
    target = observed(y, "y", truncation=True)
    grid = check_times(times)
    curves = check_probabilities(survival, "survival")
    if curves.shape != (len(target), len(grid)):
        raise InputError(
            f"survival must have shape ({len(target)}, {len(grid)}), rows by times; got "
            f"{curves.shape}."
        )
    if (np.diff(grid) <= 0).any():
        raise InputError("times must be strictly increasing, as the columns of survival.")
    kind = status(target, check_event(event), rivals_censored=True)
    last = np.inf if horizon is None else check_horizon(horizon)
    cases = np.flatnonzero((kind == 1) & (target.time <= last))
    event_times = target.time[cases]
    if len(cases) and (event_times.min() < grid[0] or event_times.max() > grid[-1]):
        raise InputError(
            "times must reach from the first to the last counted event, "
            f"{event_times.min():g} to {event_times.max():g}; got {grid[0]:g} to {grid[-1]:g}. "
            "Predict at more times, for instance from 0, or give a horizon within them."
        )
    last_column = np.searchsorted(grid, event_times, side="right") - 1
    curves_by_time = np.ascontiguousarray(curves.T)
    end = _end_at_risk(target, kind)
    concordant, comparable = 0.0, 0
    for case, column in zip(cases, last_column, strict=True):
        t = target.time[case]
        is_at_risk = (end > t) & ((target.entry < t) | ~target.truncated)
        difference = curves_by_time[column, is_at_risk] - curves_by_time[column, case]
        concordant += (difference > 0).sum() + (difference == 0).sum() / 2
        comparable += len(difference)
    if comparable == 0:
        return undefined(
            f"no pair is comparable: {len(cases)} of {len(target)} rows have a counted event"
        )
    return float(concordant / comparable)


def _concordant_share(
    target: Target,
    kind: IntArray,
    risk: FloatArray,
    cases: IndexArray,
    weight: FloatArray,
    tolerance: float = 0.0,
) -> float:
    """Return the weighted share of concordant pairs among the comparable pairs of the cases.

    A pair has the weight weight_i^2, or weight_i weight_j if j had another event before i.
    """
    case_weight = weight[cases]
    lower, later = _compare_with_later(target, kind, risk, cases, tolerance)
    concordant, comparable = case_weight**2 @ lower, case_weight**2 @ later
    rivals = np.flatnonzero(kind == 2)
    if len(rivals):  # those at the time of the event itself are among the later rows
        lower, earlier = compare(
            -target.time[rivals],
            risk[rivals],
            np.nextafter(-target.time[cases], np.inf),
            risk[cases],
            weight[rivals],
        )
        concordant += case_weight @ lower
        comparable += case_weight @ earlier
    if not comparable > 0:
        return undefined(
            f"no pair is comparable: of {len(target)} rows {len(cases)} have a counted event, and "
            "no other subject was at risk at the time of one"
        )
    return float(concordant / comparable)


def _compare_with_later(
    target: Target, kind: IntArray, risk: FloatArray, cases: IndexArray, tolerance: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Return how many later rows have a lower risk than each case (ties: half), and how many exist."""
    end = _end_at_risk(target, kind)
    after = np.nextafter(target.time[cases], np.inf)
    lower, later = compare(end, risk, after, risk[cases], tolerance=tolerance)
    late = np.flatnonzero(target.truncated)
    if len(late):  # rows that enter at or after the event were not at risk
        absent_lower, absent = compare(
            target.entry[late], risk[late], target.time[cases], risk[cases], tolerance=tolerance
        )
        lower, later = lower - absent_lower, later - absent
    return lower, later


def _end_at_risk(target: Target, kind: IntArray) -> FloatArray:
    """Return the time up to which each row is at risk; without the event, a little longer."""
    return np.where(kind == 1, target.time, np.nextafter(target.time, np.inf))


def _beyond_follow_up(horizon: float, follow_up: float) -> float:
    return undefined(
        f"the horizon {horizon:g} lies beyond the follow-up, which ends at {follow_up:g}"
    )
