"""``lifemix doctor``: the findings about a table and a model, in the user's own words."""

import numpy as np
import pytest

from helpers.commands import COLUMNS, make_table
from lifemix.cli.console import Console
from lifemix.cli.doctor import show_findings
from lifemix.report.doctor import Finding


@pytest.fixture
def findings(run_json):
    """Return a function that checks data.csv and returns the findings by code."""

    def by_code(options=COLUMNS):
        return {finding["code"]: finding for finding in run_json(f"doctor data.csv {options}")}

    return by_code


def test_a_leak_is_a_finding(run, findings, write, frame):
    write(frame.assign(left=frame["days"] * 2 + 1))
    leak = findings()["leak"]
    assert leak["severity"] == "stop"
    assert "left" in leak["text"]
    out = run(f"doctor data.csv {COLUMNS}").out
    assert "stop  left" in out
    assert "200 rows, 8 columns" in out


def test_findings_are_the_result_with_quiet_too(run):
    out = run(f"doctor patients.csv {COLUMNS} --quiet").out
    assert out.startswith("\nFindings")
    assert "missing" in out


@pytest.mark.parametrize(
    ("labels", "options", "name"),
    [
        ({0: "3", 1: "1", 2: "2"}, "--censored 3", "event 2"),
        ({0: "alive", 1: "cancer", 2: "other cause"}, "", "other cause"),
    ],
)
def test_event_types_have_the_names_of_the_user(labels, options, name, findings, write):
    frame = make_table(300, 1, n_events=2)
    frame["died"] *= (frame["died"] != 2) | (np.arange(300) > 250)  # few events of type 2
    write(frame.assign(died=frame["died"].map(labels)))
    messages = findings(f"{COLUMNS} {options}")
    assert name in messages["few-events"]["text"].lower()
    assert f"event {labels[0]}" not in str(messages).lower()


def test_columns_that_a_fit_would_refuse_are_findings(run_json, write, frame):
    write(frame.assign(visit="2020-02-03", size=["?", *map(str, range(1, 200))]))
    codes = [finding["code"] for finding in run_json(f"doctor data.csv {COLUMNS}")]
    assert codes.count("unusable-column") == 2
    words = str(run_json(f"doctor data.csv {COLUMNS}"))
    assert "--drop 'visit'" in words
    assert "--missing '?'" in words


def test_a_small_table_and_a_model_are_checked(findings, write, frame):
    write(frame.head(20))
    assert findings()["few-rows"]["severity"] == "warn"
    write(make_table(150, 7).assign(stage="IV"))
    assert "stage = IV" in findings("--model model.safetensors")["new-levels"]["text"]


def test_no_findings(run, run_json, monkeypatch):
    monkeypatch.setattr("lifemix.report.check_table", lambda *_, **__: [], raising=False)
    assert "nothing that needs attention" in run(f"doctor patients.csv {COLUMNS}").out
    assert run_json(f"doctor patients.csv {COLUMNS}") == []


def test_settings_of_findings_are_shown_as_options(capsys):
    settings = ("n_members", "max_epochs", "learning_rate", "weight_decay", "k")
    show_findings(Console(), [Finding("few", "note", "Few rows.", "Add some.", settings)], "Checks")
    assert "(lifemix fit --members, --epochs, --learning-rate, --k)" in capsys.readouterr().out
