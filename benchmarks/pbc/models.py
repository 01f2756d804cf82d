"""The models: each learns from training patients and gives the risk of death in (s, s + w] of others alive at s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from lifemix import DeepSurvivalMachines, encoders, make_target
from lifemix.baselines import CoxPH, RandomSurvivalForest

from .auton_recurrent import AutonRecurrent
from .data import Cohort

__all__ = ["MODELS", "Predictor", "fit_recurrent", "inputs"]

Predictor = Callable[[Cohort, float, float], np.ndarray]
"""From patients alive at s, s and w to their risks."""

_PER_SUBJECT = 10  # landmarks drawn for each patient


def _last_visit(cohort: Cohort, s: Any) -> pd.DataFrame:
    """Return the table at s: the last known values, how old they are, and s."""
    known = cohort.visits.until(s)
    table = pd.concat([cohort.clinic.reset_index(drop=True), known.last()], axis=1)
    return table.assign(landmark=known.at, elapsed=known.at - known.last_times)


class _AtOneLandmark:
    """A model of its own for each landmark: those at risk at s, followed until s + w."""

    def __init__(self, make: Callable[[], Any], train: Cohort) -> None:
        self.make, self.train = make, train

    def __call__(self, cohort: Cohort, s: float, w: float) -> np.ndarray:
        risk = self.train.take(self.train.at_risk(s))
        time, event = risk.target.time - s, risk.target.event
        y = make_target(np.minimum(time, w), np.where(time <= w, event, 0))
        model = self.make().fit(_last_visit(risk, s).drop(columns="landmark"), y)
        return (
            1
            - model.predict_survival_function(_last_visit(cohort, s).drop(columns="landmark"), [w])[
                :, 0
            ]
        )


def _given(model: Any, X: Any, s: float, w: float) -> np.ndarray:
    return 1 - model.predict_distribution(X).given(s).survival(s + w)[:, 0]


def landmark_cox(train: Cohort, seed: int) -> Predictor:
    """Return Cox's model with a ridge penalty, one for each landmark."""
    return _AtOneLandmark(lambda: CoxPH(penalty="auto"), train)


def landmark_forest(train: Cohort, seed: int) -> Predictor:
    """Return a random survival forest for each landmark."""
    return _AtOneLandmark(lambda: RandomSurvivalForest(n_trees=500, random_state=seed), train)


def last_visit_dsm(train: Cohort, seed: int) -> Predictor:
    """Return Deep Survival Machines on the last visit before landmarks that were drawn along each history."""
    _, y, rows = train.visits.landmarks(train.target, n_per_subject=_PER_SUBJECT, random_state=seed)
    X = _last_visit(train.take(rows), y["entry"])
    model = DeepSurvivalMachines(random_state=seed).fit(X, y)
    return lambda cohort, s, w: _given(model, _last_visit(cohort, s), s, w)


def inputs(cohort: Cohort, s: Any) -> dict[str, Any]:
    """Return what the recurrent model gets at s: the columns that do not change, and the history until s."""
    return {"clinic": cohort.clinic, "visits": cohort.visits.until(s)}


def fit_recurrent(
    train: Cohort, seed: int, n_per_subject: int | None = _PER_SUBJECT
) -> DeepSurvivalMachines:
    """Fit Deep Survival Machines with a recurrent encoder, all by default, to such landmarks; None: to every visit."""
    _, y, rows = train.visits.landmarks(
        train.target, n_per_subject=n_per_subject, random_state=seed
    )
    model = DeepSurvivalMachines(encoder=encoders.Recurrent(), random_state=seed)
    return model.fit(inputs(train.take(rows), y["entry"]), y)


def recurrent_dsm(train: Cohort, seed: int) -> Predictor:
    """Return Deep Survival Machines with a recurrent encoder on the whole history until s."""
    model = fit_recurrent(train, seed)
    return lambda cohort, s, w: _given(model, inputs(cohort, s), s, w)


MODELS: dict[str, Callable[[Cohort, int], Predictor]] = {
    "recurrent DSM": recurrent_dsm,
    "last-visit DSM": last_visit_dsm,
    "landmark Cox": landmark_cox,
    "landmark forest": landmark_forest,
    "auton-survival's recurrent DSM": AutonRecurrent,
}
