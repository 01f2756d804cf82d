"""Jobs: what is missing is computed, and the same whatever ran before and however many processes there are."""

import dataclasses

import pytest

from experiments.records import append_records, read_lines, read_records
from experiments.run import run_jobs, study_records
from helpers.tiny_protocol import MODELS


@pytest.fixture
def jobs(study):
    return [job for job in study.jobs if job.model in MODELS]


def without_times(folder):
    records = read_records(folder).values()
    names = ("seconds", "made")
    return [{name: r[name] for name in r if name not in names} for r in records]


def test_an_interrupted_run_resumes_with_the_same_records(jobs, folder, tmp_path):
    complete = list(read_records(folder).values())
    stored = complete[: len(complete) // 2]
    append_records(tmp_path / "records.jsonl", stored)
    with (tmp_path / "records.jsonl").open("a") as file:
        file.write('{"data": "metabric", "mod')
    run_jobs(jobs, tmp_path)
    assert without_times(tmp_path) == without_times(folder)
    assert list(read_records(tmp_path).values())[: len(stored)] == stored


def test_a_finished_run_has_nothing_left_to_compute(jobs, folder):
    def fail(job):
        pytest.fail("a job was run")

    stored = read_lines(folder / "records.jsonl")
    run_jobs([dataclasses.replace(job, compute=fail) for job in jobs], folder)
    assert read_lines(folder / "records.jsonl") == stored
    assert [path.name for path in folder.glob("records*")] == ["records.jsonl.xz"]


@pytest.mark.slow
def test_the_number_of_processes_does_not_matter(jobs, folder, tmp_path):
    run_jobs(jobs, tmp_path, n_jobs=2)
    assert without_times(tmp_path) == without_times(folder)


def test_records_of_earlier_settings_are_not_those_of_today(study, folder, tmp_path):
    stored = list(read_records(folder).values())
    old = stored[0] | {"setting": {"penalty": 1.0}}
    append_records(tmp_path / "records.jsonl", [*stored, old])
    assert len(study_records(study, tmp_path)) == len(stored)
