"""Predictions at landmarks: from the covariates that hold there, given survival to there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._types import FittedSurvivalModel, FloatArray
from ..checks import Number, check_times
from ..target import TargetLike, as_target
from .predictions import take_rows

if TYPE_CHECKING:
    from ..preprocessing import TableLike  # imports scikit-learn

__all__ = ["landmark_risk"]


def landmark_risk(
    model: FittedSurvivalModel,
    X: TableLike,
    y: TargetLike,
    landmarks: ArrayLike,
    window: float,
    event: int | None = None,
) -> FloatArray:
    """Predict at landmarks, from the covariates that hold there: the risk in (s, s + w], given survival to s.

    The covariates of the row in force at s are kept up to s + w: what is known at s is all that is used.

    Parameters
    ----------
    model : fitted survival model
        Anything with ``predict_survival_function(X, times)`` and, for competing risks,
        ``predict_cumulative_incidence(X, times, event=m)``.
    X : DataFrame or array of n rows
        One row per subject, or one per interval of its path.
    y : target
        The target of the same rows.
    landmarks : float or array-like of shape (n_landmarks,)
        The times s.
    window : float
        The length w of the window.
    event : int, optional
        The event type; None for events of any type.

    Returns
    -------
    array of shape (n_subjects, n_landmarks)
        Probabilities; NaN for those not at risk at s. Subjects count in the order of first appearance.

    See Also
    --------
    evaluate_landmarks : takes these risks.

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> from lifemix.baselines import KaplanMeier
    >>> X, y = [[0.0], [0.0], [0.0]], make_target([1.0, 2.0, 3.0], [1, 1, 1])
    >>> print(metrics.landmark_risk(KaplanMeier().fit(X, y), X, y, landmarks=[0.5, 1.5], window=1.0).round(2))
    [[0.33  nan]
     [0.33 0.5 ]
     [0.33 0.5 ]]
    """
    times, w = check_times(landmarks, "landmarks"), Number(above=0.0)("window", window)
    target = as_target(y)
    n = len(target.joined())
    subject = target.path_numbers
    risk = np.full((n, len(times)), np.nan)
    for place, s in enumerate(times.tolist()):
        rows = np.flatnonzero((target.entry <= s) & (target.time > s))
        if len(rows):
            risk[subject[rows], place] = _conditional_risk(
                model, take_rows(X, rows), s, s + w, event
            )
    return risk


def _conditional_risk(
    model: FittedSurvivalModel, X: Any, s: float, end: float, event: int | None
) -> FloatArray:
    """Return the risk of each row in (s, end], given survival to s."""
    if event is None and hasattr(model, "predict_distribution"):
        return (
            1
            - np.asarray(model.predict_distribution(X).given(s).survival([end]), dtype=np.float64)[
                :, 0
            ]
        )
    survival = np.asarray(model.predict_survival_function(X, [s, end]), dtype=np.float64)
    gained = survival[:, 0] - survival[:, 1]
    if event is not None and int(getattr(model, "n_events_", 1)) > 1:
        incidence = np.asarray(
            model.predict_cumulative_incidence(X, [s, end], event=event), dtype=np.float64
        )
        gained = incidence[:, 1] - incidence[:, 0]
    return np.clip(
        np.divide(gained, survival[:, 0], out=np.ones(len(gained)), where=survival[:, 0] > 0), 0, 1
    )
