"""``lifemix doctor``: the findings about a table and a model, in the user's own words."""

import numpy as np
import pytest

from commands import COLUMNS, QUICK, make_table
from lifemix.report.doctor import Finding


def codes(outcome):
    assert outcome.code == 0, outcome.err
    return {finding["code"]: finding for finding in outcome.json}


def test_a_leak_is_found_and_said(run, write, frame):
    path = write(frame.assign(left=frame["days"] * 2 + 1))
    found = codes(run("doctor", path, *COLUMNS, "--json"))
    assert found["leak"]["severity"] == "stop"
    assert "left" in found["leak"]["text"]
    out = run("doctor", path, *COLUMNS).out
    assert "stop  left" in out
    assert "200 rows, 8 columns" in out


def test_findings_are_the_result_with_quiet_too(run, data):
    outcome = run("doctor", data, *COLUMNS, "--quiet")
    assert outcome.out.startswith("\nFindings")
    assert "missing" in outcome.out


CODES = {
    "numbers": ({0: "3", 1: "1", 2: "2"}, ["--censored", "3"], "event 2"),
    "one type, coded 1": ({0: "2", 1: "1", 2: "2"}, ["--censored", "2"], None),
    "words": ({0: "alive", 1: "cancer", 2: "other cause"}, [], "other cause"),
}


@pytest.mark.parametrize("case", CODES)
def test_event_types_have_the_names_of_the_user(case, run, write):
    frame = make_table(300, 1, 2)
    rare = frame["died"].where(
        (frame["died"] != 2) | (np.arange(300) > 250), 0
    )  # few events of type 2
    labels, options, expected = CODES[case]
    found = codes(
        run("doctor", write(frame.assign(died=rare.map(labels))), *COLUMNS, *options, "--json")
    )
    if expected is not None:
        assert expected in found["few-events"]["text"].lower()
    assert f"event {labels[0]}" not in str(found).lower()


def test_columns_that_a_fit_would_refuse_are_findings(run, write, frame):
    path = write(frame.assign(seen="2020-02-03", size=["?", *map(str, range(1, 200))]))
    outcome = run("doctor", path, *COLUMNS, "--json")
    assert outcome.code == 0, outcome.err
    stops = [finding for finding in outcome.json if finding["code"] == "unusable-column"]
    assert ["seen" in stops[0]["text"], "size" in stops[1]["text"]] == [True, True]
    assert "--drop seen" in stops[0]["remedy"]
    assert "--missing '?'" in stops[1]["text"]


def test_tables_too_small_for_a_fit_are_checked(run, write, frame):
    found = codes(run("doctor", write(frame.head(20)), *COLUMNS, "--json"))
    assert found["few-rows"]["severity"] == "warn"


def test_a_model_is_checked_on_its_columns(run, model, write):
    new = make_table(150, 7).assign(stage="IV")
    found = codes(
        run("doctor", write(new), "--model", model, "--json")
    )  # the model knows the columns
    assert "stage = IV" in found["new-levels"]["text"]


def test_no_findings_are_said(run, data, monkeypatch):
    monkeypatch.setattr(
        "lifemix.cli.findings.check_table", lambda *arguments, **options: [], raising=False
    )
    outcome = run("doctor", data, *COLUMNS)
    assert "Nothing was found" in outcome.out
    assert run("doctor", data, *COLUMNS, "--json").json == []


def test_a_fit_stops_where_a_finding_says_stop(run, refused, data, tmp_path, monkeypatch):
    finding = Finding("leak", "stop", "age knows the outcome.", "Leave age out.")
    monkeypatch.setattr(
        "lifemix.cli.findings.check_table", lambda X, y, **options: [finding], raising=False
    )
    call = ["fit", data, *COLUMNS, *QUICK, "-o", tmp_path / "m.safetensors"]
    assert "age knows the outcome. Leave age out." in refused(*call)
    assert not list(tmp_path.iterdir())
    outcome = run(*call, "--force")
    assert outcome.code == 0
    assert "age knows the outcome" in outcome.out


@pytest.mark.parametrize(
    "options", [[], ["--time", "days"], ["--time", "nothing", "--event", "died"]]
)
def test_the_outcome_must_be_named(options, refused, data):
    assert "--time" in refused("doctor", data, *options)
