"""The program as a whole: it starts quickly, ends with the right code, and leaves no half-written file."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import lifemix
from commands import COLUMNS, QUICK, make_table
from lifemix.cli.command import command
from lifemix.cli.output import Screen, plain
from lifemix.errors import InputError
from lifemix.files import atomic_write

SOURCE = str(Path(lifemix.__file__).parents[1])
ENVIRONMENT = os.environ | {"PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
COMMANDS = "fit predict evaluate compare describe report calculator doctor datasets".split()


def program(*arguments, **options):
    call = [sys.executable, "-m", "lifemix", *map(str, arguments)]
    return subprocess.run(
        call, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, **options
    )


def test_help_imports_nothing_slow():
    code = (
        "import sys; from typer.testing import CliRunner; from lifemix.cli import app\n"
        f"for name in {COMMANDS!r}: assert CliRunner().invoke(app, [name, '--help']).exit_code == 0\n"
        "print([m for m in ('torch', 'pandas', 'numpy', 'sklearn', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_help_takes_less_than_half_a_second():
    def seconds():
        """Return those of the processor so far: those of the clock depend on who else is working."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    taken = []
    for _ in range(3):
        before = seconds()
        done = program("--help")
        taken.append(seconds() - before)
    assert done.returncode == 0
    for name in COMMANDS:
        assert f" {name} " in done.stdout
    assert min(taken) < 0.5


def test_version_and_unknown_commands():
    assert program("--version").stdout == f"lifemix {lifemix.__version__}\n"
    assert program("fti").returncode == 2


def test_completion_knows_commands_and_data_sets():
    def complete(words):
        asked = {"_PYTHON _M LIFEMIX_COMPLETE": "", "_LIFEMIX_COMPLETE": "complete_bash"}
        asked |= {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()))}
        call = [sys.executable, "-c", "from lifemix.cli import app; app(prog_name='lifemix')"]
        return subprocess.run(
            call, env=ENVIRONMENT | asked, capture_output=True, text=True
        ).stdout.split()

    assert set(COMMANDS) <= set(complete("lifemix "))
    assert "support" in complete("lifemix datasets ")


def test_an_error_is_one_line_on_stderr_and_json_on_stdout(tmp_path):
    done = program("fit", tmp_path / "none.csv", "-o", tmp_path / "m.safetensors", "--json")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "there is no file" in json.loads(done.stdout)["error"]["message"]


def test_errors_of_our_own_making_end_with_1(capsys):
    def broken(screen: Screen) -> None:
        raise ZeroDivisionError("no reason")

    with pytest.raises(BaseException) as ended:  # noqa: PT011
        command(broken)(debug=False)
    assert ended.value.exit_code == 1
    err = capsys.readouterr().err
    assert "--debug" in err
    assert "Traceback" not in err
    with pytest.raises(BaseException):  # noqa: B017, PT011
        command(broken)(debug=True)
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_an_interrupted_fit_leaves_no_file(tmp_path):
    data = tmp_path / "data.csv"
    make_table(3000).to_csv(data, index=False)
    output = tmp_path / "m.safetensors"
    output.write_text("an earlier model")
    slow = [
        "--no-search",
        "--epochs",
        "100000",
        "--hidden",
        "300,300",
        "--members",
        "32",
        "--holdout",
        "0",
    ]
    call = [sys.executable, "-m", "lifemix", "fit", data, *COLUMNS, *slow, "-o", output]
    with subprocess.Popen(
        list(map(str, call)),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(
            signal.signal, signal.SIGINT, signal.SIG_DFL
        ),  # a background job may ignore SIGINT
    ) as process:
        for line in process.stdout:
            if "Fitting" in line:
                break
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "Error: stopped.\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "m.safetensors"]
    assert output.read_text() == "an earlier model"


def test_a_reader_that_goes_does_not_lose_the_model(tmp_path):
    data, output = tmp_path / "data.csv", tmp_path / "m.safetensors"
    make_table(200).to_csv(data, index=False)
    call = [sys.executable, "-m", "lifemix", "fit", data, *COLUMNS, "--model", "cox", "-o", output]
    with subprocess.Popen(
        list(map(str, call)), env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as run:
        run.stdout.close()  # before anything is written
        error = run.stderr.read()
    assert (run.returncode, error) == (0, b"")
    assert lifemix.load(output).n_events_ == 1


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.csv"
    with pytest.raises(ZeroDivisionError), atomic_write(path) as partial:
        partial.write_text(str(1 / 0) if partial.write_text("half") else "")
    assert not list(tmp_path.iterdir())
    with atomic_write(path) as partial:
        assert partial.suffix == ".csv"
        partial.write_text("whole")
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]
    assert path.read_text() == "whole"
    with (
        pytest.raises(InputError, match="cannot be written"),
        atomic_write(tmp_path / "no" / "out.csv") as partial,
    ):
        partial.write_text("")


def test_json_has_null_for_what_is_no_number():
    assert plain({1: (float("nan"), float("inf"), 2.0), "a": None, "b": Path("x")}) == {
        "1": [None, None, 2.0],
        "a": None,
        "b": "x",
    }


def test_a_whole_round_in_processes_of_their_own(tmp_path):
    data, model, out = tmp_path / "data.csv", tmp_path / "m.safetensors", tmp_path / "out.csv"
    make_table().to_csv(data, index=False)
    fitted = program("fit", data, *COLUMNS, *QUICK, "-o", model)
    assert fitted.returncode == 0, fitted.stderr
    assert "Quality on 40 rows" in fitted.stdout
    assert fitted.stderr == ""
    done = program("predict", model, data, "-o", out, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(out.read_text().splitlines()) == 201
