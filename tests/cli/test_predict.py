"""``lifemix predict``: the numbers of Python, for rows, subjects with several rows, and landmarks."""

import numpy as np
import pandas as pd
import pytest

from helpers.commands import QUICK
from lifemix import load
from lifemix.cli import predict

COVARIATES = ["age", "dose", "stage"]


def test_numbers_are_those_of_python(run, model, data, frame, tmp_path):
    output = tmp_path / "out.csv"
    run("predict", model, data, "--times", "50,400", "--quantiles", "0.9,0.1", "-o", output)
    table = pd.read_csv(output, dtype={"patient": str})
    names = "patient survival_50 survival_400 median quantile_0.1 quantile_0.9".split()
    assert list(table) == names
    assert list(table["patient"]) == list(frame["patient"])
    distribution = load(model).predict_distribution(frame[COVARIATES])
    np.testing.assert_allclose(table[names[1:3]], distribution.survival([50, 400]), rtol=1e-12)
    np.testing.assert_allclose(table[names[3:]], distribution.quantile([0.5, 0.1, 0.9]))


def test_incidences_and_survival_add_up_to_one(run_json, competing):
    data, model = competing
    table = pd.DataFrame(run_json("predict", model, data, "--times", "100"))
    names = ["survival_100", "incidence_cancer_100", "incidence_other_cause_100"]
    np.testing.assert_allclose(table[names].sum(axis=1), 1, atol=1e-7)
    assert (table[names] > 0).all(axis=None)


def test_the_order_of_columns_is_free_and_unknown_ones_are_named(run, model, write, frame):
    path = write(frame[frame.columns[::-1]].drop(columns=["days", "died"]).assign(weight=1))
    result = run("predict", model, path, "--json")
    assert result.out == run("predict", model, write(frame, "same.csv"), "--json").out
    assert "weight" in result.err
    assert "hospital" not in result.err
    assert "patient" not in result.err


def test_missing_columns_are_named(model, write, frame, refused, tmp_path):
    path = write(frame.drop(columns=["age", "dose"]))
    message = refused("predict", model, path, "-o", tmp_path / "out.csv")
    assert "lacks 'age', 'dose'" in message
    assert not (tmp_path / "out.csv").exists()


def test_rows_without_an_identifier_are_numbered(run_json, model, write, frame):
    rows = run_json("predict", model, write(frame.drop(columns="patient")))
    assert [row["row"] for row in rows] == list(range(1, 201))


def test_all_formats_hold_the_same(run, model, data, tmp_path):
    pytest.importorskip("pyarrow")
    for name in ("a.csv", "a.parquet", "a.tsv"):
        run("predict", model, data, "-o", tmp_path / name)
    csv = pd.read_csv(tmp_path / "a.csv")
    for table in (pd.read_parquet(tmp_path / "a.parquet"), pd.read_table(tmp_path / "a.tsv")):
        np.testing.assert_allclose(csv.iloc[:, 1:], table.iloc[:, 1:], rtol=1e-12)


def test_extrapolation_and_unknown_levels_are_noted(run, model, write, frame):
    result = run("predict", model, write(frame.assign(stage="IV")), "--times", "1e6")
    assert "times 1e+06" in result.err
    assert "levels that training did not have: 'IV'" in result.err


def test_predictions_do_not_depend_on_the_blocks(run_json, model, data, monkeypatch):
    expected = pd.DataFrame(run_json("predict", model, data))
    monkeypatch.setattr("lifemix.cli.predict._BLOCK", 33)
    blocks = pd.DataFrame(run_json("predict", model, data))
    pd.testing.assert_frame_equal(blocks, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--times", "soon"], "--times must be numbers"),
        (["--times", "-1"], "finite and >= 0"),
        (["--quantiles", "50"], "from 0 to 1"),
        (["-o", "out.xlsx"], "must end in .csv"),
        (["--id", "name"], "no column 'name' (--id)"),
        (["--from-disk"], "needs a file"),
    ],
)
def test_refused_options(options, message, model, data, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refused("predict", model, data, *options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [None, b"", b"no model", b"\x10\0\0\0\0\0\0\0{}"])
def test_a_file_that_is_no_model(content, tmp_path, data, refused):
    path = tmp_path / "m.safetensors"
    if content is not None:
        path.write_bytes(content)
    for command in (["predict", path, data], ["evaluate", path, data], ["describe", path]):
        refused(*command)
    refused("describe", tmp_path)
    refused("describe", data)


def test_many_columns_are_shown_in_several_tables(run, competing):
    table, model = competing
    lines = run("predict", model, table, "--times", "50,100,200,400,800").out.splitlines()
    assert max(map(len, lines)) <= 120
    heads = [line.split() for line in lines if "patient" in line]
    assert len(heads) == 4
    assert all(head[0] == "patient" for head in heads)
    assert [name for head in heads for name in head[1:]][0] == "survival_50"
    assert any("more rows" in line for line in lines)


COLUMNS = ["--time", "stop", "--event", "died", "--id", "patient", "--start", "start"]


@pytest.fixture(scope="module")
def intervals(run, tmp_path_factory):
    """Return two rows of most patients, treated from some time on, and a model of them with its held-out rows."""
    rng = np.random.default_rng(0)
    n = 120
    switch, stop = rng.uniform(0.2, 2, n).round(4), rng.uniform(0.5, 4, n).round(4)
    rows = {"patient": [f"p{i:03d}" for i in range(n)], "start": 0.0, "stop": stop}
    rows = pd.DataFrame(
        rows | {"died": rng.integers(0, 2, n), "age": rng.normal(60, 8, n).round(1)}
    )
    rows["treated"] = "no"
    has_switched = switch < stop
    later = rows[has_switched].assign(start=switch[has_switched], treated="yes")
    rows.loc[has_switched, ["stop", "died"]] = np.c_[switch[has_switched], 0 * later["died"]]
    rows = pd.concat([rows, later]).sort_values(["patient", "start"], ignore_index=True)
    rows["died"] = rows["died"].astype(int)
    folder = tmp_path_factory.mktemp("intervals")
    table, model, rest = (folder / name for name in ("rows.csv", "m.safetensors", "rest.csv"))
    rows.to_csv(table, index=False)
    options = ["--unit", "years", *QUICK, "--holdout-to", rest, "-o", model]
    return rows, table, model, rest, run("fit", table, *COLUMNS, *options)


def test_a_fit_to_intervals_holds_out_subjects(intervals):
    rows, _, model, rest, fitted = intervals
    assert f"{len(rows)} intervals of 120 subjects, up to 2 each" in fitted.out
    held_out = pd.read_csv(rest)
    expected = rows[rows["patient"].isin(held_out["patient"])]
    assert held_out.groupby("patient").size().equals(expected.groupby("patient").size())
    assert len(load(model).training_target_) == 120 - held_out["patient"].nunique()


def test_predictions_follow_the_intervals(intervals, run, tmp_path):
    rows, table, model, _, _ = intervals
    output = tmp_path / "along.csv"
    result = run("predict", model, table, "--times", "0.5,1y", "--extend", "-o", output)
    assert "Along the rows of 120 subjects" in result.out
    predictions = pd.read_csv(output)
    arguments = rows[["age", "treated"]], rows["start"], rows["stop"], rows["patient"], [0.5, 1.0]
    expected = load(model).predict_path(*arguments, extend=True)
    assert predictions["patient"].tolist() == rows["patient"].unique().tolist()
    assert predictions[["survival_0.5", "survival_1"]].to_numpy() == pytest.approx(expected)
    run("predict", model, table, "--times", "1", "-o", output)
    has_ended = rows.groupby("patient")["stop"].max() < 1
    assert np.array_equal(pd.read_csv(output)["survival_1"].isna(), has_ended)
    plain = tmp_path / "plain.csv"
    rows[["patient", "age", "treated"]].to_csv(plain, index=False)
    run("predict", model, plain, "--times", "1", "-o", output)
    assert len(pd.read_csv(output)) == len(rows)


def test_a_landmark_uses_the_row_that_holds(intervals, run, tmp_path, refused):
    rows, table, model, _, _ = intervals
    output = tmp_path / "landmark.csv"
    run("predict", model, table, "--landmark", "1y", "--times", "2", "-o", output)
    predictions = pd.read_csv(output)
    at_risk = rows[(rows["start"] <= 1) & (rows["stop"] > 1)]
    assert predictions["patient"].tolist() == at_risk["patient"].tolist()
    given = load(model).predict_distribution(at_risk[["age", "treated"]]).given(1.0)
    assert predictions["survival_2"].to_numpy() == pytest.approx(given.survival(2.0)[:, 0])
    assert predictions["median"].to_numpy() == pytest.approx(given.median())
    call = ["predict", model, table]
    assert "must lie after --landmark 1" in refused(*call, "--landmark", "1", "--times", "0.5")
    assert "lies in no row" in refused(*call, "--landmark", "50", "--times", "60")


def test_intervals_are_evaluated_at_landmarks(intervals, run_json, run):
    _, _, model, rest, fitted = intervals
    assert "0 to " in fitted.out
    options = ["--landmarks", "0,0.5", "--window", "1"]
    quality = run_json("evaluate", model, rest, *options)["quality"]
    brier = [row for row in quality if row["metric"] == "brier" and row["model"] == "this model"]
    assert [(row["landmark"], row["horizon"]) for row in brier] == [(0, 1), (0.5, 1.5)]
    assert all(0 < row["value"] < 1 for row in brier)
    auc = [row["value"] for row in quality if row["metric"] == "auc"]
    assert auc[2:] == [0.5, 0.5]
    assert "0.5 to 1.5" in run("evaluate", model, rest, *options).out


def test_visits_become_intervals_and_new_ones_need_no_end(run, tmp_path):
    rng = np.random.default_rng(1)
    n = 80
    visits = {"patient": np.repeat(np.arange(n), 3), "day": np.tile([0.0, 0.5, 0.9], n)}
    visits = pd.DataFrame(visits).assign(
        marker=rng.normal(size=3 * n).round(3),
        end=np.repeat(rng.uniform(1, 6, n).round(3), 3),
        status=np.repeat(rng.choice(["alive", "dead"], n), 3),
    )
    path, new, model, rest, output = (
        tmp_path / name for name in ("v.csv", "new.csv", "m.safetensors", "rest.csv", "p.csv")
    )
    visits.to_csv(path, index=False)
    visits[["patient", "day", "marker"]].to_csv(new, index=False)
    columns = "--id patient --time end --event status --visit day".split()
    fitted = run("fit", path, *columns, *QUICK, "--holdout-to", rest, "-o", model)
    assert "240 intervals of 80 subjects, up to 3 each" in fitted.out
    loaded = load(model)
    assert loaded.feature_names_in_.tolist() == ["marker"]
    assert loaded.metadata_["censored"] == ["alive"]
    held_out = pd.read_csv(rest)
    expected = visits[visits["patient"].isin(held_out["patient"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(held_out, expected)
    run("evaluate", model, rest, "--landmarks", "0.5", "--window", "1")
    result = run("predict", model, new, "--landmark", "0.7", "--times", "2", "-o", output)
    assert "the last visit of each subject holds on" in result.out
    X = visits.loc[visits["day"] == 0.5, ["marker"]]
    expected = loaded.predict_distribution(X).given(0.7).survival(2.0)[:, 0]
    assert pd.read_csv(output)["survival_2"].to_numpy() == pytest.approx(expected)
    run("predict", model, new, "--times", "2", "-o", output)
    start = visits["day"].to_numpy()
    stop = np.where(start == 0.9, predict._NO_END, np.roll(start, -1))
    along = loaded.predict_path(visits[["marker"]], start, stop, visits["patient"], [2.0])
    assert pd.read_csv(output)["survival_2"].to_numpy() == pytest.approx(along[:, 0])
