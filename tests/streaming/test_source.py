"""What a source reads, how its rows are divided, and what it refuses before anything is computed."""

import importlib
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from lifemix.errors import CovariateError, InputError, MissingExtraError, SettingError, TargetError
from lifemix.streaming import TableSource
from lifemix.streaming.hashing import unit_hash
from lifemix.streaming.pieces import ParquetPiece
from lifemix.streaming.scan import Shares
from lifemix.streaming.schedule import plan_windows

ROLES = {"time": "time", "event": "event", "weight": "weight", "subject": "patient"}


def joined(source):
    blocks = [block for _, block in source.raw_blocks()]
    return pd.concat([block.frame() for block in blocks], ignore_index=True), np.concatenate([b.row for b in blocks])


def test_shards_a_dataset_and_a_table_are_read_alike(table, folder):
    expected = table.drop(columns=list(ROLES.values()))
    for data in (folder, sorted(folder.iterdir()), ds.dataset(folder), pa.Table.from_pandas(table)):
        source = TableSource(data, **ROLES)
        assert source.columns == list(expected.columns)
        assert source.n_rows == len(table)
        X, row = joined(source)
        assert np.array_equal(row, np.arange(len(table)))
        numbers = ["a", "b", "c", "count", "flag"]
        assert np.array_equal(X[numbers].to_numpy(float), expected[numbers].to_numpy(float), equal_nan=True)
        assert X["site"].astype(object).fillna("?").tolist() == expected["site"].fillna("?").tolist()


def test_folders_tell_a_column(table, tmp_path):
    for year, rows in enumerate(np.array_split(np.arange(len(table)), 2), 2020):
        (tmp_path / f"year={year}").mkdir()
        table.iloc[rows].to_parquet(tmp_path / f"year={year}" / "part.parquet", index=False)
    X, _ = joined(TableSource(tmp_path, "time", "event", drop=["patient", "weight"]))
    assert X["year"].value_counts().to_dict() == {2020.0: 600, 2021.0: 600}


def test_pandas_row_names_are_no_column(table, tmp_path):
    table.iloc[[3, 1, 2]].to_parquet(tmp_path / "t.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "t.parquet").names
    assert TableSource(tmp_path / "t.parquet", **ROLES).columns == ["a", "b", "c", "count", "flag", "site"]


def test_labels_of_events_weights_and_incomplete_rows(table, tmp_path):
    words = table.assign(event=np.where(table["event"] == 1, "dead", "alive"))
    words.loc[5, "time"], words.loc[6, "event"], words.loc[7, "weight"] = np.nan, None, 0.0
    words.to_parquet(tmp_path / "t.parquet", index=False)
    options = ROLES | {"codes": {"alive": 0, "dead": 1}}
    with pytest.raises(TargetError, match=r"t.parquet, rows 1 to 1,200: event must be whole numbers"):
        list(TableSource(tmp_path, **options).blocks())
    (_, block), *_ = TableSource(tmp_path, **options, skip_incomplete=True).raw_blocks()
    assert block.row[:8].tolist() == [0, 1, 2, 3, 4, 8, 9, 10]
    assert np.array_equal(block.target.event, table["event"].drop([5, 6, 7]))
    assert block.skipped == 2
    with pytest.raises(TargetError, match=r"labels without a code: \['dead'\]"):
        list(TableSource(tmp_path, **ROLES | {"codes": {"alive": 0}}).blocks())


def test_a_split_keeps_subjects_together_and_every_row_once(table, folder):
    train, test = TableSource(folder, **ROLES).split(0.3, random_state=4)
    rows = [joined(part)[1] for part in (train, test)]
    assert sorted(np.concatenate(rows).tolist()) == list(range(len(table)))
    assert not set(table["patient"].iloc[rows[0]]) & set(table["patient"].iloc[rows[1]])
    assert 0.2 < len(rows[1]) / len(table) < 0.4
    assert test.n_rows == 360
    again = joined(test.split(0.5)[0])[1]
    assert set(again) < set(rows[1])


def test_the_scan_of_parts_is_the_scan_of_the_whole(folder):
    source = TableSource(folder, **ROLES)
    shares = Shares(0.2, 0.5, 3)
    whole, first, second = source.scan(shares, 100), source.scan(shares, 100, 0, 2), source.scan(shares, 100, 1, 2)
    held = np.concatenate([first.held_out_block().row, second.held_out_block().row])
    assert np.array_equal(held, whole.held_out_block().row)
    first.merge(second)
    assert first.rows == whole.rows == 1200
    assert first.piece_rows == whole.piece_rows
    assert np.array_equal(first.sampled().row, whole.sampled().row)
    assert first.statistics.numbers.mean == pytest.approx(whole.statistics.numbers.mean, rel=1e-13)


def test_hashes_are_uniform_and_unrelated():
    rows = np.arange(100_000)
    first, second = unit_hash(rows, 0), unit_hash(rows, 1)
    for values in (first, second):
        assert np.abs(np.bincount((values * 20).astype(int)) - 5000).max() < 5 * np.sqrt(5000)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.015
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) < 0.015


@pytest.fixture
def shards(table, tmp_path):
    for number in range(3):
        table.to_parquet(tmp_path / f"part-{number}.parquet", index=False)
    return tmp_path


def test_a_truncated_shard_is_named(shards):
    for name in ("part-0.parquet", "part-2.parquet"):
        path = shards / name
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(InputError, match=rf"{name} cannot be read: .*truncated or damaged"):
            TableSource(shards, **ROLES)
        path.write_bytes(content)


def test_a_shard_with_other_columns_is_named(table, shards):
    table.drop(columns="b").to_parquet(shards / "part-1.parquet", index=False)
    with pytest.raises(CovariateError, match=r"part-1.parquet lacks the column 'b'; it has a, c"):
        TableSource(shards, **ROLES)
    table.assign(b="x").to_parquet(shards / "part-1.parquet", index=False)
    with pytest.raises(CovariateError, match=r"part-1.parquet has string in the column 'b'; expected double"):
        TableSource(shards, **ROLES)
    table.assign(b=table["b"].astype("float32"), count=table["count"].astype("int8")).to_parquet(
        shards / "part-1.parquet"
    )
    assert TableSource(shards, **ROLES).n_rows == 3 * len(table)  # numbers of another width are numbers


def test_what_cannot_be_read_is_refused(table, folder, tmp_path, monkeypatch):
    with pytest.raises(CovariateError, match="lacks the column 'days'"):
        TableSource(folder, "days", "event")
    with pytest.raises(SettingError, match="time and event go together"):
        TableSource(folder, "time")
    with pytest.raises(InputError, match="there is no file or folder"):
        TableSource(folder / "nothing")
    with pytest.raises(InputError, match="has no table files"):
        TableSource(tmp_path)
    table.assign(day=pd.Timestamp("2020-01-01")).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(CovariateError, match=r"'day' must hold numbers, booleans or labels; got timestamp"):
        TableSource(tmp_path, **ROLES)
    (tmp_path / "u.csv").write_text("a,time,event\n1,2,1\n")
    with pytest.raises(InputError, match="must hold files of one format"):
        TableSource(tmp_path, **ROLES)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'lifemix\[tables\]'"):
        TableSource(tmp_path / "u.csv", "time", "event")
    importlib.invalidate_caches()


def test_lanes_that_meet_in_a_piece_decode_it_once_each(table, tmp_path, monkeypatch):
    opened = []
    original = ParquetPiece.batches

    def counted(self, columns):
        opened.append((self.name, self.group))
        return original(self, columns)

    monkeypatch.setattr(ParquetPiece, "batches", counted)
    table.to_parquet(tmp_path / "t.parquet", index=False)
    source = TableSource(tmp_path, **ROLES)
    rows, reader, read = [piece.rows for piece in source.pieces], source.reader(), []
    windows = plan_windows(rows, 2, 200, seed=0, epoch=0)
    for lanes in windows:
        read += [reader.read(part, lane).row for lane, parts in enumerate(lanes) for part in parts]
    assert len(windows) == 6
    assert sorted(np.concatenate(read).tolist()) == list(range(source.n_rows))
    assert (len(source.pieces), len(opened)) == (1, 2)
