"""``lifemix datasets``: the list, one of them, and one as a table that ``fit`` takes."""

import pandas as pd
import pytest

from lifemix import datasets


def test_the_list_has_every_data_set(run, run_json):
    facts = {data["name"]: data for data in run_json("datasets")}
    assert {"support", "metabric", "metabric-causes", "synthetic"} <= set(facts)
    assert facts["support"]["rows"] == 9105
    assert facts["support"]["events"] == {"death": 6201}
    assert "support" in run("datasets").out
    description = run("datasets metabric").out
    assert "1,904 rows" in description
    assert "Licence" in description


def test_the_written_table_is_the_data_set(run):
    run("datasets support -o support.csv")
    frame = pd.read_csv("support.csv", keep_default_na=False, na_values=[""])
    data = datasets.load_support()
    assert list(frame) == [*data.X.columns, "event", "time"]
    assert (frame["time"] == data.y["time"]).all()
    assert (frame["event"] == data.y["event"]).all()
    assert frame["alb"].isna().sum() == 3372


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("suport", "no data set 'suport'"),
        ("-o x.csv", "name the data set"),
        ("support -o x.json", "must end in"),
    ],
)
def test_refused_arguments(arguments, message, refused):
    assert message in refused(f"datasets {arguments}")


def test_the_next_command_names_columns_whose_numbers_are_labels(run):
    line = run("datasets metabric-causes -o causes2.csv").out.splitlines()[-1]
    assert "--unit months" in line
    assert "--categorical INTCLUST" in line
    run(
        f"{line.removeprefix('Next: lifemix ')} --fast --epochs 1 --holdout 0".replace("model", "m")
    )
