"""Jobs: what is missing is computed, and the same whatever ran before and however many processes there are."""

import dataclasses

import pandas as pd
import pytest

from experiments.records import append_records, read_lines, read_records
from experiments.run import run_jobs, study_records
from helpers.tiny_protocol import MODELS

TIMES = ["seconds", "made"]


def without_times(records):
    return [{k: v for k, v in record.items() if k not in TIMES} for record in records.values()]


def test_an_interrupted_run_resumes_with_the_same_records(study, folder, tmp_path):
    jobs = [job for job in study.jobs if job.model in MODELS]
    complete = list(read_records(folder).values())
    append_records(tmp_path / "records.jsonl", complete[: len(complete) // 2])
    with (tmp_path / "records.jsonl").open("a") as file:
        file.write('{"data": "metabric", "mod')
    run_jobs(jobs, tmp_path)
    assert without_times(read_records(tmp_path)) == without_times(read_records(folder))
    resumed = read_records(tmp_path)
    assert [resumed[key] for key in list(resumed)[: len(complete) // 2]] == complete[
        : len(complete) // 2
    ]


def test_a_finished_run_has_nothing_left_to_compute(study, folder):
    def fail(job):
        pytest.fail("a job was run")

    stored = read_lines(folder / "records.jsonl")
    jobs = [job for job in study.jobs if job.model in MODELS]
    run_jobs([dataclasses.replace(job, compute=fail) for job in jobs], folder)
    assert read_lines(folder / "records.jsonl") == stored
    assert [path.name for path in folder.glob("records*")] == ["records.jsonl.xz"]


def test_two_processes_give_what_one_gives(study, folder, tmp_path):
    run_jobs([job for job in study.jobs if job.model == "cph"], tmp_path, n_jobs=2)
    expected = {key: r for key, r in read_records(folder).items() if r["model"] == "cph"}
    assert without_times(read_records(tmp_path)) == without_times(expected)


def test_records_of_earlier_settings_are_not_taken_for_those_of_today(study, folder, tmp_path):
    stored = list(read_records(folder).values())
    old = stored[0] | {"setting": {"penalty": 1.0}}
    append_records(tmp_path / "records.jsonl", [*stored, old])
    records = study_records(study, tmp_path)
    assert len(records) == len(stored)
    assert isinstance(records, pd.DataFrame)
