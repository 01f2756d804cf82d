"""Commands as lines of text, in a folder with tables and their models.

``patients.csv`` and ``model.safetensors`` have one event type, ``causes.csv`` and
``causes.safetensors`` two with words as labels.
"""

import json
import shlex
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from helpers.commands import COLUMNS, QUICK, make_table
from lifemix.cli import app


@pytest.fixture(scope="session")
def run():
    """Return a function that runs a command, written as in a shell, and returns its output."""

    def call(command, code=0, **options):
        result = CliRunner().invoke(app, shlex.split(command), **options)
        assert result.exit_code == code, result.output
        words = " ".join((result.stdout + result.stderr).replace("│", " ").split())
        return SimpleNamespace(out=result.stdout, err=result.stderr, words=words)

    return call


@pytest.fixture(scope="session")
def run_json(run):
    return lambda command: json.loads(run(f"{command} --json").out)


@pytest.fixture(scope="session")
def refused(run):
    """Return the message of a command that must end with one message and exit code 2."""

    def call(command):
        result = run(command, code=2)
        assert result.err.count("Error:") + result.err.count("─ Error ─") == 1
        assert "Traceback" not in result.err
        return result.words

    return call


@pytest.fixture(scope="session")
def frame():
    return make_table()


@pytest.fixture(scope="session")
def inputs(tmp_path_factory, run, frame):
    """Return the folder of the tables and models that the tests read."""
    folder = tmp_path_factory.mktemp("inputs")
    causes = make_table(300, 1, n_events=2)
    causes["died"] = causes["died"].map({0: "alive", 1: "cancer", 2: "other cause"})
    for table, name in ((frame, "patients.csv"), (causes, "causes.csv")):
        table.to_csv(folder / name, index=False)
    fit = f"{COLUMNS} {QUICK} -o {folder}"
    run(f"fit {folder}/patients.csv --unit days {fit}/model.safetensors")
    run(f"fit {folder}/causes.csv {fit}/causes.safetensors")
    return folder


@pytest.fixture(autouse=True)
def folder(inputs, tmp_path, monkeypatch):
    """Run every test in an empty folder with links to the inputs."""
    monkeypatch.chdir(tmp_path)
    for path in inputs.iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


@pytest.fixture
def new_files(folder, inputs):
    """Return a function that returns the names of the files that the test wrote."""

    def names():
        return {path.name for path in folder.iterdir()} - {path.name for path in inputs.iterdir()}

    return names


@pytest.fixture
def write():
    """Return a function that writes a table and returns its name."""

    def to_csv(frame, name="data.csv", **options):
        frame.to_csv(name, index=False, **options)
        return name

    return to_csv


@pytest.fixture
def fit(run):
    """Return a function that fits a small network and writes m.safetensors."""

    def call(table, options="", columns=COLUMNS, quick=QUICK, code=0):
        return run(f"fit {table} {columns} {quick} -o m.safetensors {options}", code=code)

    return call
