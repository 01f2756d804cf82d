"""What is measured of a fitted model on held-out rows.

Concordance is the paper's: weighted by the inverse probability of censoring, up to the horizon, with the definitions of
scikit-survival (``compat="sksurv"``). Its risk is that of the event by the horizon, for competing risks the *net* risk
where a model has one. The Brier score is that of survival, for competing risks of the cumulative incidence.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..distribution import CompetingDistribution
from ..errors import LifemixWarning
from ..metrics import brier_score, calibration_curve, concordance_td
from .protocol import Fold
from .records import rounded

__all__ = [
    "CHOSEN_BY_BRIER",
    "brier_gain",
    "calibration",
    "concordances",
    "inner_scores",
    "main_score",
    "missing_scores",
    "net_risk",
    "scores_on_test",
    "survivals",
]

Floats = NDArray[np.float64]
CHOSEN_BY_BRIER = ("lifemix",)
"""Models whose settings are chosen by the Brier score on the inner validation part; the others by C^td."""
_MANY = 1000  # test rows that allow ten groups in a calibration curve; otherwise five


def survivals(model: Any, X: Any, times: Floats) -> list[Floats]:
    """Return survival at the horizons, for competing risks one minus each incidence; a matrix a kind of event."""
    if len(times) == 1:
        return [np.asarray(model.predict_survival_function(X, times[0]))]
    law = model.predict_distribution(X) if hasattr(model, "predict_distribution") else None
    if isinstance(law, CompetingDistribution):  # all kinds and times by one integration
        every, place = np.unique(times, return_inverse=True)
        found = law.cumulative_incidences(every)
        return [1 - found[number][:, own] for number, own in enumerate(place.reshape(times.shape))]
    return [1 - np.asarray(model.predict_cumulative_incidence(X, at, event=event)) for event, at in enumerate(times, 1)]


def scores_on_test(model: Any, fold: Fold, times: Floats, survival: list[Floats]) -> dict[str, Any]:
    """Return the measures on the test rows: for each kind of event its values at its horizons."""
    scores: dict[str, Any] = {"ctd": concordances(model, fold.y_train, fold.X_test, fold.y_test, times)}
    scores["brier"] = _briers(fold.y_train, fold.y_test, survival, times)
    if fold.level > 0:
        scores["brier_original"] = _briers(fold.y_original, fold.y_test, survival, times)
    return scores | _likelihood(model, fold.X_test, fold.y_test)


def inner_scores(model: Any, fold: Fold, times: Floats, brier: bool) -> dict[str, Any]:
    """Return what settings are chosen by, on the inner validation part: concordance, likelihood, Brier score."""
    X, y = fold.inner_validation
    scores: dict[str, Any] = {"ctd": concordances(model, fold.y_train, X, y, times)} | _likelihood(model, X, y)
    if brier:
        scores["brier"] = _briers(fold.y_train, y, survivals(model, X, times), times)
    return scores


def missing_scores(times: Floats) -> dict[str, Any]:
    """Return the scores of a model that could not be fitted."""
    nothing = np.full(times.shape, np.nan).tolist()
    return {"ctd": nothing, "brier": nothing}


def main_score(scores: Any) -> float:
    """Return the mean concordance over kinds of event and horizons, by which settings are chosen."""
    return float(np.mean(scores["ctd"] if "ctd" in scores else scores["concordance"]))


def brier_gain(scores: Any) -> float:
    """Return minus the mean Brier score over kinds of event and those horizons that have one; NaN where none has."""
    values = np.asarray(scores["brier"], dtype=np.float64)
    known = values[np.isfinite(values)]
    return -float(known.mean()) if len(known) else np.nan


def calibration(fold: Fold, times: Floats, survival: list[Floats]) -> list[Any]:
    """Return, for each kind of event and horizon, predicted and observed risk of groups of test rows by risk."""
    bins = 10 if len(fold.y_test) >= _MANY else 5
    return [
        [_curve(fold.y_test, 1 - own[:, i], t, event, bins) for i, t in enumerate(at)]
        for event, (at, own) in enumerate(zip(times, survival, strict=True), 1)
    ]


def concordances(model: Any, y_train: Any, X: Any, y: Any, times: Floats) -> list[list[float]]:
    """Return C^td of each kind of event at its horizons."""
    values = []
    for event, at in enumerate(times, 1):
        risk = net_risk(model, X, at, event)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LifemixWarning)  # NaN says it
            values.append([rounded(_ctd(y_train, y, risk[:, i], float(t), event)) for i, t in enumerate(at)])
    return values


def net_risk(model: Any, X: Any, times: Floats, event: int) -> Floats:
    """Return what rows are ranked by: minus the probability of no event by each time, were there no other kinds.

    One minus it would round to 1 where the risk is high. The shape is ``(n, n_times)``. A model that knows no such
    thing gives its cumulative incidence.
    """
    if hasattr(model, "predict_net_survival"):
        return -np.asarray(model.predict_net_survival(X, times, event))
    return np.asarray(model.predict_cumulative_incidence(X, times, event=event))


def _ctd(y_train: Any, y: Any, risk: Floats, horizon: float, event: int) -> float:
    """Return C^td; where the horizon is the end of all follow-up and a weight unknown there, up to the last known."""
    value = concordance_td(y_train, y, risk, horizon, event, compat="sksurv")
    last = float(y_train["time"][y_train["event"] > 0].max())
    if np.isnan(value) and last < horizon:
        return concordance_td(y_train, y, risk, last, event, compat="sksurv")
    return value


def _briers(y_train: Any, y_test: Any, survival: list[Floats], times: Floats) -> list[list[float]]:
    several = len(times) > 1
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # NaN says it
        for event, (own, at) in enumerate(zip(survival, times, strict=True), 1):
            which = {"event": event} if several else {"compat": "sksurv"}
            found.append([rounded(value) for value in brier_score(y_train, y_test, own, at, **which)])
    return found


def _curve(y: Any, risk: Floats, horizon: float, event: int, bins: int) -> list[list[float]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)
        curve = calibration_curve(y, np.clip(risk, 0, 1), horizon, event, bins=bins)
    return [[rounded(v, 3) for v in curve.predicted], [rounded(v, 3) for v in curve.observed]]


def _likelihood(model: Any, X: Any, y: Any) -> dict[str, float]:
    if not hasattr(model, "log_likelihood"):
        return {}
    return {"log_likelihood": rounded(model.log_likelihood(X, y) / len(y))}
