"""The Brier score: the mean squared error of predicted survival, corrected for censoring."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..checks import Choice, check_times, shown
from ..errors import InputError, SettingError
from ..target import TargetLike
from .censoring import horizon_weights
from .inputs import check_probabilities

__all__ = ["brier_score", "integrated_brier_score"]

_BLOCK = 1 << 15  # values handled at a time, so that the intermediate arrays stay in the cache


def brier_score(
    y_train: TargetLike,
    y_test: TargetLike,
    survival: ArrayLike,
    horizons: ArrayLike,
    event: int | None = None,
    *,
    compat: Literal["sksurv"] | None = None,
) -> Any:
    """Brier score of predicted survival at each horizon; lower is better.

    ::

        BS(t) = 1/n sum_i { [T_i <= t, event] S_i(t)^2 / G(T_i-)  +  [T_i > t] (1 - S_i(t))^2 / G(t)
        }

    with ``G`` the Kaplan-Meier estimate of the censoring distribution in ``y_train``. With
    ``event=m`` the array is one minus the cumulative incidence of m, and a row with another event
    up to t adds ``(1 - S_i(t))^2 / G(T_i-)``.

    Parameters
    ----------
    y_train : target
        Training data; the censoring distribution is estimated from it.
    y_test : target
        n subjects, observed from the origin.
    survival : array-like of shape (n, h)
        Predicted survival at the horizons, or one minus the cumulative incidence of ``event``; (n,)
        for a single horizon.
    horizons : float or array-like of shape (h,)
        Times at which to evaluate.
    event : int, optional
        The event type; None for events of any type.
    compat : {"sksurv"}, optional
        ``"sksurv"`` reproduces scikit-survival: ``G(T_i)`` in place of ``G(T_i-)``, other events
        censored.

    Returns
    -------
    float or array of shape (h,)
        A float if ``horizons`` is a number. NaN, with a warning, at horizons beyond the
        follow-up of either sample, or if no row of ``y_test`` has the event.

    See Also
    --------
    integrated_brier_score : the mean over time.

    Notes
    -----
    With ``y_train`` equal to ``y_test`` this is ``riskRegression::Score`` in R.

    References
    ----------
    Graf, Schmoor, Sauerbrei and Schumacher (1999). Assessment and comparison of prognostic
    classification schemes for survival data. Statistics in Medicine 18, 2529-2545.
    https://doi.org/10.1002/(SICI)1097-0258(19990915/30)18:17/18%3C2529::AID-SIM274%3E3.0.CO;2-5

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1])
    >>> survival = [[0.5, 0.2], [0.8, 0.4], [0.9, 0.7], [0.9, 0.8]]
    >>> print(metrics.brier_score(y, y, survival, horizons=[1.5, 2.5]).round(4))
    [0.0775 0.0825]
    """
    times = check_times(horizons, "horizons")
    weights = horizon_weights(y_train, y_test, times, event, compat)
    values = check_probabilities(survival, "survival")
    n, n_times = len(weights.time), len(times)
    if values.ndim == 1 and n_times == 1:
        values = values[:, None]
    if values.shape != (n, n_times):
        raise InputError(
            f"survival must have shape ({n}, {n_times}), subjects by horizons; got {values.shape}."
        )
    past_weight = (weights.case + weights.rival)[:, None]
    has_no_case = weights.case[:, None] == 0
    total = np.zeros(n_times)
    step = max(1, _BLOCK // n_times)
    for rows in (slice(first, first + step) for first in range(0, n, step)):
        is_past = weights.time[rows, None] <= times
        weight = np.where(is_past, past_weight[rows], weights.control)
        is_event_free = ~is_past | has_no_case[rows]
        total += (weight * np.square(values[rows] - is_event_free)).sum(axis=0)
    scores = np.where(weights.defined, total / n, np.nan)
    return float(scores[0]) if np.ndim(horizons) == 0 else scores


def integrated_brier_score(
    y_train: TargetLike,
    y_test: TargetLike,
    survival: ArrayLike,
    horizons: ArrayLike,
    event: int | None = None,
    *,
    compat: Literal["sksurv"] | None = None,
    rule: Literal["trapezoid", "step"] = "trapezoid",
) -> float:
    """Return the mean Brier score over time, from its values at increasing horizons.

    ::

        IBS = 1 / (t_h - t_1) sum_k (t_{k+1} - t_k) (BS(t_k) + BS(t_{k+1})) / 2

    Parameters
    ----------
    y_train : target
        Training data; the censoring distribution is estimated from it.
    y_test : target
        n subjects, observed from the origin.
    survival : array-like of shape (n, h)
        Predicted survival at the horizons, or one minus the cumulative incidence of ``event``.
    horizons : array-like of shape (h,)
        At least two times, strictly increasing.
    event : int, optional
        The event type; None for events of any type.
    compat : {"sksurv"}, optional
        As in ``brier_score``.
    rule : {"trapezoid", "step"}, default "trapezoid"
        ``"trapezoid"``: the trapezoidal rule from the first to the last horizon, divided by that
        span (the formula above), as in scikit-survival. ``"step"``: ``(1 / t_h) sum_k BS(t_k)
        (t_{k+1} - t_k)``, as in ``riskRegression::Score``. The step rule divides by the time from 0
        and counts no error before the first horizon: use it only on a fine grid that starts near 0,
        otherwise the value is too low.

    Returns
    -------
    float
        NaN, with a warning, if any of the scores is.

    See Also
    --------
    brier_score : the score at single horizons, with the formula and the reference.

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1])
    >>> survival = [[0.5, 0.2], [0.8, 0.4], [0.9, 0.7], [0.9, 0.8]]
    >>> round(metrics.integrated_brier_score(y, y, survival, [1.5, 2.5]), 4)
    0.08
    """
    Choice("trapezoid", "step")("rule", rule)
    times = check_times(horizons, "horizons")
    if len(times) < 2 or (np.diff(times) <= 0).any():
        raise SettingError(
            f"horizons must be at least two, strictly increasing; got {shown(times)}."
        )
    scores = np.asarray(brier_score(y_train, y_test, survival, times, event, compat=compat))
    if np.isnan(scores).any():
        return float("nan")
    steps = np.diff(times)
    if rule == "step":
        return float(steps @ scores[:-1] / times[-1])
    return float(steps @ (scores[1:] + scores[:-1]) / 2 / (times[-1] - times[0]))
