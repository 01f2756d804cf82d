"""What is measured of a fitted model on held-out rows, as in the paper.

Concordance is weighted by the inverse probability of censoring, up to the horizon, with the definitions of
scikit-survival (``compat="sksurv"``). Rows are ranked by the risk of the event by the horizon: for competing risks the
*net* risk where a model has one. The Brier score is that of survival, for competing risks of the cumulative incidence.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lifemix._types import FittedSurvivalModel, FloatArray
from lifemix.errors import LifemixWarning
from lifemix.metrics import brier_score, calibration_curve, concordance_td, predicted_risks

from .protocol import Fold
from .records import rounded

__all__ = ["calibration", "inner_scores", "missing_scores", "net_risk", "risks", "scores_on_test"]

Target = NDArray[np.void]
_MANY = 1000  # test rows that allow ten groups in a calibration curve; otherwise five


def risks(model: FittedSurvivalModel, X: pd.DataFrame, times: FloatArray) -> list[FloatArray]:
    """Return the risk of every event type at its horizons, ``(n, n_horizons)`` each."""
    every, place = np.unique(times, return_inverse=True)
    found = predicted_risks(model, X, every, len(times))
    return [risk[:, own] for risk, own in zip(found, place.reshape(times.shape), strict=True)]


def scores_on_test(
    model: FittedSurvivalModel, fold: Fold, times: FloatArray, risk: list[FloatArray]
) -> dict[str, Any]:
    """Return the measures on the test rows: for every event type its values at its horizons."""
    scores: dict[str, Any] = {
        "ctd": _concordances(model, fold.y_train, fold.X_test, fold.y_test, times)
    }
    scores["brier"] = _briers(fold.y_train, fold.y_test, risk, times)
    if fold.level > 0:
        scores["brier_original"] = _briers(fold.y_original, fold.y_test, risk, times)
    return scores | _likelihood(model, fold.X_test, fold.y_test)


def inner_scores(
    model: FittedSurvivalModel, fold: Fold, times: FloatArray, brier: bool
) -> dict[str, Any]:
    """Return what settings are selected by, on the inner validation part: concordance, likelihood, Brier score."""
    X, y = fold.inner_validation
    scores: dict[str, Any] = {"ctd": _concordances(model, fold.y_train, X, y, times)} | _likelihood(
        model, X, y
    )
    if brier:
        scores["brier"] = _briers(fold.y_train, y, risks(model, X, times), times)
    return scores


def missing_scores(times: FloatArray) -> dict[str, Any]:
    """Return the scores of a model whose training diverged."""
    nothing = np.full(times.shape, np.nan).tolist()
    return {"ctd": nothing, "brier": nothing}


def calibration(fold: Fold, times: FloatArray, risk: list[FloatArray]) -> list[Any]:
    """Return, for every event type and horizon, predicted and observed risk of groups of test rows by risk."""
    bins = 10 if len(fold.y_test) >= _MANY else 5
    return [
        [_curve(fold.y_test, own[:, i], t, event, bins) for i, t in enumerate(at)]
        for event, (at, own) in enumerate(zip(times, risk, strict=True), 1)
    ]


def net_risk(
    model: FittedSurvivalModel, X: pd.DataFrame, times: FloatArray, event: int
) -> FloatArray:
    """Return what rows are ranked by, ``(n, n_times)``: minus the net survival of the event at each time.

    One minus it would round to 1 where the risk is high. A model without net survival gives its cumulative incidence.
    """
    if hasattr(model, "predict_net_survival"):
        return -np.asarray(model.predict_net_survival(X, times, event))
    return np.asarray(model.predict_cumulative_incidence(X, times, event=event))


def _concordances(
    model: FittedSurvivalModel, y_train: Target, X: pd.DataFrame, y: Target, times: FloatArray
) -> list[list[float]]:
    values = []
    for event, at in enumerate(times, 1):
        risk = net_risk(model, X, at, event)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LifemixWarning)  # NaN says it
            values.append(
                [rounded(_ctd(y_train, y, risk[:, i], float(t), event)) for i, t in enumerate(at)]
            )
    return values


def _ctd(y_train: Target, y: Target, risk: FloatArray, horizon: float, event: int) -> float:
    """Return C^td; where the horizon is the end of follow-up and a weight unknown there, up to the last known one."""
    value = concordance_td(y_train, y, risk, horizon, event, compat="sksurv")
    last = float(y_train["time"][y_train["event"] > 0].max())
    if np.isnan(value) and last < horizon:
        return concordance_td(y_train, y, risk, last, event, compat="sksurv")
    return value


def _briers(
    y_train: Target, y_test: Target, risk: list[FloatArray], times: FloatArray
) -> list[list[float]]:
    several = len(times) > 1
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # NaN says it
        for event, (own, at) in enumerate(zip(risk, times, strict=True), 1):
            which: dict[str, Any] = {"event": event} if several else {"compat": "sksurv"}
            found.append(
                [rounded(value) for value in brier_score(y_train, y_test, 1 - own, at, **which)]
            )
    return found


def _curve(y: Target, risk: FloatArray, horizon: float, event: int, bins: int) -> list[list[float]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)
        curve = calibration_curve(y, np.clip(risk, 0, 1), horizon, event, bins=bins)
    return [[rounded(v, 3) for v in curve.predicted], [rounded(v, 3) for v in curve.observed]]


def _likelihood(model: FittedSurvivalModel, X: pd.DataFrame, y: Target) -> dict[str, float]:
    if not hasattr(model, "log_likelihood"):
        return {}
    return {"log_likelihood": rounded(model.log_likelihood(X, y) / len(y))}
