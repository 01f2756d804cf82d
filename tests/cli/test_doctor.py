"""``lifemix doctor``: the findings about a table and a model, in the user's own words."""

import numpy as np
import pytest

from helpers.commands import COLUMNS, make_table
from lifemix.cli.console import Console
from lifemix.cli.doctor import show_findings
from lifemix.report.doctor import Finding


@pytest.fixture
def findings(run_json):
    return lambda *arguments: {
        finding["code"]: finding for finding in run_json("doctor", *arguments)
    }


def test_a_leak_is_a_finding(run, findings, write, frame):
    path = write(frame.assign(left=frame["days"] * 2 + 1))
    leak = findings(path, *COLUMNS)["leak"]
    assert leak["severity"] == "stop"
    assert "left" in leak["text"]
    out = run("doctor", path, *COLUMNS).out
    assert "stop  left" in out
    assert "200 rows, 8 columns" in out


def test_findings_are_the_result_with_quiet_too(run, data):
    out = run("doctor", data, *COLUMNS, "--quiet").out
    assert out.startswith("\nFindings")
    assert "missing" in out


@pytest.mark.parametrize(
    ("labels", "options", "name"),
    [
        ({0: "3", 1: "1", 2: "2"}, ["--censored", "3"], "event 2"),
        ({0: "2", 1: "1", 2: "2"}, ["--censored", "2"], None),
        ({0: "alive", 1: "cancer", 2: "other cause"}, [], "other cause"),
    ],
)
def test_event_types_have_the_names_of_the_user(labels, options, name, findings, write):
    frame = make_table(300, 1, 2)
    is_kept = (frame["died"] != 2) | (np.arange(300) > 250)  # few events of type 2
    died = frame["died"].where(is_kept, 0).map(labels)
    found = findings(write(frame.assign(died=died)), *COLUMNS, *options)
    if name is not None:
        assert name in found["few-events"]["text"].lower()
    assert f"event {labels[0]}" not in str(found).lower()


def test_columns_that_a_fit_would_refuse_are_findings(run_json, write, frame):
    sizes = ["?", *map(str, range(1, 200))]
    path = write(frame.assign(seen="2020-02-03", size=sizes))
    found = run_json("doctor", path, *COLUMNS)
    stops = [finding for finding in found if finding["code"] == "unusable-column"]
    assert ["seen" in stops[0]["text"], "size" in stops[1]["text"]] == [True, True]
    assert "--drop 'seen'" in stops[0]["remedy"]
    assert "--missing '?'" in stops[1]["text"]


def test_tables_too_small_for_a_fit_are_checked(findings, write, frame):
    assert findings(write(frame.head(20)), *COLUMNS)["few-rows"]["severity"] == "warn"


def test_a_model_is_checked_on_its_columns(findings, model, write):
    found = findings(write(make_table(150, 7).assign(stage="IV")), "--model", model)
    assert "stage = IV" in found["new-levels"]["text"]


def test_no_findings(run, run_json, data, monkeypatch):
    monkeypatch.setattr("lifemix.report.check_table", lambda *_, **__: [], raising=False)
    assert "nothing that needs attention" in run("doctor", data, *COLUMNS).out
    assert run_json("doctor", data, *COLUMNS) == []


def test_settings_of_findings_are_shown_as_options(capsys):
    settings = ("n_members", "max_epochs", "learning_rate", "weight_decay", "k")
    show_findings(Console(), [Finding("few", "note", "Few rows.", "Add some.", settings)], "Checks")
    assert "(lifemix fit --members, --epochs, --learning-rate, --k)" in capsys.readouterr().out
