"""The program in processes: it starts quickly, ends with the right code, and leaves no partial file."""

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


def execute(*words, **environment):
    options = {"env": ENVIRONMENT | environment, "capture_output": True, "text": True}
    return subprocess.run([sys.executable, *words], timeout=120, **options)


def program(line):
    return execute("-m", "lifemix", *line.split())


def test_help_imports_nothing_slow():
    code = (
        "import sys; from typer.testing import CliRunner; from lifemix.cli import app\n"
        f"for name in {COMMANDS!r}: assert not CliRunner().invoke(app, [name, '--help']).exit_code\n"
        "modules = 'torch pandas numpy sklearn scipy matplotlib'.split()\n"
        "print([name for name in modules if name in sys.modules])"
    )
    assert execute("-c", code).stdout.strip() == "[]"


def test_help_takes_less_than_half_a_second_of_the_processor():
    durations = []
    for _ in range(3):
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        out = program("--help").stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        durations.append(after.ru_utime + after.ru_stime - usage.ru_utime - usage.ru_stime)
    assert all(f" {name} " in out for name in COMMANDS)
    assert min(durations) < 0.5


def test_version_and_unknown_commands(run):
    assert run("--version").out == f"lifemix {lifemix.__version__}\n"
    run("fti", code=2)


@pytest.mark.parametrize(
    ("line", "words"), [("lifemix ", COMMANDS), ("lifemix datasets ", ["support"])]
)
def test_completion_offers_commands_and_data_sets(line, words):
    options = {"_PYTHON _M LIFEMIX_COMPLETE": "", "_LIFEMIX_COMPLETE": "complete_bash"}
    options |= {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()))}
    code = "from lifemix.cli import app; app(prog_name='lifemix')"
    assert set(words) <= set(execute("-c", code, **options).stdout.split())


@pytest.mark.parametrize("option", ["--folds", "--fold"])
def test_errors_of_usage_are_json_too(option, run):
    line = f"compare patients.csv {option} x"
    assert option in json.loads(run(f"{line} --json", code=2).out)["error"]["message"]
    assert run(line, code=2).out == ""


@pytest.mark.parametrize("debug", [False, True])
def test_errors_of_the_program_end_with_1(debug, capsys):
    def broken(console: Console) -> None:
        raise ZeroDivisionError("no reason")

    with pytest.raises(typer.Exit) as exit_:
        command(broken)(debug=debug)
    assert exit_.value.exit_code == 1
    message = capsys.readouterr().err
    assert ("Traceback" in message) == debug
    assert "--debug" in message


def start(line, **options):
    words = [sys.executable, "-m", "lifemix", *line.split()]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(words, env=ENVIRONMENT, **pipes, **options)


@pytest.mark.slow
def test_an_interrupted_fit_leaves_no_file(write, new_files):
    write(make_table(3000))
    Path("m.safetensors").write_text("an earlier model")
    size = "--epochs 100000 --hidden 300,300 --members 32 --holdout 0"
    default = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # may be ignored here
    with start(f"fit data.csv {COLUMNS} {size} -o m.safetensors", preexec_fn=default) as process:
        for line in process.stdout:
            if "Fitting" in line:
                break
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=60)
    assert (process.returncode, message) == (130, "Error: stopped.\n")
    assert new_files() == {"data.csv", "m.safetensors"}
    assert Path("m.safetensors").read_text() == "an earlier model"


@pytest.mark.slow
def test_a_reader_that_stops_does_not_lose_the_model():
    with start(f"fit patients.csv {COLUMNS} --model cox -o m.safetensors") as process:
        process.stdout.close()  # before anything is written
        error = process.stderr.read()
    assert (process.returncode, error) == (0, "")
    assert lifemix.load("m.safetensors").n_events_ == 1


@pytest.mark.slow
def test_fit_and_predict_in_separate_processes():
    fitted = program(f"fit patients.csv {COLUMNS} {QUICK} -o m.safetensors")
    assert (fitted.returncode, fitted.stderr) == (0, "")
    assert "Quality on 40 rows" in fitted.stdout
    predicted = program("predict m.safetensors patients.csv -o out.csv --quiet")
    assert (predicted.returncode, predicted.stdout, predicted.stderr) == (0, "", "")
    assert len(Path("out.csv").read_text().splitlines()) == 201
    failed = program("fit none.csv -o n.safetensors --json")
    assert (failed.returncode, failed.stderr.count("\n")) == (2, 1)
    assert "none.csv cannot be read" in json.loads(failed.stdout)["error"]["message"]


def test_the_input_is_never_overwritten(write, frame, refused):
    content = Path(write(frame)).read_bytes()
    assert "would be overwritten" in refused("predict model.safetensors data.csv -o data.csv")
    assert Path("data.csv").read_bytes() == content


def test_shared_options_are_the_same_in_all_commands():
    options = {}
    for name, subcommand in typer.main.get_command(lifemix.cli.app).commands.items():
        for option in subcommand.params:
            if option.opts[0].startswith("-"):
                options.setdefault(option.name, {})[name] = (option.opts, option.help)
    different = {name for name, uses in options.items() if len(set(map(str, uses.values()))) > 1}
    assert different == {"output", "model"}
    assert set(options["missing"]) == {*COMMANDS} - {"describe", "calculator", "datasets"}
    assert set(options["time"]) == {*options["missing"]} - {"predict"}
    assert set(options["drop"]) == {"fit", "compare", "doctor"}
