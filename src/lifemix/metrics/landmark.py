"""Predictions at landmarks and their quality: at a time s for (s, s + w], among those at risk at s.

With times counted from s, those at risk are a sample observed from its origin on, to which every
metric applies. The censoring distribution is then that among them, ``G(t) / G(s)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from .._types import FittedSurvivalModel, FloatArray, IndexArray
from ..checks import Number, Whole, check_times, take_rows
from ..errors import InputError, TargetError
from ..pipeline import final_model
from ..target import Target, TargetLike, as_target
from .evaluation import measure_named
from .inputs import check_event, check_horizon
from .resampling import limits_of_values

if TYPE_CHECKING:
    from ..preprocessing import TableLike  # imports scikit-learn

__all__ = ["at_landmark", "evaluate_landmarks", "landmark_risk"]

_MEASURES = ("concordance_td", "brier", "auc", "ici")


def at_landmark(y: TargetLike, landmark: float) -> tuple[IndexArray, NDArray[np.void]]:
    """Return who is at risk at a landmark, and their target with times counted from it.

    Parameters
    ----------
    y : target
        n subjects, possibly left-truncated, or the intervals of n paths.
    landmark : float
        The time s.

    Returns
    -------
    subjects : int array
        Numbers of the subjects under observation at s without an event so far, ``entry <= s <
        time``; with paths subjects count in the order of first appearance.
    y_since : structured array
        Their targets: times since s, observed from there on. Any metric takes it, with horizons
        that count from s.

    Raises
    ------
    TargetError
        If nobody is at risk at s.

    See Also
    --------
    evaluate_landmarks : the measures at several landmarks in one table.

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> y = make_target([1.0, 3.0, 5.0, 6.0], [1, 1, 0, 1])
    >>> subjects, since = metrics.at_landmark(y, 2.0)
    >>> subjects
    array([1, 2, 3])
    >>> since["time"]
    array([1., 3., 4.])
    """
    s = check_horizon(landmark)
    target = as_target(y).joined()
    is_at_risk = (target.entry <= s) & (target.time > s)
    if not is_at_risk.any():
        raise TargetError(
            f"nobody is at risk at the landmark {s:g}; the times go from {target.time.min():g} to "
            f"{target.time.max():g}. Use an earlier landmark."
        )
    rows = target.take(is_at_risk)
    since = replace(rows, time=rows.time - s, upper=rows.upper - s, entry=np.zeros(len(rows)))
    return np.flatnonzero(is_at_risk), since.to_array()


def landmark_risk(
    model: FittedSurvivalModel,
    X: TableLike,
    y: TargetLike,
    landmarks: ArrayLike,
    window: float,
    event: int | None = None,
) -> FloatArray:
    """Return the risk in (s, s + w] given survival to s, from the covariates that hold at s.

    The prediction uses only what is known at s: the covariates of that row hold up to s + w.

    Parameters
    ----------
    model : fitted survival model
        Anything with ``predict_survival_function(X, times)`` and, for competing risks,
        ``predict_cumulative_incidence(X, times, event=m)``; also a pipeline or search that ends
        with it.
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
        Probabilities; NaN for those not at risk at s. Subjects count in the order of first
        appearance.

    See Also
    --------
    evaluate_landmarks : takes these risks.

    Examples
    --------
    >>> from lifemix import make_target, metrics
    >>> from lifemix.baselines import KaplanMeier
    >>> X, y = [[0.0], [0.0], [0.0]], make_target([1.0, 2.0, 3.0], [1, 1, 1])
    >>> model = KaplanMeier().fit(X, y)
    >>> print(metrics.landmark_risk(model, X, y, landmarks=[0.5, 1.5], window=1.0).round(2))
    [[0.33  nan]
     [0.33 0.5 ]
     [0.33 0.5 ]]
    """
    times, w = check_times(landmarks, "landmarks"), Number(above=0.0)("window", window)
    (model, X), target = final_model(model, X), as_target(y)
    subject = target.path_numbers
    risk = np.full((len(target.joined()), len(times)), np.nan)
    for column, s in enumerate(times.tolist()):
        rows = np.flatnonzero((target.entry <= s) & (target.time > s))
        if len(rows):
            at_risk = take_rows(X, rows)
            risk[subject[rows], column] = _conditional_risk(model, at_risk, s, s + w, event)
    return risk


def evaluate_landmarks(
    y_train: TargetLike,
    y_test: TargetLike,
    risk: ArrayLike,
    landmarks: ArrayLike,
    window: float,
    event: int | None = None,
    *,
    measures: Sequence[str] = _MEASURES,
    n_bootstrap: int = 0,
    random_state: int | np.random.Generator | None = 0,
) -> pd.DataFrame:
    """Measure predictions at landmarks: of the risk in (s, s + w] for those at risk at s.

    Concordance up to the end of the window, Brier score and AUC at its end, weighted by the
    censoring distribution ``G(t) / G(s)`` among those at risk at s in ``y_train``, and the
    integrated calibration index.

    Parameters
    ----------
    y_train : target
        Training data; the censoring distribution is estimated from it.
    y_test : target
        n subjects, possibly left-truncated, or the intervals of n paths.
    risk : array-like of shape (n, n_landmarks)
        Predicted probability of the event in (s, s + w], given survival to s: ``1 - S(s + w) /
        S(s)`` if there is one event type. Values of subjects not at risk at s do not count and
        may be NaN.
    landmarks : float or array-like of shape (n_landmarks,)
        The times s.
    window : float
        The length w of the window.
    event : int, optional
        The event type; None for events of any type.
    measures : sequence of str
        Which of ``"concordance_td"``, ``"brier"``, ``"auc"`` and ``"ici"``, see ``evaluate``.
    n_bootstrap : int, default 0
        With 2 or more, 95 % intervals (``metrics.bootstrap``) over that many resamples of the
        subjects at risk; a subject is drawn with all its rows.
    random_state : int, Generator or None, default 0
        Random seed of the resamples.

    Returns
    -------
    DataFrame
        Columns ``landmark``, ``window``, ``metric``, ``value``, ``at_risk``, ``events`` (subjects
        at risk at s, and how many of them are seen to have the event in the window), with
        ``n_bootstrap`` also ``lower`` and ``upper``. What the data cannot determine is NaN, with a
        warning.

    References
    ----------
    Blanche, Proust-Lima, Loubère, Berr, Dartigues and Jacqmin-Gadda (2015). Quantifying and
    comparing dynamic predictive accuracy of joint models for longitudinal marker and time-to-event
    in presence of censoring and competing risks. Biometrics 71, 102-113.
    https://doi.org/10.1111/biom.12232

    Examples
    --------
    >>> import numpy as np
    >>> from lifemix import make_target, metrics
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.uniform(0.1, 1.0, 300)
    >>> y = make_target(rng.exponential(1 / rate), np.ones(300, dtype=int))
    >>> risk = np.tile(1 - np.exp(-rate)[:, None], 2)  # the same at every landmark
    >>> table = metrics.evaluate_landmarks(y, y, risk, landmarks=[0.0, 1.0], window=1.0)
    >>> bool((table["value"][table["metric"] == "auc"] > 0.5).all())
    True
    """
    times, w = check_times(landmarks, "landmarks"), Number(above=0.0)("window", window)
    unknown = sorted(set(measures) - set(_MEASURES))
    if unknown:
        raise InputError(f"measures must be of {list(_MEASURES)}; got {unknown}.")
    Whole(0)("n_bootstrap", n_bootstrap)
    event = check_event(event)
    test = as_target(y_test).joined()
    risks = np.asarray(risk, dtype=np.float64)
    if risks.ndim == 1 and len(times) == 1:
        risks = risks[:, None]
    if risks.shape != (len(test), len(times)):
        raise InputError(
            f"risk must have shape ({len(test)}, {len(times)}), subjects by landmarks; got "
            f"{risks.shape}. metrics.landmark_risk gives it for any model."
        )
    tables = []
    for column, s in enumerate(times.tolist()):
        subjects, since = at_landmark(test, s)
        at_risk, train = as_target(since), as_target(at_landmark(y_train, s)[1])
        predicted = risks[subjects, column]
        n_missing = int(np.isnan(predicted).sum())
        if n_missing:
            raise InputError(
                f"risk must be known for everyone at risk at the landmark {s:g}; got NaN for "
                f"{n_missing} of {len(predicted)}. Predict for them, or leave these subjects out "
                "of y_test."
            )

        def values(y: Target, risk: FloatArray, train: Target = train) -> FloatArray:
            functions = [measure_named(name).function for name in measures]
            arguments = (train, y, risk[:, None], np.array([w]), event)
            return np.ravel([function(*arguments) for function in functions])

        has_event = at_risk.event > 0 if event is None else at_risk.event == event
        columns: dict[str, Any] = {"landmark": s, "window": w, "metric": list(measures)}
        columns["value"] = values(at_risk, predicted)
        if n_bootstrap >= 2:
            columns["lower"], columns["upper"] = limits_of_values(
                values, at_risk, predicted, n_resamples=n_bootstrap, random_state=random_state
            )
        columns["at_risk"] = len(at_risk)
        columns["events"] = int((has_event & (at_risk.time <= w)).sum())
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def _conditional_risk(
    model: FittedSurvivalModel, X: Any, s: float, end: float, event: int | None
) -> FloatArray:
    """Return the risk of each row in (s, end], given survival to s."""
    survival = np.asarray(model.predict_survival_function(X, [s, end]), dtype=np.float64)
    incidence = 1 - survival
    if event is not None and int(getattr(model, "n_events_", 1)) > 1:
        incidence = np.asarray(model.predict_cumulative_incidence(X, [s, end], event=event))
    risk, at_s = np.diff(incidence, axis=1)[:, 0], survival[:, 0]
    return np.clip(np.divide(risk, at_s, out=np.ones(len(risk)), where=at_s > 0), 0, 1)
