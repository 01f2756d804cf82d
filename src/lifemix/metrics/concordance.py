"""Concordance: of two subjects, did the one with the higher risk have the event first.

A pair is comparable when the event of one was observed while the other was still at risk. A subject censored at the
time of an event was still at risk; two subjects with the event at the same time are no pair. Tied risks count one half.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._types import BoolArray, FloatArray, IndexArray, IntArray
from ..checks import Choice
from ..errors import SettingError
from ..target import Target, TargetLike
from .censoring import CensoringCurve, censoring_curve
from .inputs import (
    check_event,
    check_horizon,
    check_risk,
    observed,
    status,
    undefined,
)
from .lookup import look_up
from .pairs import later_pairs, nearly_tied
from .tree import compare

__all__ = ["SKSURV_TOLERANCE", "concordance", "concordance_td", "order_key"]

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

    ``C = #(comparable and concordant) / #(comparable)``, as ``survival::concordance`` in R with its defaults.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated: a subject is compared with those at risk at the time of its event. The
        intervals of a path are rows of their own, each with the risk by the covariates that hold in it.
    risk : array-like of shape (n,)
        Risk score; higher = earlier event.
    event : int or None, default 1
        The event type; None for events of any type.
    horizon : float, optional
        Only events up to this time count; None for all.
    competing : {"censored", "wolbers"}, default "censored"
        How other events count: as censored, or, after Wolbers, as subjects who stay at risk for ever.

    Returns
    -------
    float
        Between 0 and 1, 0.5 by chance. NaN, with a warning, where no pair is comparable.

    See Also
    --------
    concordance_td : weighted by the inverse probability of censoring.

    References
    ----------
    Harrell, Califf, Pryor, Lee and Rosati (1982). Evaluating the yield of medical tests. JAMA 247, 2543-2546.
    https://doi.org/10.1001/jama.1982.03320430047030

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    >>> metrics.concordance(y, risk=[4.0, 1.0, 2.0, 3.0])
    0.75
    """
    Choice("censored", "wolbers")("competing", competing)
    target = observed(y, "y", truncation=competing == "censored", by_row=True)
    values = check_risk(risk, len(target))
    kind = status(target, check_event(event), rivals_censored=competing == "censored")
    limit = np.inf if horizon is None else check_horizon(horizon)
    if horizon is not None and limit > target.time.max():
        return undefined(_beyond(limit, float(target.time.max())))
    ones = np.ones(len(target))
    cases = np.flatnonzero((kind == 1) & (target.time <= limit))
    return _ratio(target, kind, values, cases, ones, ones, 0.0)


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

    ``C^td(t) = P(risk_i > risk_j | T_i < T_j, T_i <= t, event i)``. The pair (i, j) has weight ``1 / G(T_i-)^2``, with
    ``G`` the Kaplan-Meier estimate of the censoring distribution in ``y_train``.

    Parameters
    ----------
    y_train : target
        Training data, observed from the origin; the censoring distribution is estimated from it.
    y_test : target
        n subjects, observed from the origin.
    risk : array-like of shape (n,)
        Risk score; higher = earlier event. For a time-dependent model, its predicted incidence at the horizon.
    horizon : float or None
        Only events up to this time count; None for all of the follow-up (Uno's concordance).
    event : int or None, default 1
        The event type; None for events of any type.
    competing : {"censored", "wolbers"}, default "censored"
        ``"censored"``: other events count as censored, for ``G`` too (the paper's definition). ``"wolbers"``: subjects
        with another event stay at risk for ever, pairs with them have weight ``1 / (G(T_i-) G(T_j-))``, and ``G`` is
        estimated from true censorings.
    compat : {"sksurv"}, optional
        ``"sksurv"`` reproduces scikit-survival's ``concordance_index_ipcw``: ``T_i < t``, weights ``1 / G(T_i)^2``, and
        risks within 1e-8 of each other tie.

    Returns
    -------
    float
        Between 0 and 1, 0.5 by chance. NaN, with a warning, where no pair is comparable, the horizon lies beyond the
        follow-up of both samples, or an event up to the horizon lies beyond the training follow-up, where ``G`` is
        unknown.

    See Also
    --------
    concordance : Harrell's index, without weights.
    concordance_antolini : of whole survival curves.

    Notes
    -----
    With ``y_train`` equal to ``y_test`` this is ``survival::concordance(timewt = "n/G2", ymax = t)`` in R.

    References
    ----------
    Uno, Cai, Pencina, D'Agostino and Wei (2011). On the C-statistics for evaluating overall adequacy of risk prediction
    procedures with censored survival data. Statistics in Medicine 30, 1105-1117. https://doi.org/10.1002/sim.4154

    Wolbers, Koller, Witteman and Steyerberg (2009). Prognostic models with competing risks: methods and application to
    coronary risk prediction. Epidemiology 20, 555-561. https://doi.org/10.1097/EDE.0b013e3181a39056

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0])
    >>> round(metrics.concordance_td(y, y, risk=[4.0, 1.0, 2.0, 3.0], horizon=3.5), 3)
    0.571
    """
    Choice("censored", "wolbers")("competing", competing)
    Choice(None, "sksurv")("compat", compat)
    if compat and competing == "wolbers":
        raise SettingError(
            "compat='sksurv' knows no competing='wolbers'; use competing='censored', or compat=None."
        )
    train, test = observed(y_train, "y_train"), observed(y_test, "y_test")
    values = check_risk(risk, len(test))
    limit = np.inf if horizon is None else check_horizon(horizon)
    follow_up = max(train.time.max(), test.time.max())
    if horizon is not None and limit > follow_up:
        return undefined(_beyond(limit, follow_up))

    code, censor_rivals = check_event(event), competing == "censored"
    kind = status(test, code, censor_rivals)
    cases = np.flatnonzero((kind == 1) & (test.time < limit if compat else test.time <= limit))
    curve = censoring_curve(train.time, status(train, code, censor_rivals) == 0)
    chance = np.ones(len(test))
    for rows in (cases, np.flatnonzero(kind == 2)):
        chance[rows] = curve.at(test.time[rows]) if compat else curve.before(test.time[rows])
    if not (chance[cases] > 0).all():
        return undefined(_unknown_weights(test.time[cases], chance[cases], curve))
    tolerance = SKSURV_TOLERANCE if compat else 0.0
    return _ratio(test, kind, values, cases, 1 / chance, _rival_weight(chance), tolerance)


def order_key(time: FloatArray, case: BoolArray) -> NDArray[np.uint64]:
    """Return integers that sort by time, the cases of one time before its other rows; shape (n,).

    The bits of non-negative floats sort as the floats do; the lowest bit is made free for the second criterion.
    """
    return (time.view(np.uint64) << np.uint64(1)) | (~case).astype(np.uint64)


def _ratio(
    target: Target,
    kind: IntArray,
    risk: FloatArray,
    cases: IndexArray,
    weight: FloatArray,
    rival_weight: FloatArray,
    tolerance: float,
) -> float:
    """Return the concordant share of the comparable pairs of some cases, given by their row numbers.

    A pair has weight weight_i^2, or weight_i rival_weight_j where j had another event before i.
    """
    time = target.time
    key = order_key(time, kind == 1)
    case_time, case_risk, case_weight = time[cases], risk[cases], weight[cases]
    concordant, comparable = _later(key, risk, cases)
    if tolerance:
        near = np.flatnonzero(nearly_tied(risk, tolerance)[cases])
        after = key[cases[near]] + np.uint64(1)
        concordant[near] = compare(key, risk, after, case_risk[near], tolerance=tolerance)[0]
    if target.truncated.any():  # those who enter at or after the event were not at risk
        late = np.flatnonzero(
            target.entry > 0
        )  # the others were there from the start, also for an event at time 0
        absent = compare(target.entry[late], risk[late], case_time, case_risk, tolerance=tolerance)
        concordant, comparable = concordant - absent[0], comparable - absent[1]
    agreeing, pairs = case_weight**2 @ concordant, case_weight**2 @ comparable
    rival = np.flatnonzero(kind == 2)
    if len(rival):  # one at the very time of the event has been counted among the later ones
        earlier = np.nextafter(-case_time, np.inf)
        concordant, comparable = compare(
            -time[rival], risk[rival], earlier, case_risk, rival_weight[rival]
        )
        agreeing, pairs = agreeing + case_weight @ concordant, pairs + case_weight @ comparable
    if not pairs > 0:
        return undefined(
            f"no pair is comparable: of {len(target)} rows {len(cases)} have a counted event, and no other "
            "subject was at risk at the time of one"
        )
    return float(agreeing / pairs)


def _later(
    key: NDArray[np.uint64], risk: FloatArray, cases: IndexArray
) -> tuple[FloatArray, FloatArray]:
    """Compare every case with the rows of a larger key; results of shape (number of cases,)."""
    inside = key <= key[cases].max(initial=0)
    near, far = np.flatnonzero(inside), np.sort(risk[np.flatnonzero(~inside)])
    concordant, comparable = np.empty(len(key)), np.empty(len(key))
    concordant[near], comparable[near] = later_pairs(key[near], risk[near])
    if not len(far):
        return concordant[cases], comparable[cases]
    # The far rows are later than every case, so that their order does not matter.
    below, up_to_ties = look_up(far, risk[cases], "left"), look_up(far, risk[cases], "right")
    return concordant[cases] + (below + up_to_ties) / 2, comparable[cases] + len(far)


def _rival_weight(chance: FloatArray) -> FloatArray:
    # A rival event beyond the training follow-up is later than every counted event: its weight is never used.
    return 1 / np.where(chance > 0, chance, np.inf)


def _beyond(horizon: float, follow_up: float) -> str:
    return f"the horizon {horizon:g} lies beyond the follow-up, which ends at {follow_up:g}"


def _unknown_weights(time: FloatArray, chance: FloatArray, curve: CensoringCurve) -> str:
    bad = ~(chance > 0)
    return (
        f"{int(bad.sum())} events before the horizon have no weight (the first at {time[bad].min():g}): the censoring "
        f"distribution is known, and not zero, only up to {curve.follow_up:g}, the training follow-up. "
        "Use an earlier horizon"
    )
