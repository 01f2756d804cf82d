"""Time-dependent area under the ROC curve: do cases have higher risks than controls."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..checks import check_times
from ..errors import InputError
from ..target import TargetLike
from .censoring import horizon_weights
from .concordance import SKSURV_TOLERANCE
from .inputs import check_risk, undefined

__all__ = ["auc_td"]


def auc_td(
    y_train: TargetLike,
    y_test: TargetLike,
    risk: ArrayLike,
    horizons: ArrayLike,
    event: int | None = 1,
    *,
    compat: Literal["sksurv"] | None = None,
) -> Any:
    """Cumulative/dynamic area under the ROC curve at each horizon.

    ``AUC(t) = P(risk of a case > risk of a control)``, ties counting one half. Cases had the event
    up to t and have weight ``1 / G(T_i-)``; controls were still at risk after t, with weight ``1 /
    G(t)``, or had another event up to t, with weight ``1 / G(T_j-)``. ``G`` is the Kaplan-Meier
    estimate of the censoring distribution in ``y_train``.

    Parameters
    ----------
    y_train : target
        Training data; the censoring distribution is estimated from it.
    y_test : target
        n subjects, observed from the origin.
    risk : array-like of shape (n,) or (n, h)
        Risk score, the same for all horizons or one column per horizon; higher = earlier event.
    horizons : float or array-like of shape (h,)
        Times at which to evaluate.
    event : int or None, default 1
        The event type; None for events of any type.
    compat : {"sksurv"}, optional
        ``"sksurv"`` reproduces scikit-survival's ``cumulative_dynamic_auc``: cases have weight ``1
        / G(T_i)``, other events are censored, and risks tie with the next smaller one within 1e-8.

    Returns
    -------
    float or array of shape (h,)
        A float if ``horizons`` is a number. NaN, with a warning, at horizons beyond the
        follow-up of either sample, or without a case or a control.

    Notes
    -----
    With ``y_train`` equal to ``y_test`` this is ``riskRegression::Score`` in R.

    References
    ----------
    Blanche, Dartigues and Jacqmin-Gadda (2013). Estimating and comparing time-dependent areas under
    receiver operating characteristic curves for censored event times with competing risks.
    Statistics in Medicine 32, 5381-5397. https://doi.org/10.1002/sim.5958

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1])
    >>> metrics.auc_td(y, y, risk=[3.0, 1.0, 2.0, 0.5], horizons=2.5)
    0.75
    """
    times = check_times(horizons, "horizons")
    weights = horizon_weights(y_train, y_test, times, event, compat)
    n, n_times = len(weights.time), len(times)
    shape = np.shape(risk)
    if shape not in ((n,), (n, n_times)):
        raise InputError(
            f"risk must have shape ({n},), or ({n}, {n_times}), one column per horizon; got "
            f"{shape}."
        )
    values = check_risk(np.ravel(risk), int(np.prod(shape))).reshape(n, -1)
    areas = np.full(n_times, np.nan)
    for column, horizon in enumerate(times):
        if column < values.shape[1]:
            order = np.argsort(values[:, column])
            gaps = np.diff(values[order, column])
            ends_tie = np.append(gaps > (SKSURV_TOLERANCE if compat else 0.0), True)
        if not weights.defined[column]:
            continue
        is_past = weights.time[order] <= horizon
        control_weight = np.where(is_past, weights.rival[order], weights.control[column])
        cases = np.append(0.0, np.cumsum(weights.case[order] * is_past)[ends_tie])
        controls = np.append(0.0, np.cumsum(control_weight)[ends_tie])
        if not (cases[-1] > 0 and controls[-1] > 0):
            missing = "control" if cases[-1] > 0 else "case"
            areas[column] = undefined(f"no {missing} at the horizon {horizon:g}")
            continue
        # A case beats every control of a smaller risk, and half of those it ties with.
        pairs_won = np.diff(cases) @ (controls[1:] + controls[:-1]) / 2
        areas[column] = pairs_won / (cases[-1] * controls[-1])
    return float(areas[0]) if np.ndim(horizons) == 0 else areas
