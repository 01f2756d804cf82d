"""The scores of the benchmark on visits: those of ``lifemix.metrics`` among the patients at risk."""

import importlib

import numpy as np
import pytest

from lifemix import make_target, metrics
from lifemix.target import as_target

scores = pytest.importorskip("benchmarks.pbc.scores", reason="benchmarks are not beside the tests")


@pytest.fixture
def target():
    rng = np.random.default_rng(0)
    event, censoring = rng.exponential(6, 300), rng.exponential(9, 300)
    return as_target(make_target(np.minimum(event, censoring).round(2) + 0.01, event <= censoring))


@pytest.mark.parametrize("s", [0.5, 2.0, 5.0])
def test_scores_are_those_of_the_package_from_the_landmark_on(target, s):
    weights = scores.LandmarkWeights.of(target, s, 2.0)
    risk = np.random.default_rng(1).random(len(weights.rows))
    auc, brier = scores.auc_and_brier(weights, risk, np.zeros(len(risk)), np.ones((1, len(risk))))
    y = make_target(target.time[weights.rows] - s, target.event[weights.rows])
    assert auc[0] == pytest.approx(float(np.ravel(metrics.auc_td(y, y, risk, 2.0))[0]), abs=1e-12)
    assert brier[0] == pytest.approx(
        float(np.ravel(metrics.brier_score(y, y, (1 - risk)[:, None], [2.0]))[0]), abs=1e-12
    )


def test_only_patients_of_one_fold_are_compared(target):
    weights = scores.LandmarkWeights.of(target, 1.0, 2.0)
    rng = np.random.default_rng(2)
    risk, fold = rng.random(len(weights.rows)), np.arange(len(weights.rows)) % 2
    once = np.ones((1, len(risk)))
    before, _ = scores.auc_and_brier(weights, risk, fold, once)
    after, _ = scores.auc_and_brier(
        weights, risk + 10 * fold, fold, once
    )  # folds on scales of their own
    assert before[0] == pytest.approx(after[0], abs=1e-12)


def test_drawing_a_patient_twice_counts_twice(target):
    weights = scores.LandmarkWeights.of(target, 1.0, 2.0)
    n = len(weights.rows)
    risk, fold = np.random.default_rng(3).random(n), np.zeros(n)
    twice = np.ones((2, n)) * np.array([[1.0], [2.0]])
    auc, brier = scores.auc_and_brier(weights, risk, fold, twice)
    assert auc[0] == pytest.approx(auc[1])
    assert brier[0] == pytest.approx(brier[1])


def test_the_docs_have_the_tables_of_the_stored_results():
    report = importlib.import_module("benchmarks.pbc.report")
    harness = importlib.import_module("benchmarks.harness")
    import json

    stored = json.loads(harness.result_path("pbc", False, "json").read_text(encoding="utf-8"))
    assert report.tables(stored["results"]) in report.PAGE.read_text(encoding="utf-8")
