"""``lifemix datasets``: the list, one of them, and one as a table that ``fit`` takes."""

import pandas as pd

from lifemix import datasets


def test_the_list_has_every_data_set(run, run_json):
    facts = {data["name"]: data for data in run_json("datasets")}
    assert {"support", "metabric", "metabric-causes", "synthetic"} <= set(facts)
    assert facts["support"]["rows"] == 9105
    assert facts["support"]["events"] == {"death": 6201}
    assert "support" in run("datasets").out
    description = run("datasets", "metabric").out
    assert "1,904 rows" in description
    assert "Licence" in description


def test_the_written_table_is_the_data_set(run, tmp_path):
    path = tmp_path / "support.csv"
    run("datasets", "support", "-o", path)
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
    line = run("datasets", "metabric-causes", "-o", tmp_path / "causes.csv").out.splitlines()[-1]
    assert "--unit months" in line
    assert "--categorical INTCLUST" in line
    command = line.removeprefix("Next: lifemix ").replace("model.saf", f"{tmp_path}/m.saf").split()
    run(*command, "--fast", "--epochs", "1", "--holdout", "0")
