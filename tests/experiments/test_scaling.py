"""Training times and numbers of parameters."""

from dataclasses import replace

import pytest

from experiments.protocol import DataSource, Protocol
from experiments.records import Record, RecordStore
from experiments.reproduction import write_results
from experiments.runner import run_job
from experiments.scaling import SCALED, ScalingJob, scaling_studies, scaling_study

TINY = Protocol(DataSource("metabric"), 5, (0,), run="quick", rows=160)


@pytest.mark.parametrize("model", ["dsm", "cph", "rsf", "deepsurv", "deephit"])
def test_every_model_gives_time_and_parameters(model):
    pytest.importorskip("sksurv")
    (record,) = run_job(ScalingJob(TINY, model, 80, 0, True))
    assert record.seconds > 0
    assert record.setting == {"rows": 80, "growth": True} | SCALED[model]
    assert Record.from_json(record.to_json()).key == record.key
    if model == "cph":
        assert record.parameters == 9
    elif (
        model == "dsm"
    ):  # encoder without bias, per component a gate and two shifts, and two base values
        assert record.parameters == 9 * 100 + 100 * 12 + 8
    else:
        assert (record.parameters is None) == (model == "rsf")


def test_numbers_of_rows_go_beyond_the_data():
    jobs = scaling_study(TINY).jobs(["cph"])
    assert [job.rows for job in jobs if job.growth] == [20, 40, 80, 160, 320, 640]
    assert [(job.rows, job.repeat) for job in jobs if not job.growth] == [(160, 0)]
    (record,) = run_job(jobs[-1])
    assert record.parameters == 9
    assert [study.folder for study in scaling_studies()] == ["scaling-support", "scaling-metabric"]


def test_cells_are_times_by_rows_and_the_whole_data(tmp_path):
    study = scaling_study(replace(TINY, folds=(0, 1)))
    store = RecordStore(tmp_path / study.folder)
    store.add(
        Record(
            "metabric",
            "cph",
            setting,
            0.0,
            repeat,
            0,
            "quick",
            {},
            seconds=setting["rows"] + repeat,
            parameters=9,
        )
        for setting in (
            {"rows": 80, "growth": True},
            {"rows": 160, "growth": True},
            {"rows": 160, "growth": False},
        )
        for repeat in ((0,) if setting["growth"] else (0, 1))
    )
    cells, _ = study.summarise(store.records(), "both")
    found = {(cell.measure, cell.selection): cell.mean for cell in cells}
    assert found == {
        ("seconds", "n=80"): 80.0,
        ("seconds", "n=160"): 160.0,
        ("seconds", "fixed"): 160.5,
        ("parameters", "fixed"): 9.0,
    }
    assert [cell.error for cell in cells if cell.selection == "fixed"] == [0.5, 0.0]
    page = write_results(tmp_path, [study])
    assert "Growth with the number of rows" in page.read_text()
    assert (
        "| Cox (CPH) | fixed | 160.50 ± 0.50 |"
        in (tmp_path / study.folder / "tables.md").read_text()
    )
