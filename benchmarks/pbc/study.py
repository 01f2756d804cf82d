"""The two comparisons: risks at landmarks in repeated folds, and the visits of random test patients.

Every fold or split is kept as a line of a file as soon as it is done, so that an interrupted run goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from lifemix import make_target, metrics
from lifemix.splits import EventStratifiedKFold

from .auton_recurrent import AutonRecurrent
from .data import Cohort
from .models import MODELS, fit_recurrent, inputs
from .scores import LandmarkWeights, auc_and_brier

__all__ = [
    "LANDMARKS",
    "VISIT_MODELS",
    "WINDOW",
    "landmark_fold",
    "landmark_table",
    "split_rows",
    "visit_split",
]

LANDMARKS = (1.0, 3.0, 5.0, 7.0)
WINDOW = 2.0
FOLDS = 5
_RESAMPLES = 1000
_LEVELS = (0.25, 0.5, 0.75)


def split_rows(cohort: Cohort, repeat: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the folds of one repeat: training and test patients."""
    parts = EventStratifiedKFold(FOLDS, random_state=repeat).split(
        cohort.target.time, cohort.target.to_array()
    )
    return [(np.asarray(train), np.asarray(test)) for train, test in parts]


def landmark_fold(cohort: Cohort, repeat: int, fold: int) -> dict[str, Any]:
    """Fit every model to the training patients of one fold; return the risks of its test patients at each landmark."""
    train, test = split_rows(cohort, repeat)[fold]
    risks: dict[str, Any] = {}
    seconds = {}
    for name, learn in MODELS.items():
        start = time.process_time()
        predict = learn(cohort.take(train), FOLDS * repeat + fold)
        risks[name] = {}
        for s in LANDMARKS:
            rows = test[cohort.target.time[test] > s]
            risks[name][str(s)] = dict(
                zip(rows.tolist(), predict(cohort.take(rows), s, WINDOW).tolist(), strict=True)
            )
        seconds[name] = time.process_time() - start
    return {"repeat": repeat, "fold": fold, "risks": risks, "seconds": seconds}


def landmark_table(cohort: Cohort, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return AUC and Brier score of every model and landmark, with intervals, and differences from the first model."""
    rng = np.random.default_rng(0)
    draws = rng.multinomial(
        len(cohort.target), np.full(len(cohort.target), 1 / len(cohort.target)), _RESAMPLES
    )
    draws = np.concatenate(
        [np.ones((1, len(cohort.target))), draws]
    )  # the patients themselves first
    rows = []
    for s in LANDMARKS:
        weights = LandmarkWeights.of(cohort.target, s, WINDOW)
        found = {
            name: _resampled(records, name, s, weights, draws[:, weights.rows]) for name in MODELS
        }
        first = found[next(iter(MODELS))]
        for name, values in found.items():
            rows.append(
                {
                    "landmark": s,
                    "model": name,
                    "at_risk": len(weights.rows),
                    **_summary(values, first),
                }
            )
    return rows


def _resampled(
    records: list[dict[str, Any]], name: str, s: float, weights: LandmarkWeights, draws: np.ndarray
) -> np.ndarray:
    """Return AUC and Brier score, means over the repeats, ``[2, resamples]``."""
    by_repeat = []
    for repeat in sorted({record["repeat"] for record in records}):
        risk, fold = np.zeros(len(weights.rows)), np.zeros(len(weights.rows))
        place = {row: i for i, row in enumerate(weights.rows.tolist())}
        for record in (record for record in records if record["repeat"] == repeat):
            for row, value in record["risks"][name][str(s)].items():
                risk[place[int(row)]], fold[place[int(row)]] = value, record["fold"]
        by_repeat.append(auc_and_brier(weights, risk, fold, draws))
    return np.mean(by_repeat, axis=0)


def _summary(values: np.ndarray, first: np.ndarray) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for place, measure in enumerate(("auc", "brier")):
        found[measure] = float(values[place, 0])
        found[f"{measure}_interval"] = np.quantile(values[place, 1:], [0.025, 0.975]).tolist()
        difference = values[place] - first[place]
        found[f"{measure}_minus_first"] = float(difference[0])
        found[f"{measure}_minus_first_interval"] = np.quantile(
            difference[1:], [0.025, 0.975]
        ).tolist()
    return found


def visit_split(cohort: Cohort, seed: int, name: str) -> dict[str, Any]:
    """Return C^td over all visits of a fifth of the patients, at the quartiles of the time from visit to death.

    As in the notebook of auton-survival: 70 % to train, 10 % to stop or choose, 20 % to test. Both learn at visits.
    """
    order = np.random.default_rng(seed).permutation(len(cohort.target))
    test, train = np.split(order, [round(0.2 * len(order))])
    visits = [
        cohort.take(rows).visits.landmarks(cohort.target.take(rows)) for rows in (train, test)
    ]
    remaining = [own.y["time"] - own.y["entry"] for own in visits]
    events = [own.y["event"] for own in visits]
    horizons = np.quantile(np.concatenate(remaining)[np.concatenate(events) > 0], _LEVELS)
    targets = [make_target(t, e) for t, e in zip(remaining, events, strict=True)]
    risk = VISIT_MODELS[name](cohort.take(train), cohort.take(test), visits[1], horizons, seed)
    scores = [
        metrics.concordance_td(*targets, risk[:, i], horizon)
        for i, horizon in enumerate(horizons.tolist())
    ]
    return {"seed": seed, "model": name, "concordance": scores}


def _recurrent_at_visits(
    train: Cohort, test: Cohort, visits: Any, horizons: np.ndarray, seed: int
) -> np.ndarray:
    model = fit_recurrent(train, seed, n_per_subject=None)
    at = visits.y["entry"]
    given = model.predict_distribution(inputs(test.take(visits.rows), at)).given(at)
    curves = given.survival((at[:, None] + horizons).ravel()).reshape(len(at), -1, len(horizons))
    return 1 - curves[np.arange(len(at)), np.arange(len(at))]


def _auton_at_visits(
    train: Cohort, test: Cohort, visits: Any, horizons: np.ndarray, seed: int
) -> np.ndarray:
    return AutonRecurrent(train, seed).at_visits(test, horizons)


VISIT_MODELS: dict[str, Callable[..., np.ndarray]] = {
    "recurrent DSM": _recurrent_at_visits,
    "auton-survival's recurrent DSM": _auton_at_visits,
}
