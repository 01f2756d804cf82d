"""``lifemix datasets``: the list, one of them, and one as a table that ``fit`` takes."""

import pandas as pd

from lifemix import datasets


def test_list_has_every_data_set(run):
    found = {one["name"]: one for one in run("datasets", "--json").json}
    assert {"support", "metabric", "metabric-causes", "synthetic"} <= set(found)
    assert found["support"]["rows"] == 9105
    assert found["support"]["events"] == {"death": 6201}
    assert "support" in run("datasets").out


def test_one_is_described(run):
    out = run("datasets", "metabric").out
    assert "1,904 rows" in out
    assert "Licence" in out


def test_written_table_is_the_data_set(run, tmp_path):
    path = tmp_path / "support.csv"
    assert run("datasets", "support", "-o", path).code == 0
    frame, data = pd.read_csv(path, keep_default_na=False, na_values=[""]), datasets.load_support()
    assert list(frame) == [*data.X.columns, "event", "time"]
    assert (frame["time"] == data.y["time"]).all()
    assert (frame["event"] == data.y["event"]).all()
    assert frame["alb"].isna().sum() == 3372


def test_refused(refused, tmp_path):
    assert "no data set 'suport'" in refused("datasets", "suport")
    assert "name the data set" in refused("datasets", "-o", tmp_path / "x.csv")
    assert "must end in" in refused("datasets", "support", "-o", tmp_path / "x.json")


def test_the_next_command_names_columns_whose_numbers_are_labels(run, tmp_path):
    path = tmp_path / "causes.csv"
    said = run("datasets", "metabric-causes", "-o", path).out.splitlines()[-1]
    assert "--unit months" in said
    assert "--categorical INTCLUST" in said
    command = said.removeprefix("Next: lifemix ").replace(
        "model.safetensors", str(tmp_path / "m.safetensors")
    )
    outcome = run(
        *command.split(), "--no-search", "--epochs", "1", "--members", "1", "--holdout", "0"
    )
    assert outcome.code == 0, outcome.err
