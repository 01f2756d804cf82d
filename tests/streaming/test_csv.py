"""CSV files are cut at ends of lines outside of quotes, and every range has the same types."""

import numpy as np
import pandas as pd
import pytest

from lifemix.errors import CovariateError, InputError
from lifemix.streaming import TableSource, csv_ranges
from lifemix.streaming.csv_ranges import csv_head
from lifemix.streaming.csv_ranges import csv_ranges as ranges_of


@pytest.fixture
def small_ranges(monkeypatch):
    monkeypatch.setattr(csv_ranges, "RANGE", 4000)


@pytest.mark.parametrize("size", [7, 40, 1000])
@pytest.mark.parametrize("end", ["\n", ""])
def test_ranges_are_whole_lines(tmp_path, size, end):
    path = tmp_path / "t.csv"
    body = 'one,"two\nlines",3\n"a ""quoted"" word",x,4\n\nlast,"\n\n",5' + end
    path.write_text("p,q,r\n" + body)
    head = csv_head(path, None)
    content = path.read_bytes()
    parts = [content[part.start : part.stop] for part in ranges_of(path, head.end, size)]
    assert b"".join(parts) == content[head.end :]
    assert all(part.count(b'"') % 2 == 0 for part in parts)
    assert all(part.endswith(b"\n") for part in parts[:-1])


def test_quotes_that_do_not_end_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,time,event\n1,2,0\n"3,4,1\n')
    with pytest.raises(InputError, match=r"t.csv ends inside quotes"):
        TableSource(path, "time", "event")


def test_the_blocks_are_the_table(table, tmp_path, small_ranges):
    texts = table.assign(note=["odd, and\nlong" if i % 50 == 0 else "plain" for i in range(len(table))])
    texts.to_csv(tmp_path / "t.csv", index=False)
    source = TableSource(tmp_path / "t.csv", "time", "event", weight="weight", subject="patient")
    assert len(source.pieces) > 20
    blocks = list(source.blocks())
    X = pd.concat([X.astype({"site": object, "note": object}) for X, _ in blocks], ignore_index=True)
    expected = texts.drop(columns=["time", "event", "weight", "patient"])
    numbers = ["a", "b", "c", "count", "flag"]
    assert np.array_equal(X[numbers].to_numpy(float), expected[numbers].to_numpy(float), equal_nan=True)
    assert X["site"].fillna("?").tolist() == expected["site"].fillna("?").tolist()
    assert X["note"].tolist() == expected["note"].tolist()
    assert np.array_equal(np.concatenate([y.time for _, y in blocks]), texts["time"])


def test_text_far_down_in_a_column_of_numbers_names_the_file(tmp_path, small_ranges):
    frame = pd.DataFrame({"a": np.arange(4000.0), "time": 1.0, "event": 1}).astype({"a": object})
    frame.loc[1500, "a"] = "unknown"
    frame.to_csv(tmp_path / "t.csv", index=False)
    source = TableSource(tmp_path / "t.csv", "time", "event")
    with pytest.raises(CovariateError, match=r"t.csv has rows that do not fit .*unknown"):
        list(source.blocks())
    marked = TableSource(tmp_path / "t.csv", "time", "event", missing=["unknown"])
    assert sum(int(X["a"].isna().sum()) for X, _ in marked.blocks()) == 1
