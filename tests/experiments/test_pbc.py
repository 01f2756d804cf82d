"""Scores at landmarks: those of ``lifemix.metrics`` among the patients at risk."""

import json

import numpy as np
import pytest

from experiments.pbc import WINDOW, auc_and_brier, landmark_weights, tables
from experiments.tables import ROOT
from lifemix import make_target, metrics
from lifemix.target import as_target


@pytest.fixture
def target(rng):
    event, censoring = rng.exponential(6, 300), rng.exponential(9, 300)
    return as_target(make_target(np.minimum(event, censoring).round(2) + 0.01, event <= censoring))


@pytest.mark.parametrize("landmark", [0.5, 5.0])
def test_scores_are_those_of_the_package_from_the_landmark_on(target, rng, landmark):
    rows, *weights = landmark_weights(target, landmark)
    risk = rng.random(len(rows))
    counts = np.array([[1.0], [2.0]]) * np.ones(len(rows))  # each patient once, each twice
    auc, brier = auc_and_brier(*weights, risk, np.zeros(len(rows)), counts)
    y = make_target(target.time[rows] - landmark, target.event[rows])
    assert auc == pytest.approx(np.ravel(metrics.auc_td(y, y, risk, WINDOW)).repeat(2))
    expected = metrics.brier_score(y, y, (1 - risk)[:, None], [WINDOW])
    assert brier == pytest.approx(np.ravel(expected).repeat(2))


def test_only_patients_of_the_same_fold_are_compared(target, rng):
    rows, *weights = landmark_weights(target, 1.0)
    risk, fold = rng.random(len(rows)), np.arange(len(rows)) % 2
    values = [
        auc_and_brier(*weights, risk + shift, fold, np.ones((1, len(rows))))[0]
        for shift in (0, 10 * fold)
    ]
    assert values[0] == pytest.approx(values[1])


def test_the_report_has_the_stored_results():
    stored = json.loads((ROOT / "results" / "pbc.json").read_text(encoding="utf-8"))
    page = (ROOT / "experiments" / "pbc.md").read_text(encoding="utf-8")
    for line in filter(None, tables(stored["results"]).splitlines()):
        assert line in page or set(line) <= set("|-")
