"""``--from-disk`` fits, evaluates and predicts a folder of files with the usual commands."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from disk_tables import make_table, write_shards
from lifemix import load
from lifemix.cli.app import app

pytest.importorskip("pyarrow")


def run(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result


def test_fit_evaluate_and_predict_from_disk(tmp_path):
    table = make_table(900).drop(columns="weight")
    table["event"] = np.where(table["event"] == 1, "dead", "alive")
    table["grade"] = np.where(np.arange(len(table)) < 700, "01", "2")
    folder, model = write_shards(table, tmp_path / "shards"), tmp_path / "m.safetensors"
    roles = ["--time", "time", "--event", "event", "--id", "patient", "--categorical", "grade"]
    result = run(
        "fit", folder, *roles, "--from-disk", "--hidden", 8, "--epochs", 3, "-o", model, "--json"
    )
    facts = json.loads(result.stdout)
    assert facts["rows"] == len(table)
    assert facts["events"] == ["dead"]
    assert facts["quality"][0]["metric"] == "log_likelihood"
    assert not (tmp_path / "m.checkpoint").exists()
    loaded = load(model)
    assert loaded.preprocessor_.columns_[-1].levels == ("01", "2")
    assert run("describe", model).exit_code == 0
    quality = json.loads(run("evaluate", model, folder, "--from-disk", "--json").stdout)["quality"]
    assert {"log_likelihood", "concordance", "brier"} <= {record["metric"] for record in quality}
    run("predict", model, folder, "--from-disk", "--times", "5,10", "-o", tmp_path / "out.parquet")
    written = pd.read_parquet(tmp_path / "out.parquet")
    expected = loaded.predict_survival_function(
        table.drop(columns=["time", "event", "patient"]), [5.0, 10.0]
    )
    assert written[["survival_5", "survival_10"]].to_numpy() == pytest.approx(expected, abs=1e-12)


def test_a_folder_needs_the_option(tmp_path):
    folder = write_shards(make_table(60), tmp_path / "shards")
    result = run(
        "fit",
        folder,
        "--time",
        "time",
        "--event",
        "event",
        "-o",
        tmp_path / "m.safetensors",
        code=2,
    )
    assert "add --from-disk" in result.output
