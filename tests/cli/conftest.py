import json

import pytest
from typer.testing import CliRunner

from commands import COLUMNS, QUICK, make_table
from lifemix.cli import app


class Outcome:
    """What a command wrote and how it ended."""

    def __init__(self, result):
        self.code, self.out, self.err, self.exception = (
            result.exit_code,
            result.stdout,
            result.stderr,
            result.exception,
        )

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture(scope="session")
def run():
    def call(*arguments):
        return Outcome(CliRunner().invoke(app, [str(argument) for argument in arguments]))

    return call


@pytest.fixture(scope="session")
def refused(run):
    """Run a command that must end with one clear message, and nothing on stdout but what was understood before."""

    def call(*arguments):
        outcome = run(*arguments)
        assert outcome.code == 2, outcome.out + outcome.err
        assert outcome.err.count("Error:") == 1
        assert "Traceback" not in outcome.err
        return outcome.err

    return call


@pytest.fixture(scope="session")
def frame():
    return make_table()


@pytest.fixture
def write(tmp_path):
    def to_csv(frame, name="data.csv", **options):
        path = tmp_path / name
        frame.to_csv(path, index=False, **options)
        return path

    return to_csv


@pytest.fixture(scope="session")
def data(tmp_path_factory, frame):
    path = tmp_path_factory.mktemp("cli") / "patients.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory, run, data):
    """Fit a model once, through the command line."""
    path = tmp_path_factory.mktemp("cli") / "model.safetensors"
    outcome = run("fit", data, *COLUMNS, "--unit", "days", *QUICK, "-o", path)
    assert outcome.code == 0, outcome.err
    return path


@pytest.fixture(scope="session")
def competing(tmp_path_factory, run):
    """Return a table with two event types given as words, and a model of it."""
    folder = tmp_path_factory.mktemp("cli")
    frame = make_table(300, 1, 2)
    frame["died"] = frame["died"].map({0: "alive", 1: "cancer", 2: "other cause"})
    frame.to_csv(folder / "causes.csv", index=False)
    outcome = run(
        "fit", folder / "causes.csv", *COLUMNS, *QUICK, "-o", folder / "causes.safetensors"
    )
    assert outcome.code == 0, outcome.err
    return folder / "causes.csv", folder / "causes.safetensors"
