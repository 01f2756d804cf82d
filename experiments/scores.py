"""What is measured of a fitted model on held-out rows, as in the paper.

Concordance is weighted by the inverse probability of censoring, up to the horizon, with the definitions of
scikit-survival. Rows are ranked by the risk of the event by the horizon: with competing risks by the *net* risk if a
model has one. The Brier score is that of survival, with competing risks of the cumulative incidence.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lifemix._types import FittedSurvivalModel, FloatArray
from lifemix.errors import LifemixWarning
from lifemix.metrics import brier_score, concordance_td, predicted_risks

from .protocol import Fold
from .records import Frame, rounded

__all__ = ["missing_scores", "risks", "scores_on_inner", "scores_on_test"]

Target = NDArray[np.void]
Scores = dict[str, Any]


def risks(model: FittedSurvivalModel, X: Frame, times: FloatArray) -> list[FloatArray]:
    """Return the risks of every event type at its horizons, each ``[n_rows, n_horizons]``."""
    grid, index = np.unique(times, return_inverse=True)
    predictions = predicted_risks(model, X, grid, len(times))
    index = index.reshape(times.shape)
    return [risk[:, columns] for risk, columns in zip(predictions, index, strict=True)]


def scores_on_test(
    model: FittedSurvivalModel, fold: Fold, times: FloatArray, risk: list[FloatArray]
) -> Scores:
    """Return the measures on the test rows: for every event type its values at its horizons."""
    X, y = fold.X_test, fold.y_test
    scores: Scores = {"ctd": _concordances(model, fold.y_train, X, y, times)}
    scores["brier"] = _brier_scores(fold.y_train, y, risk, times)
    if fold.level > 0:
        scores["brier_original"] = _brier_scores(fold.y_original, y, risk, times)
    return scores | _log_likelihood(model, X, y)


def scores_on_inner(
    model: FittedSurvivalModel, fold: Fold, times: FloatArray, has_brier: bool
) -> Scores:
    """Return what settings are selected by, on the inner validation rows."""
    X, y = fold.inner_validation
    scores: Scores = {"ctd": _concordances(model, fold.y_train, X, y, times)}
    if has_brier:
        scores["brier"] = _brier_scores(fold.y_train, y, risks(model, X, times), times)
    return scores | _log_likelihood(model, X, y)


def missing_scores(times: FloatArray) -> Scores:
    """Return the scores of a model whose training diverged."""
    missing = np.full(times.shape, None).tolist()
    return {"ctd": missing, "brier": missing}


def _concordances(
    model: FittedSurvivalModel, y_train: Target, X: Frame, y: Target, times: FloatArray
) -> list[list[float | None]]:
    # Minus the net survival and not one minus it, which rounds to 1 for high risks.
    if hasattr(model, "predict_net_survival"):
        risk = [-model.predict_net_survival(X, horizons, m) for m, horizons in enumerate(times, 1)]
    else:
        risk = [
            model.predict_cumulative_incidence(X, horizons, event=m)
            for m, horizons in enumerate(times, 1)
        ]
    last = float(y_train["time"][y_train["event"] > 0].max())
    values = np.empty(times.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)  # an undefined value is None in the record
        for (m, i), horizon in np.ndenumerate(times):
            arguments = y_train, y, np.asarray(risk[m])[:, i]
            values[m, i] = concordance_td(*arguments, float(horizon), m + 1, compat="sksurv")
            # At the end of follow-up a weight may be unknown: use the last horizon at which it is known.
            if np.isnan(values[m, i]) and last < horizon:
                values[m, i] = concordance_td(*arguments, last, m + 1, compat="sksurv")
    return _rounded(values)


def _brier_scores(
    y_train: Target, y_test: Target, risk: list[FloatArray], times: FloatArray
) -> list[list[float | None]]:
    values = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LifemixWarning)
        for event, horizons in enumerate(times, 1):
            options: Scores = {"event": event} if len(times) > 1 else {"compat": "sksurv"}
            survival = 1 - risk[event - 1]
            values.append(brier_score(y_train, y_test, survival, horizons, **options))
    return _rounded(values)


def _rounded(values: Sequence[Any] | FloatArray) -> list[list[float | None]]:
    return [[rounded(float(value)) for value in row] for row in values]


def _log_likelihood(model: FittedSurvivalModel, X: Frame, y: Target) -> Scores:
    if not hasattr(model, "log_likelihood"):
        return {}
    return {"log_likelihood": rounded(model.log_likelihood(X, y) / len(y))}
