"""Time-dependent area under the ROC curve: the cases of a horizon should have higher risks than its controls."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._types import BoolArray, FloatArray
from ..checks import check_times
from ..errors import InputError
from ..target import TargetLike
from .concordance import SKSURV_TOLERANCE
from .inputs import check_risk, undefined
from .weights import HorizonWeights, horizon_weights

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

    ``AUC(t) = P(risk of a case > risk of a control)``, ties counting one half. Cases had the event up to t and have
    weight ``1 / G(T_i-)``; controls were still at risk after t, with weight ``1 / G(t)``, or had another event up to
    t, with weight ``1 / G(T_j-)``. ``G`` is the Kaplan-Meier estimate of the censoring distribution in ``y_train``.

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
        ``"sksurv"`` reproduces scikit-survival's ``cumulative_dynamic_auc``: cases have weight ``1 / G(T_i)``, other
        events are censored, and risks tie with the next smaller one within 1e-8.

    Returns
    -------
    float or array of shape (h,)
        A float where ``horizons`` is a number. NaN, with a warning, at horizons beyond the follow-up of either sample,
        or without a case or a control.

    Notes
    -----
    With ``y_train`` equal to ``y_test`` this is ``riskRegression::Score`` in R.

    References
    ----------
    Blanche, Dartigues and Jacqmin-Gadda (2013). Estimating and comparing time-dependent areas under receiver operating
    characteristic curves for censored event times with competing risks. Statistics in Medicine 32, 5381-5397.
    https://doi.org/10.1002/sim.5958

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 2.0, 3.0, 4.0], [1, 1, 0, 1])
    >>> metrics.auc_td(y, y, risk=[3.0, 1.0, 2.0, 0.5], horizons=2.5)
    0.75
    """
    times = check_times(horizons, "horizons")
    weights = horizon_weights(y_train, y_test, times, event, compat)
    values = _check_shape(np.asarray(risk), len(weights.time), len(times))
    tolerance = SKSURV_TOLERANCE if compat else 0.0
    order, ends = _by_risk(values[:, 0], tolerance)
    areas = np.full(len(times), np.nan)
    for column, horizon in enumerate(times):
        if column and values.shape[1] > 1:
            order, ends = _by_risk(values[:, column], tolerance)
        if weights.defined[column]:
            areas[column] = _area(
                weights, order, ends, float(horizon), float(weights.control[column])
            )
    return float(areas[0]) if np.ndim(horizons) == 0 else areas


def _area(
    weights: HorizonWeights,
    order: Any,
    last_of_tie: BoolArray,
    horizon: float,
    control_weight: float,
) -> float:
    time = weights.time[order]
    past = time <= horizon
    case = weights.case[order] * past
    control = np.where(past, weights.rival[order], control_weight)
    cases = np.append(0.0, np.cumsum(case)[last_of_tie])
    controls = np.append(0.0, np.cumsum(control)[last_of_tie])
    if not (cases[-1] > 0 and controls[-1] > 0):
        missing = "case" if not cases[-1] > 0 else "control"
        return undefined(f"no {missing} at the horizon {horizon:g}")
    # A case beats every control of a smaller risk, and half of those it ties with.
    return float(np.diff(cases) @ (controls[1:] + controls[:-1]) / 2 / (cases[-1] * controls[-1]))


def _by_risk(risk: FloatArray, tolerance: float) -> tuple[Any, BoolArray]:
    """Return the rows in order of risk, and which of them end a run of ties."""
    order = np.argsort(risk)
    return order, np.append(np.diff(risk[order]) > tolerance, True)


def _check_shape(risk: Any, n: int, width: int) -> FloatArray:
    if risk.ndim == 2 and risk.shape == (n, width):
        return check_risk(risk.reshape(-1), n * width).reshape(n, width)
    if risk.shape != (n,):
        raise InputError(
            f"risk must have shape ({n},), or ({n}, {width}), one column per horizon; got {risk.shape}."
        )
    return check_risk(risk, n)[:, None]
