"""Start-stop tables on the command line: recognised, fitted, evaluated at landmarks, predicted along the rows."""

import numpy as np
import pandas as pd
import pytest

from commands import QUICK
from lifemix import load

COLUMNS = ["--time", "stop", "--event", "died", "--unit", "years"]


def start_stop_table(n=120, seed=0):
    """Return two rows of most patients: treated from some time on, with half the hazard."""
    rng = np.random.default_rng(seed)
    treatment, end, needed = rng.uniform(0.2, 3, n), rng.uniform(1, 4, n), rng.exponential(size=n)
    time = np.where(
        needed < 0.6 * treatment, needed / 0.6, treatment + (needed - 0.6 * treatment) / 0.3
    )
    stop, died = np.minimum(time, end).round(4), (time <= end).astype(int)
    treatment = treatment.round(4)
    moved = treatment < stop
    age = rng.normal(60, 8, n).round(1)
    rows = pd.DataFrame(
        {"patient": [f"p{i:03d}" for i in range(n)], "start": 0.0, "stop": stop, "died": died}
    )
    rows = rows.assign(age=age, treated="no")
    later = rows[moved].assign(start=treatment[moved], treated="yes")
    rows.loc[moved, "stop"], rows.loc[moved, "died"] = treatment[moved], 0
    return pd.concat([rows, later]).sort_values(["patient", "start"], ignore_index=True)


@pytest.fixture(scope="module")
def fitted(run, tmp_path_factory):
    """Return the rows, the files, and what fit said."""
    folder = tmp_path_factory.mktemp("paths")
    rows = start_stop_table()
    table, model, rest = folder / "long.csv", folder / "model.safetensors", folder / "rest.csv"
    rows.to_csv(table, index=False)
    said = run("fit", table, *COLUMNS, "--id", "patient", *QUICK, "--holdout-to", rest, "-o", model)
    assert said.code == 0, said.out + said.err
    return rows, table, model, rest, said


def test_fit_recognises_the_start_and_says_what_it_understood(fitted, run):
    rows, _, model, rest, said = fitted
    assert (
        f"{len(rows)} intervals of 120 subjects, up to 2 each; a row holds from its start to its stop"
        in said.out
    )
    assert "at each landmark s: the risk of the next" in said.out
    assert "lifemix evaluate" in said.out
    held_out = pd.read_csv(rest)
    assert not set(held_out["patient"]) & (set(rows["patient"]) - set(held_out["patient"]))
    assert (
        held_out.groupby("patient")
        .size()
        .equals(rows[rows["patient"].isin(held_out["patient"])].groupby("patient").size())
    )
    kept = load(model)
    assert kept.metadata_["paths"] is True
    assert kept.metadata_["roles"]["entry"] == "start"
    assert len(kept.training_target_) == 120 - held_out["patient"].nunique()


def test_predict_follows_the_rows(fitted, run, tmp_path):
    rows, table, model, _, _ = fitted
    output = tmp_path / "along.csv"
    said = run("predict", model, table, "--times", "0.5,1y", "--extend", "-o", output)
    assert said.code == 0, said.err
    assert "Along the rows of 120 subjects" in said.out
    found = pd.read_csv(output)
    X = rows[["age", "treated"]]
    expected = load(model).predict_path(
        X, rows["start"], rows["stop"], rows["patient"], [0.5, 1.0], extend=True
    )
    assert found["patient"].tolist() == rows["patient"].unique().tolist()
    assert found[["survival_0.5", "survival_1"]].to_numpy() == pytest.approx(expected)
    assert run("predict", model, table, "--times", "1", "-o", output).code == 0
    ended = rows.groupby("patient")["stop"].max() < 1
    assert np.array_equal(pd.read_csv(output)["survival_1"].isna(), ended)


def test_predict_at_a_landmark_uses_the_row_that_holds(fitted, run, tmp_path, refused):
    rows, table, model, _, _ = fitted
    output = tmp_path / "landmark.csv"
    said = run("predict", model, table, "--landmark", "1y", "--times", "2", "-o", output)
    assert said.code == 0, said.err
    found = pd.read_csv(output)
    here = rows[(rows["start"] <= 1) & (rows["stop"] > 1)]
    assert found["patient"].tolist() == here["patient"].tolist()
    given = load(model).predict_distribution(here[["age", "treated"]]).given(1.0)
    assert found["survival_2"].to_numpy() == pytest.approx(given.survival(2.0)[:, 0])
    assert found["median"].to_numpy() == pytest.approx(given.median())
    assert "--times must lie after --landmark 1" in refused(
        "predict", model, table, "--landmark", "1", "--times", "0.5"
    )
    assert "lies in no row" in refused("predict", model, table, "--landmark", "50", "--times", "60")


def test_evaluate_takes_landmarks_and_a_window(fitted, run):
    _, _, model, rest, _ = fitted
    said = run("evaluate", model, rest, "--landmarks", "0,0.5", "--window", "1", "--json")
    assert said.code == 0, said.err
    (quality, marginal) = said.json["quality"]
    assert quality["horizons"] == [0.0, 0.5]
    assert all(0 < value < 1 for value in quality["values"]["brier"]["1"])
    assert marginal["values"]["auc"]["1"] == [0.5, 0.5]


def test_overlapping_rows_are_refused_unless_they_are_separate(run, refused, tmp_path):
    rows = start_stop_table()
    rows["start"] = np.where(rows["start"] > 0, rows["start"] / 2, 0)
    path, output = tmp_path / "overlap.csv", tmp_path / "m.safetensors"
    rows.to_csv(path, index=False)
    arguments = [
        "fit",
        path,
        *COLUMNS,
        "--id",
        "patient",
        "--start",
        "start",
        *QUICK,
        "--holdout",
        "0",
        "-o",
        output,
    ]
    message = refused(*arguments)
    assert "which overlap" in message
    assert "add --separate-rows" in message
    assert run(*arguments, "--separate-rows").code == 0
    assert "paths" not in load(output).metadata_


def test_the_same_rows_without_start_predict_row_by_row(fitted, run, tmp_path):
    rows, _, model, _, _ = fitted
    path, output = tmp_path / "plain.csv", tmp_path / "plain_predictions.csv"
    rows[["patient", "age", "treated"]].to_csv(path, index=False)
    assert run("predict", model, path, "--times", "1", "-o", output).code == 0
    assert len(pd.read_csv(output)) == len(rows)


@pytest.fixture(scope="module")
def visits():
    """Return one row per visit, with the end and the event of the patient in each."""
    rng = np.random.default_rng(1)
    n = 80
    end, dead = rng.uniform(1, 6, n).round(3), rng.choice(["alive", "dead"], n)
    table = pd.DataFrame(
        {"patient": np.repeat(np.arange(n), 3), "day": np.tile([0.0, 0.5, 0.9], n)}
    )
    table["marker"] = rng.normal(size=3 * n).round(3)
    return table.assign(end=np.repeat(end, 3), status=np.repeat(dead, 3))


def test_visits_become_intervals(visits, run, refused, tmp_path):
    path, model, rest = (
        tmp_path / "visits.csv",
        tmp_path / "model.safetensors",
        tmp_path / "rest.csv",
    )
    visits.to_csv(path, index=False)
    columns = ["--id", "patient", "--time", "end", "--event", "status"]
    assert "Add --visit day" in refused("fit", path, *columns, *QUICK, "-o", model)
    assert "--visit needs --id" in refused(
        "fit", path, *columns[2:], "--visit", "day", *QUICK, "-o", model
    )
    said = run("fit", path, *columns, "--visit", "day", *QUICK, "--holdout-to", rest, "-o", model)
    assert said.code == 0, said.err
    assert "240 intervals of 80 subjects, up to 3 each" in said.out
    assert "from its day to the next visit, the last one to end" in said.out
    kept = load(model)
    assert kept.feature_names_in_.tolist() == ["marker"]
    assert kept.metadata_["censored"] == ["alive"]
    written = pd.read_csv(rest).iloc[:3]
    assert written["day"].tolist() == [0, 0.5, 0.9]
    assert written["end"].tolist()[:2] == [0.5, 0.9]
    for table in (rest, path):  # intervals, and visits
        assert run("evaluate", model, table, "--landmarks", "0.5", "--window", "1").code == 0


def test_new_visits_need_no_end(visits, run, tmp_path):
    path, model, output = (
        tmp_path / "visits.csv",
        tmp_path / "model.safetensors",
        tmp_path / "predictions.csv",
    )
    visits.to_csv(path, index=False)
    columns = ["--id", "patient", "--time", "end", "--event", "status", "--visit", "day"]
    assert run("fit", path, *columns, *QUICK, "--holdout", "0", "-o", model).code == 0
    visits[["patient", "day", "marker"]].to_csv(path, index=False)
    said = run("predict", model, path, "--landmark", "0.7", "--times", "2", "-o", output)
    assert said.code == 0, said.err
    assert "the last visit of each subject holds on" in said.out
    rows = visits[visits["day"] == 0.5]
    expected = load(model).predict_distribution(rows[["marker"]]).given(0.7).survival(2.0)[:, 0]
    assert pd.read_csv(output)["survival_2"].to_numpy() == pytest.approx(expected)
    assert run("predict", model, path, "--times", "2", "-o", output).code == 0
    start = visits["day"].to_numpy()
    stop = np.where(start == 0.9, 9.0, np.roll(start, -1))
    along = load(model).predict_path(visits[["marker"]], start, stop, visits["patient"], [2.0])
    assert pd.read_csv(output)["survival_2"].to_numpy() == pytest.approx(along[:, 0])
