"""A table of visits on the command line: what was understood, the model, predictions at a landmark."""

import numpy as np
import pandas as pd
import pytest

from lifemix import load

COLUMNS = ["--id", "patient", "--visit", "day", "--time", "days", "--event", "died"]
QUICK = ["--encoder", "recurrent", "--members", "1", "--epochs", "2", "--hidden", "4"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    rows = []
    for i in range(120):
        end, died, sex = (
            int(rng.integers(200, 2000)),
            int(rng.integers(0, 2)),
            rng.choice(["f", "m"]),
        )
        days = np.append(
            0, np.sort(rng.choice(np.arange(1, 190), rng.integers(1, 5), replace=False))
        )
        for day in days:
            rows.append(
                (
                    f"p{i}",
                    day,
                    end,
                    died,
                    sex,
                    round(float(rng.normal()), 3),
                    rng.choice(["low", "high"]),
                )
            )
    table = pd.DataFrame(rows, columns=["patient", "day", "days", "died", "sex", "bili", "stage"])
    table.loc[table.index % 7 == 3, "bili"] = np.nan
    found = tmp_path_factory.mktemp("visits") / "long.csv"
    table.to_csv(found, index=False)
    return found


@pytest.fixture(scope="module")
def model(run, path):
    output = path.with_name("model.safetensors")
    outcome = run("fit", path, *COLUMNS, *QUICK, "-o", output)
    assert outcome.code == 0, outcome.err
    assert "visits of 120 subjects" in outcome.out
    assert "change from visit to visit: bili, stage" in outcome.out
    assert "same at all visits: sex" in outcome.out
    assert "AUC within" in outcome.out
    return output


def test_the_model_is_recurrent_and_loads_without_more(model):
    assert load(model).encoder.get_params()["hidden"] == 4


def test_predictions_at_a_landmark(run, path, model):
    output = path.with_name("predictions.csv")
    outcome = run("predict", model, path, "--at", "100", "--times", "50,100,465", "-o", output)
    assert outcome.code == 0, outcome.err
    found = pd.read_csv(output)
    assert len(found) == 120
    assert (found["landmark"] == 100).all()
    assert (found[["survival_50", "survival_100"]] == 1).all(axis=None)
    assert found["survival_465"].between(0, 1).all()
    assert (found["median"] > 100).all()
    visits = pd.read_csv(path)
    assert (
        found["visits"].tolist()
        == visits[visits["day"] <= 100].groupby("patient", sort=False).size().tolist()
    )


def test_without_a_landmark_it_is_the_last_visit(run, path, model):
    outcome = run("predict", model, path, "--times", "465", "-o", path.with_name("last.csv"))
    assert outcome.code == 0, outcome.err
    last = pd.read_csv(path).groupby("patient", sort=False)["day"].max()
    assert pd.read_csv(path.with_name("last.csv"))["landmark"].tolist() == last.tolist()


def test_errors_say_what_to_do(run, path, model, tmp_path):
    output = tmp_path / "m.safetensors"
    outcome = run("fit", path, *COLUMNS[2:], "-o", output)
    assert outcome.code == 2
    assert "--visit needs --id" in outcome.err
    outcome = run("fit", path, *COLUMNS, "--encoder", "transformer", "-o", output)
    assert "--encoder must be one of recurrent, attention" in outcome.err
    mixed = tmp_path / "mixed.csv"
    table = pd.read_csv(path)
    table.loc[1, "days"] += 1
    table.to_csv(mixed, index=False)
    outcome = run("fit", mixed, *COLUMNS, "--encoder", "recurrent", "-o", output)
    assert "subject p0 has several" in " ".join(outcome.err.split())
    outcome = run("evaluate", model, path)
    assert outcome.code == 2
    assert "was fitted to visits" in " ".join(outcome.err.split())
    short = tmp_path / "short.csv"
    table.drop(columns="bili").to_csv(short, index=False)
    outcome = run("predict", model, short)
    assert "lacks 'bili'" in outcome.err
