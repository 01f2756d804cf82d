"""``lifemix predict``: the numbers of the Python interface, under the subjects' names."""

import numpy as np
import pandas as pd
import pytest

from commands import COLUMNS, QUICK
from lifemix import load
from lifemix.cli.output import Screen


def test_numbers_are_those_of_python(run, model, data, frame, tmp_path):
    output = tmp_path / "out.csv"
    outcome = run(
        "predict", model, data, "--times", "50,400", "--quantiles", "0.9,0.1", "-o", output
    )
    assert outcome.code == 0, outcome.err
    found = pd.read_csv(output, dtype={"patient": str})
    distribution = load(model).predict_distribution(frame[["age", "dose", "stage"]])
    assert list(found) == [
        "patient",
        "survival_50",
        "survival_400",
        "median",
        "quantile_0.1",
        "quantile_0.9",
    ]
    assert list(found["patient"]) == list(frame["patient"])
    np.testing.assert_allclose(
        found[["survival_50", "survival_400"]], distribution.survival([50, 400]), rtol=1e-12
    )
    np.testing.assert_allclose(
        found[["quantile_0.1", "median", "quantile_0.9"]], distribution.quantile([0.1, 0.5, 0.9])
    )


def test_incidences_and_survival_add_up_to_one(run, competing):
    data, model = competing
    records = pd.DataFrame(run("predict", model, data, "--times", "100", "--json").json)
    parts = records[["survival_100", "incidence_cancer_100", "incidence_other_cause_100"]]
    np.testing.assert_allclose(parts.sum(axis=1), 1, atol=1e-7)
    assert (parts > 0).all(axis=None)


def test_order_of_columns_is_free_and_unknown_ones_are_named(run, model, write, frame):
    path = write(frame[frame.columns[::-1]].drop(columns=["days", "died"]).assign(weight=1))
    outcome = run("predict", model, path, "--json")
    assert outcome.json == run("predict", model, write(frame, "same.csv"), "--json").json
    assert "weight" in outcome.err
    assert "hospital" not in outcome.err
    assert "patient" not in outcome.err


def test_missing_columns_are_named(model, write, frame, refused, tmp_path):
    message = refused(
        "predict", model, write(frame.drop(columns=["age", "dose"])), "-o", tmp_path / "out.csv"
    )
    assert "lacks 2 columns: 'age', 'dose'" in message
    assert not (tmp_path / "out.csv").exists()


def test_rows_are_numbered_where_there_is_no_name(run, model, write, frame):
    path = write(frame.drop(columns="patient"))
    assert [row["row"] for row in run("predict", model, path, "--json").json] == list(range(1, 201))


def test_parquet_holds_the_same(run, model, data, tmp_path):
    pytest.importorskip("pyarrow")
    for name in ("a.csv", "a.parquet", "a.tsv"):
        assert run("predict", model, data, "-o", tmp_path / name).code == 0
    one, other = pd.read_csv(tmp_path / "a.csv"), pd.read_parquet(tmp_path / "a.parquet")
    np.testing.assert_allclose(one.iloc[:, 1:], other.iloc[:, 1:], rtol=1e-12)
    assert list(other["patient"])[:2] == ["0000", "0001"]
    np.testing.assert_allclose(
        pd.read_csv(tmp_path / "a.tsv", sep="\t")["median"], one["median"], rtol=1e-12
    )


def test_extrapolation_and_unknown_levels_are_said(run, model, write, frame):
    outcome = run("predict", model, write(frame.assign(stage="IV")), "--times", "1e6")
    assert outcome.code == 0
    assert "extrapolated: 1e+06" in outcome.err
    assert "levels that training did not have: 'IV'" in outcome.err


def test_blocks_join_without_a_seam(run, model, data, monkeypatch):
    whole = run("predict", model, data, "--json").json
    monkeypatch.setattr("lifemix.cli.predict._BLOCK", 33)
    blocks = run("predict", model, data, "--json").json
    assert [row.pop("patient") for row in blocks] == [row.pop("patient") for row in whole]
    np.testing.assert_allclose(pd.DataFrame(blocks), pd.DataFrame(whole), rtol=1e-5)


REFUSED = {
    "times": (["--times", "soon"], "--times must be numbers"),
    "negative time": (["--times", "-1"], "--times must lie between 0"),
    "quantile": (["--quantiles", "50"], "--quantiles must lie between 0 and 1"),
    "extension": (["-o", "out.xlsx"], "must end in .csv"),
    "no such id": (["--id", "name"], "no column 'name' (--id)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_options(case, model, data, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, expected = REFUSED[case]
    assert expected in refused("predict", model, data, *options)
    assert not list(tmp_path.iterdir())


def test_the_input_is_never_overwritten(model, write, frame, refused):
    path = write(frame)
    before = path.read_bytes()
    assert "is the input" in refused("predict", model, path, "-o", path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [None, b"", b"no model", b"\x10\0\0\0\0\0\0\0{}"])
def test_a_file_that_is_no_model(content, tmp_path, data, refused):
    path = tmp_path / "m.safetensors"
    if content is not None:
        path.write_bytes(content)
    for command in (["predict", path, data], ["evaluate", path, data], ["describe", path]):
        refused(*command)
    assert "is a folder" in refused("describe", tmp_path)


def test_many_columns_are_shown_in_parts_that_can_be_read(run, competing):
    table, model = competing
    out = run("predict", model, table, "--times", "50,100,200,400,800").out
    assert max(len(line) for line in out.splitlines()) <= 120
    lines = out.splitlines()
    for title in ("survival", "incidence_cancer", "incidence_other_cause"):
        assert lines[lines.index(title) + 1].split() == [
            "patient",
            "50",
            "100",
            "200",
            "400",
            "800",
        ]


def test_texts_that_a_spreadsheet_would_run_are_escaped_when_asked(
    run, model, frame, write, tmp_path
):
    path, output = (
        write(frame.assign(patient=["=1+1", "@x", "-2", "+3", "safe"] * 40)),
        tmp_path / "p.csv",
    )
    assert run("predict", model, path, "--id", "patient", "-o", output).code == 0
    assert pd.read_csv(output, dtype=str)["patient"].tolist()[:5] == [
        "=1+1",
        "@x",
        "-2",
        "+3",
        "safe",
    ]
    assert (
        run("predict", model, path, "--id", "patient", "--escape-formulas", "-o", output).code == 0
    )
    assert pd.read_csv(output, dtype=str)["patient"].tolist()[:5] == [
        "'=1+1",
        "'@x",
        "'-2",
        "'+3",
        "safe",
    ]


def test_progress_is_lines_where_no_bar_can_be_drawn(capsys, monkeypatch):
    monkeypatch.setattr("lifemix.cli.output._SECONDS_PER_LINE", 0.0)
    with Screen().bar("predicting", 30) as advance:
        advance(10)
        advance(20)
    assert capsys.readouterr().err == (
        "predicting: 10 of 30, about 0 s left\npredicting: 30 of 30, about 0 s left\n"
    )
    with Screen(quiet=True).bar("predicting", 30) as advance:
        advance(10)
    assert capsys.readouterr().err == ""


def test_a_fit_names_the_next_command(run, data, tmp_path):
    done = run("fit", data, *COLUMNS, *QUICK, "--holdout", "0", "-o", tmp_path / "m.safetensors")
    assert "NEW_ROWS.csv" in done.out
    assert "--holdout-to" in done.out


def test_names_with_dollars_and_units_with_brackets_go_through_every_page(
    run, frame, write, tmp_path
):
    odd = frame.rename(columns={"age": "$age$ $", "stage": "cost $\\frac{"}).replace(
        {"I": "$x_1$", "II": "a$\\b"}
    )
    path, output, page = write(odd), tmp_path / "m.safetensors", tmp_path / "r.html"
    done = run("fit", path, *COLUMNS, *QUICK, "--unit", "[/red]", "-o", output)
    assert done.code == 0, done.err
    assert "at ([/red])" in done.out
    reported = run("report", output, path, "-o", page)
    assert reported.code == 0, reported.err
    assert "$age$ $" in page.read_text()
    for command in (["describe", output], ["evaluate", output, path]):
        assert run(*command).code == 0
    compared = run(
        "compare", path, *COLUMNS, "--unit", "[/red]", "--models", "curve", "--folds", "2"
    )
    assert "[/red]" in compared.out
