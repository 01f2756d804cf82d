"""``lifemix fit`` and ``predict`` from disk: folders, large files, the same predictions as in memory."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from lifemix import load, make_target
from lifemix.cli import large_predict, memory_limit
from lifemix.cli.app import app
from lifemix.errors import SettingError
from lifemix.streaming import csv_ranges

FAST = ["--no-search", "--epochs", "2", "--hidden", "8", "--seed", "1"]


def run(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def words(table):
    """A table as users have it: labels that look like numbers in some rows, line breaks in texts, words for events."""
    frame = table.drop(columns="weight").assign(event=np.where(table["event"] == 1, "dead", "alive"))
    frame["grade"] = np.where(np.arange(len(frame)) < 900, "01", "unknown")
    frame["note"] = np.where(np.arange(len(frame)) % 3 == 0, 'say "yes",\nor no', "plain")
    return frame


@pytest.fixture(scope="module")
def model(words, tmp_path_factory):
    """A model fitted from a folder of shards."""
    folder = tmp_path_factory.mktemp("fit")
    (folder / "shards").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(words)), 3)):
        words.iloc[rows].to_parquet(folder / "shards" / f"part-{number}.parquet", index=False, row_group_size=200)
    roles = ["--time", "time", "--event", "event", "--id", "patient", "--categorical", "grade"]
    result = run("fit", folder / "shards", *roles, *FAST, "-o", folder / "m.safetensors", "--json")
    found = json.loads(result.stdout)
    assert found["rows"] == len(words)
    assert found["events"] == ["dead"]
    assert found["held_out"]["rows"] == pytest.approx(240, abs=60)
    assert found["held_out"]["quality"][0]["values"]["concordance"]["1"][0] > 0.55
    assert "unfinished" in [finding["topic"] for finding in found["findings"]]  # the doctor has seen the model
    assert not (folder / "m.checkpoint").exists()
    return folder / "m.safetensors"


def test_a_folder_gives_an_ordinary_model(words, model):
    loaded = load(model)
    assert loaded.preprocessor_.columns_[-2].levels == ("01", "unknown")
    assert len(loaded.training_target_) == pytest.approx(960, abs=60)
    assert run("describe", model).exit_code == 0


def test_a_folder_is_evaluated_in_blocks(words, model):
    said = run("evaluate", model, model.parent / "shards", "--json")
    found = json.loads(said.stdout)
    X, y = words[load(model).feature_names_in_], make_target(words["time"], words["event"] == "dead")
    assert found["all_rows"]["rows"] == len(words)
    assert found["all_rows"]["log_likelihood"] == pytest.approx(load(model).log_likelihood(X, y) / len(y), rel=1e-6)
    assert found["quality"][0]["rows"] == len(words)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_blocks_are_predicted_as_the_whole_table(words, model, tmp_path, monkeypatch, suffix):
    data = tmp_path / f"new.{suffix}"
    if suffix == "csv":
        words.to_csv(data, index=False)
    else:
        words.to_parquet(data, index=False, row_group_size=250)
    arguments = ["predict", model, data, "--times", "5,10", "--quantiles", "0.9", "-o"]
    run(*arguments, tmp_path / "whole.csv")
    monkeypatch.setattr(large_predict, "_LARGE", 0)
    monkeypatch.setattr(csv_ranges, "RANGE", 5000)
    said = run(*arguments, tmp_path / "blocks.csv")
    assert "in blocks" in said.output
    whole, blocks = pd.read_csv(tmp_path / "whole.csv"), pd.read_csv(tmp_path / "blocks.csv")
    pd.testing.assert_frame_equal(whole, blocks, rtol=1e-6)
    assert whole["patient"].tolist() == words["patient"].tolist()


def test_numbers_with_decimal_commas_and_unknown_levels(words, model, tmp_path, monkeypatch):
    words.assign(site="west").to_csv(tmp_path / "new.csv", index=False, sep=";", decimal=",")
    run("predict", model, tmp_path / "new.csv", "--decimal", ",", "-o", tmp_path / "whole.csv")
    monkeypatch.setattr(large_predict, "_LARGE", 0)
    monkeypatch.setattr(csv_ranges, "RANGE", 5000)
    said = run("predict", model, tmp_path / "new.csv", "--decimal", ",", "-o", tmp_path / "blocks.csv")
    assert said.output.count("levels that training did not have: 'west'") == 1
    whole, blocks = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("whole", "blocks"))
    pd.testing.assert_frame_equal(whole, blocks, rtol=1e-6)


def test_nothing_is_written_where_a_block_cannot_be_read(words, model, tmp_path, monkeypatch):
    frame = words.astype({"a": object})
    frame.loc[1100, "a"] = "high"
    frame.to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.setattr(large_predict, "_LARGE", 0)
    monkeypatch.setattr(csv_ranges, "RANGE", 5000)
    said = run("predict", model, tmp_path / "new.csv", "-o", tmp_path / "out.csv", code=2)
    assert re.search(r"data rows 1,0\d\d to 1,1\d\d: column 'a' held numbers in training", said.output)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv"]


def test_the_memory_limit_decides(words, tmp_path):
    data = tmp_path / "t.csv"
    words.drop(columns=["note", "grade"]).to_csv(data, index=False)
    arguments = ["fit", data, "--time", "time", "--event", "event", "--drop", "patient", *FAST, "--holdout", "0"]
    assert "from disk" not in run(*arguments, "-o", tmp_path / "memory.safetensors").output
    said = run(*arguments, "--memory", "100KB", "-o", tmp_path / "disk.safetensors").output
    assert "Reading t.csv from disk in blocks (about 0 MB in memory, limit 0 MB)" in said
    memory, disk = (load(tmp_path / f"{name}.safetensors") for name in ("memory", "disk"))
    assert list(memory.feature_names_in_) == list(disk.feature_names_in_)
    assert memory.time_unit_ == pytest.approx(disk.time_unit_, rel=1e-14)  # pandas rounds the last digit


def test_sizes_are_read():
    assert memory_limit.memory_limit("500MB") == 5e8
    assert memory_limit.memory_limit("1.5 gib") == 1.5e9
    assert memory_limit.memory_limit(None) > 0
    for text in ("much", "0", "-3GB"):
        with pytest.raises(SettingError, match="--memory must be a size such as 500MB"):
            memory_limit.memory_limit(text)
