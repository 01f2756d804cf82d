"""Where output goes: progress, JSON, tables."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console as RichConsole

from helpers.commands import COLUMNS
from lifemix.cli import console
from lifemix.cli.console import Console, to_json
from lifemix.progress import report_progress


def test_json_has_null_instead_of_nan():
    value = {1: (float("nan"), float("inf"), 2.0), "a": None, "b": Path("x")}
    assert to_json(value) == {"1": [None, None, 2.0], "a": None, "b": "x"}


@pytest.mark.parametrize("quiet", [False, True])
def test_progress_is_lines_without_a_terminal(quiet, capsys, monkeypatch):
    monkeypatch.setattr(console, "_SECONDS_PER_LINE", 0.0)
    with Console(quiet=quiet).progress():
        report_progress("predicting", 10, 30)
        report_progress("predicting", 30, 30)
    lines = ["predicting: 33%", "predicting: 100%"]
    assert capsys.readouterr().err.splitlines() == ([] if quiet else lines)


def test_progress_is_a_bar_with_the_remaining_time_on_a_terminal(monkeypatch):
    text, screen = StringIO(), Console()
    terminal = RichConsole(file=text, force_terminal=True, width=100)
    monkeypatch.setattr(screen, "_stderr", terminal)
    with screen.progress():
        for completed in (1, 2, 3):
            report_progress("fitting", completed, 4)
    assert "fitting" in text.getvalue()
    assert "75%" in text.getvalue()
    assert "0:00:0" in text.getvalue() or "-:--:--" in text.getvalue()


def test_names_with_markup_are_shown_as_they_are(run, fit, write, frame):
    names = {"age": "age [years]", "dose": "[red]", "stage": "cost $\\frac{"}
    frame = frame.rename(columns=names).replace({"I": "$x_1$", "II": "a$\\b"})
    write(frame, "[bold]x.csv")
    out = fit("[bold]x.csv", "--unit [/red]").out
    for text in ("[bold]x.csv: 200 rows", "age [years]", "[red] ", "at ([/red])"):
        assert text in out
    assert "age [years]" in run("describe m.safetensors").out
    compare = f"compare [bold]x.csv {COLUMNS} --unit [/red] --models curve --folds 2"
    assert "[/red]" in run(compare).out


@pytest.mark.slow
def test_a_report_of_names_with_markup(run, fit, write, frame):
    write(frame.rename(columns={"age": "age [years]", "stage": "cost $\\frac{"}))
    fit("data.csv")
    run("report m.safetensors data.csv -o r.html")
    assert "age [years]" in Path("r.html").read_text()


@pytest.mark.parametrize("quiet", ["", "--quiet"])
def test_a_search_reports_its_progress(quiet, run, monkeypatch):
    monkeypatch.setattr(console, "_SECONDS_PER_LINE", 0.0)
    search = "--search --epochs 1 --hidden 4 --dropout 0 --learning-rate 0.01 --holdout 0"
    err = run(f"fit patients.csv {COLUMNS} {search} -o m.safetensors {quiet}").err
    assert ("cross-validation: 100%" in err) == (not quiet)
    assert quiet == "" or err == ""
