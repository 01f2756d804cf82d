"""The tables of models by horizons, on a few rows: which records there are, and that they are reproducible."""

import re
from dataclasses import replace

import numpy as np
import pytest

from experiments import best
from experiments import table_study as table_study_module
from experiments.learners import Learner
from experiments.records import RecordStore
from experiments.reproduction import studies
from experiments.runner import run_job, run_jobs
from experiments.table_study import make_jobs, table_study
from lifemix.errors import DivergedError
from tiny import MODELS, SYNTHETIC, TINY, scores


def test_every_setting_fold_and_level_has_one_record(store):
    assert len(store) == (6 + 1 + 1) * 2 * 2
    for record in store.records():
        assert np.shape(record.test["ctd"]) == np.shape(record.test["brier"]) == (1, 3)
        assert ("brier_original" in record.test) == (record.censoring > 0)
        assert ("ctd" in record.inner) == (record.model == "dsm")
    assert all(r.test["ctd"] == [[0.5] * 3] for r in store.records() if r.model == "floor")


def test_a_second_run_computes_nothing(store):
    def never(job):
        raise AssertionError("there was nothing to do")

    run_jobs(make_jobs(TINY, MODELS), RecordStore(store.folder), work=never)


def test_records_are_the_same_however_many_jobs_run_at_a_time(store, tmp_path):
    other = RecordStore(tmp_path)
    run_jobs(make_jobs(TINY, MODELS), other, n_jobs=2)
    assert scores(other) == scores(store)


def test_a_record_that_is_missing_comes_back_the_same(store, tmp_path):
    lines = (store.folder / "records-dsm.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "records-dsm.jsonl").write_text("".join(lines[3:]))
    other = RecordStore(tmp_path)
    run_jobs(make_jobs(TINY, MODELS), other)
    assert scores(other) == scores(store)


def test_a_change_of_the_tuned_settings_is_another_record(monkeypatch):
    full = replace(TINY, run="full", levels=(0.0,))
    keys = {key for job in make_jobs(full, ["tuned"]) for key in job.keys()}
    monkeypatch.setattr(best, "TUNED", {"": {"hidden": [7], "preprocessor": {"scale": False}}})
    assert not keys & {key for job in make_jobs(full, ["tuned"]) for key in job.keys()}
    model = best.tuned_model("metabric", best.tuned_settings("metabric")[0], 3)
    assert (model.hidden, model.preprocessor.scale, model.random_state) == ((7,), False, 3)


def test_a_model_whose_training_diverges_has_no_scores(monkeypatch):
    class Diverging:
        def fit(self, X, y):
            raise DivergedError("training diverged.")

    learner = Learner("cph", lambda data, setting, seed: Diverging())
    monkeypatch.setattr(table_study_module, "learner", lambda name: learner)
    (record,) = run_job(make_jobs(replace(TINY, folds=(0,), levels=(0.0,)), ["cph"])[0])
    assert np.isnan(record.test["ctd"]).all()
    assert np.shape(record.test["brier"]) == (1, 3)
    assert record.parameters is None


@pytest.mark.parametrize(
    "model", ["rsf", "deepsurv", "boosting", "boosting-seeds", "tuned-trees", "lifemix"]
)
def test_other_models_give_records(model, monkeypatch):
    pytest.importorskip("sksurv")
    jobs = make_jobs(replace(TINY, folds=(0,), levels=(0.0,)), [model])
    records = run_job(jobs[0])
    assert all(np.isfinite(record.test["ctd"]).all() for record in records)


def test_competing_risks_give_records_of_every_event_and_horizon():
    study = table_study("synthetic", SYNTHETIC)
    records = [
        record for job in study.jobs(["dsm", "cs-cph", "fg", "truth"]) for record in run_job(job)
    ]
    assert {record.model for record in records} == {"dsm", "cs-cph", "fg", "truth"}
    for record in records:
        assert np.isfinite(record.test["ctd"]).all()
        assert np.shape(record.test["ctd"]) == np.shape(record.test["brier"]) == (2, 4)
        assert len(record.calibration) == 2


def test_the_reduced_grid_is_a_part_of_the_full_one():
    parts = {
        grid: make_jobs(replace(SYNTHETIC, run="full", grid=grid), ["dsm"])
        for grid in ("reduced", "full")
    }
    keys = {grid: {key for job in jobs for key in job.keys()} for grid, jobs in parts.items()}
    assert (len(keys["reduced"]), len(keys["full"])) == (32, 288)
    assert keys["reduced"] < keys["full"]


@pytest.mark.parametrize(
    ("name", "quick", "expected"),
    [
        ("support", False, []),
        (
            "support",
            True,
            ["6 of the 144", "of the 4 settings .* .n_trees 20", "smaller .n_trees 20. than"],
        ),
        (
            "synthetic",
            False,
            ["32 of the 288", "in place of the 4", "smaller .n_trees 10, .* .n_trees 150"],
        ),
        (
            "standins",
            False,
            ["32 of the 288 settings of the paper's grid, each without and with biases"],
        ),
    ],
)
def test_the_tables_tell_what_was_left_out(name, quick, expected):
    notes = studies(name, quick)[0].notes
    assert len(notes) == len(expected)
    for note, pattern in zip(notes, expected, strict=True):
        assert re.search(pattern, note)
