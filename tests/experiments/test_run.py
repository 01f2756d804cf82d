"""A tiny version of the tables: structure, reproducibility, and going on after a kill."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lifemix
from lifemix.errors import SettingError
from lifemix.experiments import reproduce as reproduction
from lifemix.experiments.data import Source
from lifemix.experiments.jobs import make_jobs, run_job
from lifemix.experiments.protocol import Protocol, times_of
from lifemix.experiments.reproduce import reproduce, write_results
from lifemix.experiments.runner import run_jobs
from lifemix.experiments.store import RecordStore
from lifemix.target import as_target

TINY = Protocol(Source("metabric"), 3, (0, 1), (0.0, 0.5), run="quick", rows=240)
MODELS = ["dsm", "cph", "floor"]


def scores(store):
    return [replace(record, seconds=0.0) for record in store.records()]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = RecordStore(tmp_path_factory.mktemp("tiny"))
    run_jobs(make_jobs(TINY, MODELS), store)
    return store


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


def test_tables_are_written_from_the_records_alone(store, tmp_path):
    for folder in (tmp_path / "a", tmp_path / "b"):
        write_results(folder, TINY, store)
    assert (tmp_path / "a/tables.json").read_bytes() == (tmp_path / "b/tables.json").read_bytes()
    content = json.loads((tmp_path / "a/tables.json").read_text())
    kinds = {(cell["model"], cell["selection"]) for cell in content["cells"]}
    assert kinds == {("dsm", "paper"), ("dsm", "nested"), ("cph", "fixed"), ("floor", "fixed")}
    assert "quick run" in (tmp_path / "a/tables.md").read_text()


def test_folds_censor_training_rows_only():
    target = as_target(TINY.dataset().y)
    for level in TINY.levels:
        fold = TINY.fold(0, level)
        n_events = int((fold.y_original["event"] > 0).sum())
        assert (fold.y_train["event"] > 0).sum() == n_events - round(level * n_events)
        assert len(fold.y_train) + len(fold.y_test) == len(target)
        inner = len(fold.inner_train[1]) + len(fold.inner_validation[1])
        assert inner == len(fold.y_train)
    np.testing.assert_array_equal(TINY.fold(0, 0.0).y_test, TINY.fold(0, 0.5).y_test)


def test_horizons_of_support_are_those_of_the_data_page():
    assert times_of(Protocol(Source("support"))).tolist() == [[14.0, 58.0, 252.0]]


_SCRIPT = """
import sys
from lifemix.experiments.data import Source
from lifemix.experiments.jobs import make_jobs
from lifemix.experiments.protocol import Protocol
from lifemix.experiments.reproduce import write_results
from lifemix.experiments.runner import run_jobs
from lifemix.experiments.store import RecordStore
from pathlib import Path
tiny = Protocol(Source("metabric"), 3, (0, 1), (0.0, 0.5), run="quick", rows=240)
store = RecordStore(sys.argv[1])
run_jobs(make_jobs(tiny, ["dsm", "cph", "floor"]), store)
write_results(Path(sys.argv[1]), tiny, store)
"""


def test_kill_in_the_middle_and_start_again_gives_the_same_tables(store, tmp_path):
    write_results(tmp_path / "whole", TINY, store)
    environment = os.environ | {"PYTHONPATH": str(Path(lifemix.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _SCRIPT, str(tmp_path / "killed")]
    chance = random.Random(0)
    for n_lines in (1, 7, 13):
        process = subprocess.Popen(command, env=environment)
        while process.poll() is None and _lines(tmp_path / "killed") < n_lines:
            time.sleep(0.01)
        time.sleep(chance.random() / 10)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert 0 < _lines(tmp_path / "killed")
    subprocess.run(command, env=environment, check=True)
    assert (tmp_path / "killed/tables.json").read_bytes() == (tmp_path / "whole/tables.json").read_bytes()


def _lines(folder):
    return sum(len(path.read_bytes().splitlines()) for path in folder.glob("records-*.jsonl"))


def test_reproduce_runs_the_models_that_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "protocols", lambda name, quick, path: [TINY])
    (folder,) = reproduce("metabric", out=tmp_path, quick=True, models=["cph"], quiet=True)
    assert folder == tmp_path / "metabric-quick"
    facts = json.loads((folder / "facts.json").read_text())
    assert facts["command"] == "lifemix reproduce metabric --quick"
    assert facts["records"] == 4


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(SettingError, match="unknown experiment; got 'suport'"):
        reproduce("suport", out=tmp_path)
    with pytest.raises(SettingError, match="unknown model; got 'coxph'"):
        reproduce("metabric", out=tmp_path, models=["coxph"])
    with pytest.raises(SettingError, match="give the path of your own file"):
        reproduce("seer", out=tmp_path)


@pytest.mark.parametrize("model", ["rsf", "deepsurv", "boosting", "lifemix"])
def test_other_models_give_records(model, monkeypatch):
    pytest.importorskip("sksurv")
    pytest.importorskip("pycox")
    jobs = make_jobs(replace(TINY, folds=(0,), levels=(0.0,)), [model])
    records = run_job(jobs[0])
    assert all(np.isfinite(record.test["ctd"]).all() for record in records)
