"""The program as a whole: it starts quickly, ends with the right code, and leaves no partial file."""

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
import typer

import lifemix
from helpers.commands import COLUMNS, QUICK, make_table
from lifemix.cli.app import command
from lifemix.cli.console import Console

SOURCE = str(Path(lifemix.__file__).parents[1])
ENVIRONMENT = os.environ | {"PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1", "COLUMNS": "120"}
COMMANDS = "fit predict evaluate compare describe report calculator doctor datasets".split()


def program(*arguments):
    call = [sys.executable, "-m", "lifemix", *map(str, arguments)]
    return subprocess.run(call, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)


def python(code, **environment):
    call = [sys.executable, "-c", code]
    done = subprocess.run(
        call, env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=120
    )
    return done.stdout


def test_help_imports_nothing_slow():
    code = (
        "import sys; from typer.testing import CliRunner; from lifemix.cli import app\n"
        f"for name in {COMMANDS!r}: assert CliRunner().invoke(app, [name, '--help']).exit_code == 0\n"
        "print([m for m in ('torch', 'pandas', 'numpy', 'sklearn', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    assert python(code).strip() == "[]"


def test_help_takes_less_than_half_a_second_of_the_processor():
    def seconds():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    durations = []
    for _ in range(3):
        before = seconds()
        done = program("--help")
        durations.append(seconds() - before)
    assert all(f" {name} " in done.stdout for name in COMMANDS)
    assert min(durations) < 0.5


def test_version_and_unknown_commands(run):
    assert run("--version").out == f"lifemix {lifemix.__version__}\n"
    run("fti", code=2)


def test_completion_knows_commands_and_data_sets():
    def complete(words):
        options = {"_PYTHON _M LIFEMIX_COMPLETE": "", "_LIFEMIX_COMPLETE": "complete_bash"}
        options |= {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()))}
        return python("from lifemix.cli import app; app(prog_name='lifemix')", **options).split()

    assert set(COMMANDS) <= set(complete("lifemix "))
    assert "support" in complete("lifemix datasets ")


def test_an_error_is_one_line_on_stderr_and_json_on_stdout(tmp_path):
    done = program("fit", tmp_path / "none.csv", "-o", tmp_path / "m.safetensors", "--json")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "none.csv cannot be read" in json.loads(done.stdout)["error"]["message"]


@pytest.mark.parametrize("option", ["--folds", "--fold"])
def test_errors_of_usage_are_json_too(option, run, data):
    result = run("compare", data, option, "x", "--json", code=2)
    assert option in json.loads(result.out)["error"]["message"]
    assert run("compare", data, option, "x", code=2).out == ""


def test_errors_of_the_program_end_with_1(capsys):
    def broken(console: Console) -> None:
        raise ZeroDivisionError("no reason")

    for debug in (False, True):
        with pytest.raises(typer.Exit) as exit_:
            command(broken)(debug=debug)
        assert exit_.value.exit_code == 1
        message = capsys.readouterr().err
        assert ("Traceback" in message) == debug
        assert "--debug" in message


@pytest.mark.slow
def test_an_interrupted_fit_leaves_no_file(tmp_path):
    data, output = tmp_path / "data.csv", tmp_path / "m.safetensors"
    make_table(3000).to_csv(data, index=False)
    output.write_text("an earlier model")
    slow = "--epochs 100000 --hidden 300,300 --members 32 --holdout 0".split()
    call = [sys.executable, "-m", "lifemix", "fit", data, *COLUMNS, *slow, "-o", output]
    with subprocess.Popen(
        list(map(str, call)),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # may be ignored here
    ) as process:
        for line in process.stdout:
            if "Fitting" in line:
                break
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=60)
    assert process.returncode == 130
    assert message == "Error: stopped.\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "m.safetensors"]
    assert output.read_text() == "an earlier model"


def test_a_reader_that_stops_does_not_lose_the_model(tmp_path):
    data, output = tmp_path / "data.csv", tmp_path / "m.safetensors"
    make_table(200).to_csv(data, index=False)
    call = [sys.executable, "-m", "lifemix", "fit", data, *COLUMNS, "--model", "cox", "-o", output]
    with subprocess.Popen(
        list(map(str, call)), env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()  # before anything is written
        error = process.stderr.read()
    assert (process.returncode, error) == (0, b"")
    assert lifemix.load(output).n_events_ == 1


def test_fit_and_predict_in_processes_of_their_own(tmp_path):
    data, model, output = tmp_path / "data.csv", tmp_path / "m.safetensors", tmp_path / "out.csv"
    make_table().to_csv(data, index=False)
    fitted = program("fit", data, *COLUMNS, *QUICK, "-o", model)
    assert (fitted.returncode, fitted.stderr) == (0, "")
    assert "Quality on 40 rows" in fitted.stdout
    done = program("predict", model, data, "-o", output, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert len(output.read_text().splitlines()) == 201


def test_the_input_is_never_overwritten(model, write, frame, refused):
    path = write(frame)
    before = path.read_bytes()
    assert "would be overwritten" in refused("predict", model, path, "-o", path)
    assert path.read_bytes() == before


def test_shared_options_are_the_same_in_all_commands():
    options = {}
    for name, each in typer.main.get_command(lifemix.cli.app).commands.items():
        for option in each.params:
            if option.opts[0].startswith("-"):
                options.setdefault(option.name, {})[name] = (option.opts, option.help)
    different = {name for name, uses in options.items() if len(set(map(str, uses.values()))) > 1}
    assert different == {"output", "model"}
    assert set(options["missing"]) == {*COMMANDS} - {"describe", "calculator", "datasets"}
    assert set(options["time"]) == {*options["missing"]} - {"predict"}
    assert set(options["drop"]) == {"fit", "compare", "doctor"}
