"""``lifemix predict``: the numbers of Python, for rows, subjects with several rows, and landmarks."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from helpers.commands import QUICK
from lifemix import load
from lifemix.cli import predict

COVARIATES = ["age", "dose", "stage"]
PREDICT = "predict model.safetensors"


def test_numbers_are_those_of_python(run, frame):
    run(f"{PREDICT} patients.csv --times 50,400 --quantiles 0.9,0.1 -o out.csv")
    table = pd.read_csv("out.csv", dtype={"patient": str})
    names = "patient survival_50 survival_400 median quantile_0.1 quantile_0.9".split()
    assert list(table) == names
    assert list(table["patient"]) == list(frame["patient"])
    distribution = load("model.safetensors").predict_distribution(frame[COVARIATES])
    assert_allclose(table[names[1:3]], distribution.survival([50, 400]), rtol=1e-12)
    assert_allclose(table[names[3:]], distribution.quantile([0.5, 0.1, 0.9]))


def test_incidences_and_survival_add_up_to_1(run_json):
    table = pd.DataFrame(run_json("predict causes.safetensors causes.csv --times 100"))
    names = ["survival_100", "incidence_cancer_100", "incidence_other_cause_100"]
    assert_allclose(table[names].sum(axis=1), 1, atol=1e-7)
    assert (table[names] > 0).all(axis=None)


def test_the_order_of_columns_is_free_and_unknown_columns_are_named(run, write, frame):
    write(frame[frame.columns[::-1]].drop(columns=["days", "died", "patient"]).assign(weight=1))
    result = run(f"{PREDICT} data.csv -o a.csv")
    assert "weight" in result.err
    assert "hospital" not in result.err
    run(f"{PREDICT} patients.csv -o b.csv")
    table, expected = pd.read_csv("a.csv"), pd.read_csv("b.csv").drop(columns="patient")
    assert table.pop("row").tolist() == list(range(1, 201))
    pd.testing.assert_frame_equal(table, expected)


def test_missing_columns_are_named(write, frame, refused, new_files):
    write(frame.drop(columns=["age", "dose"]))
    assert "lacks 'age', 'dose'" in refused(f"{PREDICT} data.csv -o out.csv")
    assert new_files() == {"data.csv"}


def test_all_formats_and_blocks_hold_the_same(run, monkeypatch):
    pytest.importorskip("pyarrow")
    for suffix in ("csv", "parquet", "tsv"):
        run(f"{PREDICT} patients.csv -o a.{suffix}")
        monkeypatch.setattr("lifemix.cli.predict._BLOCK", 33)
    expected = pd.read_csv("a.csv").iloc[:, 1:]
    for table in (pd.read_parquet("a.parquet"), pd.read_table("a.tsv")):
        assert_allclose(table.iloc[:, 1:], expected, rtol=1e-5)


def test_extrapolation_and_unknown_levels_are_noted(run, write, frame):
    write(frame.assign(stage="IV"))
    err = run(f"{PREDICT} data.csv --times 1e6").err
    assert "times 1e+06" in err
    assert "levels that training did not have: 'IV'" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--times soon", "--times must be numbers"),
        ("--times -1", "finite and >= 0"),
        ("--quantiles 50", "from 0 to 1"),
        ("-o out.xlsx", "must end in .csv"),
        ("--id name", "no column 'name' (--id)"),
        ("--from-disk", "needs a file"),
    ],
)
def test_refused_options(options, message, refused, new_files):
    assert message in refused(f"{PREDICT} patients.csv {options}")
    assert not new_files()


@pytest.mark.parametrize("content", [None, b"", b"no model", b"\x10\0\0\0\0\0\0\0{}"])
def test_a_file_that_is_no_model(content, refused):
    if content is not None:
        Path("m.safetensors").write_bytes(content)
    for command in ("predict {} patients.csv", "evaluate {} patients.csv", "describe {}"):
        refused(command.format("m.safetensors"))
    for path in (".", "patients.csv"):
        refused(f"describe {path}")


def test_many_columns_are_shown_in_several_tables(run):
    out = run("predict causes.safetensors causes.csv --times 50,100,200,400,800").out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 120
    heads = [line.split() for line in lines if "patient" in line]
    assert len(heads) == 4
    assert all(head[0] == "patient" for head in heads)
    assert heads[0][1] == "survival_50"
    assert any("more rows" in line for line in lines)


@pytest.fixture(scope="module")
def rows():
    """Return two rows of most patients, treated from a switch on."""
    rng = np.random.default_rng(0)
    n_patients = 120
    switch, stop = (rng.uniform(*limits, n_patients).round(4) for limits in ((0.2, 2), (0.5, 4)))
    columns = {"patient": [f"p{i:03d}" for i in range(n_patients)], "start": 0.0, "stop": stop}
    columns |= {"died": rng.integers(0, 2, n_patients), "age": rng.normal(60, 8, n_patients)}
    first = pd.DataFrame(columns).assign(treated="no")
    has_switched = switch < stop
    second = first[has_switched].assign(start=switch[has_switched], treated="yes")
    first.loc[has_switched, "stop"] = switch[has_switched]
    first.loc[has_switched, "died"] = 0
    return pd.concat([first, second]).sort_values(["patient", "start"], ignore_index=True)


@pytest.fixture(scope="module")
def intervals(run, rows, tmp_path_factory):
    """Return the folder of the table, a model of it and its held-out rows, and what the fit said."""
    folder = tmp_path_factory.mktemp("intervals")
    rows.to_csv(folder / "rows.csv", index=False)
    columns = "--time stop --event died --id patient --start start --unit years"
    files = f"--holdout-to {folder}/held.csv -o {folder}/m.safetensors"
    return folder, run(f"fit {folder}/rows.csv {columns} {QUICK} {files}").out


@pytest.fixture
def predict_rows(intervals, run):
    """Return a function that predicts the table and returns the output and the predictions."""
    folder, _ = intervals

    def call(options, table=folder / "rows.csv"):
        out = run(f"predict {folder}/m.safetensors {table} {options} -o out.csv").out
        return out, pd.read_csv("out.csv")

    return call


def test_a_fit_to_intervals_holds_out_subjects(rows, intervals):
    folder, out = intervals
    assert f"{len(rows)} intervals of 120 subjects, up to 2 each" in out
    held_out = pd.read_csv(folder / "held.csv")
    expected = rows[rows["patient"].isin(held_out["patient"])]
    assert held_out.groupby("patient").size().equals(expected.groupby("patient").size())
    n_subjects = len(load(folder / "m.safetensors").training_target_)
    assert n_subjects == 120 - held_out["patient"].nunique()


def test_predictions_follow_the_intervals(rows, intervals, predict_rows, write):
    out, predictions = predict_rows("--times 0.5,1y --extend")
    assert "Along the rows of 120 subjects" in out
    paths = rows[["age", "treated"]], rows["start"], rows["stop"], rows["patient"], [0.5, 1.0]
    expected = load(intervals[0] / "m.safetensors").predict_path(*paths, extend=True)
    assert predictions["patient"].tolist() == rows["patient"].unique().tolist()
    assert predictions[["survival_0.5", "survival_1"]].to_numpy() == pytest.approx(expected)
    _, predictions = predict_rows("--times 1")
    has_ended = rows.groupby("patient")["stop"].max() < 1
    assert np.array_equal(predictions["survival_1"].isna(), has_ended)
    _, predictions = predict_rows("--times 1", write(rows[["patient", "age", "treated"]]))
    assert len(predictions) == len(rows)


def test_a_landmark_uses_the_row_that_holds(rows, intervals, predict_rows, refused):
    _, predictions = predict_rows("--landmark 1y --times 2")
    at_risk = rows[(rows["start"] <= 1) & (rows["stop"] > 1)]
    assert predictions["patient"].tolist() == at_risk["patient"].tolist()
    model = load(intervals[0] / "m.safetensors")
    conditional = model.predict_distribution(at_risk[["age", "treated"]]).given(1.0)
    survival = conditional.survival(2.0)[:, 0]
    assert predictions["survival_2"].to_numpy() == pytest.approx(survival)
    assert predictions["median"].to_numpy() == pytest.approx(conditional.median())
    command = f"predict {intervals[0]}/m.safetensors {intervals[0]}/rows.csv"
    assert "must lie after --landmark 1" in refused(f"{command} --landmark 1 --times 0.5")
    assert "lies in no row" in refused(f"{command} --landmark 50 --times 60")


def test_intervals_are_evaluated_at_landmarks(intervals, run_json, run):
    folder, out = intervals
    assert "0 to " in out
    command = f"evaluate {folder}/m.safetensors {folder}/held.csv --landmarks 0,0.5 --window 1"
    quality = run_json(command)["quality"]
    brier = [row for row in quality if row["metric"] == "brier" and row["model"] == "this model"]
    assert [(row["landmark"], row["horizon"]) for row in brier] == [(0, 1), (0.5, 1.5)]
    assert all(0 < row["value"] < 1 for row in brier)
    auc = [row["value"] for row in quality if row["metric"] == "auc"]
    assert auc[2:] == [0.5, 0.5]
    assert "0.5 to 1.5" in run(command).out


def test_visits_become_intervals_and_new_ones_need_no_end(run, write):
    rng = np.random.default_rng(1)
    n_patients = 80
    patient = np.repeat(np.arange(n_patients), 3)
    visits = pd.DataFrame({"patient": patient, "day": np.tile([0.0, 0.5, 0.9], n_patients)})
    visits["marker"] = rng.normal(size=len(patient)).round(3)
    visits["end"] = rng.uniform(1, 6, n_patients).round(3)[patient]
    visits["status"] = rng.choice(["alive", "dead"], n_patients)[patient]
    write(visits)
    write(visits[["patient", "day", "marker"]], "new.csv")
    columns = "--id patient --time end --event status --visit day"
    out = run(f"fit data.csv {columns} {QUICK} --holdout-to held.csv -o m.safetensors").out
    assert "240 intervals of 80 subjects, up to 3 each" in out
    model = load("m.safetensors")
    assert model.feature_names_in_.tolist() == ["marker"]
    assert model.metadata_["censored"] == ["alive"]
    held_out = pd.read_csv("held.csv")
    expected = visits[visits["patient"].isin(held_out["patient"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(held_out, expected)
    run("evaluate m.safetensors held.csv --landmarks 0.5 --window 1")
    out = run("predict m.safetensors new.csv --landmark 0.7 --times 2 -o p.csv").out
    assert "the last visit of each subject holds on" in out
    X = visits.loc[visits["day"] == 0.5, ["marker"]]
    expected = model.predict_distribution(X).given(0.7).survival(2.0)[:, 0]
    assert pd.read_csv("p.csv")["survival_2"].to_numpy() == pytest.approx(expected)
    run("predict m.safetensors new.csv --times 2 -o p.csv")
    start = visits["day"].to_numpy()
    stop = np.where(start == 0.9, predict._NO_END, np.roll(start, -1))
    expected = model.predict_path(visits[["marker"]], start, stop, patient, [2.0])[:, 0]
    assert pd.read_csv("p.csv")["survival_2"].to_numpy() == pytest.approx(expected)
