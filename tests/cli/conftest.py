import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from helpers.commands import COLUMNS, QUICK, make_table
from lifemix.cli import app


@pytest.fixture(scope="session")
def run():
    def call(*arguments, code=0, **options):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], **options)
        assert result.exit_code == code, result.output
        words = " ".join((result.stdout + result.stderr).replace("│", " ").split())
        return SimpleNamespace(out=result.stdout, err=result.stderr, words=words)

    return call


@pytest.fixture(scope="session")
def run_json(run):
    return lambda *arguments: json.loads(run(*arguments, "--json").out)


@pytest.fixture(scope="session")
def refused(run):
    """Return the message of a command that must end with one message and exit code 2."""

    def call(*arguments):
        result = run(*arguments, code=2)
        assert result.err.count("Error:") + result.err.count("─ Error ─") == 1
        assert "Traceback" not in result.err
        return result.words

    return call


@pytest.fixture(scope="session")
def frame():
    return make_table()


@pytest.fixture
def write(tmp_path):
    def to_csv(frame, name="data.csv", **options):
        frame.to_csv(tmp_path / name, index=False, **options)
        return tmp_path / name

    return to_csv


@pytest.fixture
def fit(run, run_json, tmp_path):
    """Return a function that fits a small network, with the path of the model."""

    def call(path, *options, columns=COLUMNS, quick=QUICK, code=0):
        output = tmp_path / "m.safetensors"
        return run("fit", path, *columns, *quick, "-o", output, *options, code=code)

    call.model = tmp_path / "m.safetensors"
    return call


@pytest.fixture(scope="session")
def data(tmp_path_factory, frame):
    path = tmp_path_factory.mktemp("cli") / "patients.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory, run, data):
    path = tmp_path_factory.mktemp("cli") / "model.safetensors"
    run("fit", data, *COLUMNS, "--unit", "days", *QUICK, "-o", path)
    return path


@pytest.fixture(scope="session")
def competing(tmp_path_factory, run):
    """Return a table with two event types as words, and a model of it."""
    folder = tmp_path_factory.mktemp("cli")
    table, model = folder / "causes.csv", folder / "causes.safetensors"
    frame = make_table(300, 1, 2)
    frame["died"] = frame["died"].map({0: "alive", 1: "cancer", 2: "other cause"})
    frame.to_csv(table, index=False)
    run("fit", table, *COLUMNS, *QUICK, "-o", model)
    return table, model
