"""Quality at landmarks: of predictions made at a time s for the window (s, s + w], among those at risk at s.

Seen from s, those at risk are a sample observed from its origin on: with times counted from s every metric applies as
it is. The censoring distribution is then that among them, ``G(t) / G(s)``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from .._types import FloatArray, IndexArray
from ..checks import Number, Whole, check_times
from ..errors import InputError, LifemixWarning, TargetError
from ..target import Target, TargetLike, as_target
from .auc import auc_td
from .brier import brier_score
from .calibration import integrated_calibration_index
from .concordance import concordance_td
from .inputs import check_event, check_horizon
from .resampling import bootstrap

__all__ = ["at_landmark", "evaluate_landmarks"]

_Measure = Callable[[Target, Target, FloatArray, float, int | None], float]
_MEASURES: dict[str, _Measure] = {
    "concordance": lambda train, test, risk, w, event: concordance_td(train, test, risk, w, event),
    "brier": lambda train, test, risk, w, event: float(
        brier_score(train, test, 1 - risk, w, event)
    ),
    "auc": lambda train, test, risk, w, event: float(auc_td(train, test, risk, w, event)),
    "calibration": lambda train, test, risk, w, event: integrated_calibration_index(
        test, risk, w, event
    ),
}


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
        Numbers of the subjects under observation at s without an event so far, ``entry <= s < time``; with paths
        subjects count in the order of first appearance.
    y_since : structured array
        Their targets: times since s, observed from there on. Any metric takes it, with horizons that count from s.

    Raises
    ------
    TargetError
        Where nobody is at risk at s.

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
    at_risk = (target.entry <= s) & (target.time > s)
    if not at_risk.any():
        raise TargetError(
            f"nobody is at risk at the landmark {s:g}; the times go from {target.time.min():g} to "
            f"{target.time.max():g}. Use an earlier landmark."
        )
    kept = target.take(at_risk)
    since = replace(kept, time=kept.time - s, upper=kept.upper - s, entry=np.zeros(len(kept)))
    return np.flatnonzero(at_risk), since.to_array()


def evaluate_landmarks(
    y_train: TargetLike,
    y_test: TargetLike,
    risk: ArrayLike,
    landmarks: ArrayLike,
    window: float,
    event: int | None = None,
    *,
    measures: Sequence[str] = ("concordance", "brier", "auc", "calibration"),
    n_bootstrap: int = 0,
    random_state: int | np.random.Generator | None = 0,
) -> pd.DataFrame:
    """Measure predictions at landmarks: of the risk in (s, s + w] for those at risk at s.

    Concordance up to the end of the window, Brier score and AUC at its end, weighted by the censoring distribution
    ``G(t) / G(s)`` among those at risk at s in ``y_train``, and the integrated calibration index.

    Parameters
    ----------
    y_train : target
        Training data; the censoring distribution is estimated from it.
    y_test : target
        n subjects, possibly left-truncated, or the intervals of n paths.
    risk : array-like of shape (n, n_landmarks)
        Predicted probability of the event in (s, s + w], given survival to s: ``1 - S(s + w) / S(s)`` where there is
        one event type. Values of subjects not at risk at s do not count and may be NaN.
    landmarks : float or array-like of shape (n_landmarks,)
        The times s.
    window : float
        The length w of the window.
    event : int, optional
        The event type; None for events of any type.
    measures : sequence of str
        Which of ``"concordance"``, ``"brier"``, ``"auc"`` and ``"calibration"``.
    n_bootstrap : int, default 0
        With 2 or more, 95 % intervals (``metrics.bootstrap``) over that many resamples of the subjects at risk;
        a subject is drawn with all its rows.
    random_state : int, Generator or None, default 0
        Random seed of the resamples.

    Returns
    -------
    DataFrame
        Columns ``landmark``, ``window``, ``metric``, ``value``, ``at_risk``, ``events`` (subjects at risk at s, and
        how many of them are seen to have the event in the window), with ``n_bootstrap`` also ``lower`` and ``upper``.
        What the data cannot determine is NaN, with a warning.

    References
    ----------
    Blanche, Proust-Lima, Loubère, Berr, Dartigues and Jacqmin-Gadda (2015). Quantifying and comparing dynamic
    predictive accuracy of joint models for longitudinal marker and time-to-event in presence of censoring and competing
    risks. Biometrics 71, 102-113. https://doi.org/10.1111/biom.12232

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
    code = check_event(event)
    test = as_target(y_test).joined()
    values = _check_risks(risk, len(test), len(times))
    rows: list[dict[str, Any]] = []
    for place, s in enumerate(times.tolist()):
        subjects, since = at_landmark(test, s)
        own, train = as_target(since), as_target(at_landmark(y_train, s)[1])
        happened = (own.event > 0 if code is None else own.event == code) & (own.time <= w)
        common = {"landmark": s, "window": w}
        counts = {"at_risk": len(own), "events": int(happened.sum())}
        predicted = _known(values[subjects, place], s)
        for name in measures:
            found = _measure(
                _MEASURES[name], train, own, predicted, w, code, n_bootstrap, random_state
            )
            rows.append({**common, "metric": name, **found, **counts})
    return pd.DataFrame(rows)


def _measure(
    measure: _Measure,
    train: Target,
    test: Target,
    risk: FloatArray,
    w: float,
    event: int | None,
    n_bootstrap: int,
    seed: Any,
) -> dict[str, float]:
    value = measure(train, test, risk, w, event)
    if n_bootstrap < 2:
        return {"value": value}
    if np.isnan(value):
        return {"value": value, "lower": np.nan, "upper": np.nan}
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", LifemixWarning
        )  # the measure itself has said what it cannot give
        drawn = bootstrap(
            lambda y, drawn: measure(train, y, drawn, w, event),
            test,
            risk,
            n_resamples=n_bootstrap,
            random_state=seed,
        )
    return {"value": value, "lower": float(drawn.lower), "upper": float(drawn.upper)}


def _check_risks(risk: ArrayLike, n: int, n_landmarks: int) -> FloatArray:
    values = np.asarray(risk, dtype=np.float64)
    if values.ndim == 1 and n_landmarks == 1:
        values = values[:, None]
    if values.shape != (n, n_landmarks):
        raise InputError(
            f"risk must have shape ({n}, {n_landmarks}), subjects by landmarks; got {values.shape}. "
            "metrics.landmark_risk gives it for any model."
        )
    return values


def _known(risk: FloatArray, s: float) -> FloatArray:
    missing = np.isnan(risk)
    if missing.any():
        raise InputError(
            f"risk must be known for everyone at risk at the landmark {s:g}; got NaN for {int(missing.sum())} of "
            f"{len(risk)}. Predict for them, or leave these subjects out of y_test."
        )
    return risk
