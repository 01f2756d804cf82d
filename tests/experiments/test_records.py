"""Records survive a kill at any byte, and only what is missing is written."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.records import Record, RecordStore, rounded
from lifemix.errors import LifemixWarning


def record(fold=0, value=0.8, model="dsm", setting=None):
    return Record(
        "support",
        model,
        setting or {"k": 4, "hidden": [100]},
        0.25,
        fold,
        0,
        "full",
        {"ctd": [[value]]},
        {"ctd": [[0.7]]},
    )


def test_a_record_comes_back_as_it_was_written():
    one = record(value=math.nan)
    back = Record.from_json(json.loads(json.dumps(one.to_json(), allow_nan=False)))
    assert back.key == one.key
    assert math.isnan(back.test["ctd"][0][0])
    assert back.inner == one.inner


def test_key_does_not_depend_on_the_order_or_type_of_the_options():
    assert (
        record(setting={"k": 4, "hidden": (100,)}).key
        == record(setting={"hidden": [100], "k": 4}).key
    )


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_line_cut_off_by_a_kill_is_removed_and_written_anew(tmp_path, cut):
    store = RecordStore(tmp_path)
    store.add([record(0), record(1)])
    path = tmp_path / "records-dsm.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    again = RecordStore(tmp_path)
    assert [one.fold for one in again.records()] == [0]
    again.add([record(0), record(1)])
    assert path.read_bytes() == whole


def test_damaged_records_are_computed_anew_with_a_warning(tmp_path):
    RecordStore(tmp_path).add([record(0), record(1)])
    path = tmp_path / "records-dsm.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"0.8", b"0.9", 1) + b"[]\n")
    with pytest.warns(
        LifemixWarning, match="2 lines of .* are damaged; what they held is computed anew"
    ):
        again = RecordStore(tmp_path)
    assert [one.fold for one in again.records()] == [1]
    again.add([record(0)])
    assert [one.test for one in RecordStore(tmp_path).records()] == [{"ctd": [[0.8]]}] * 2


OLD = '{"data":"support","model":"dsm","setting":{"k":4},"censoring":0.0,"fold":0,"seed":0,"run":"full","test":{}}'


def test_records_of_older_versions_without_a_checksum_are_read(tmp_path):
    (tmp_path / "records-dsm.jsonl").write_text(OLD + "\n")
    assert len(RecordStore(tmp_path)) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"fold":0', '"fold":"0"'),
        ('"test":{}', '"test":[]'),
        ('"k":4', '"k":NaN'),
        ('"run":"full"', '"walk":"full"'),
    ],
)
def test_an_older_record_with_values_that_none_has_is_left_out(tmp_path, old, new):
    assert old in OLD
    (tmp_path / "records-dsm.jsonl").write_text(OLD.replace(old, new) + "\n")
    if "NaN" in new:
        assert (
            RecordStore(tmp_path).records()[0].key[2] == '{"k": null}'
        )  # another record, that nobody asks for
        return
    with pytest.warns(LifemixWarning, match="damaged"):
        assert len(RecordStore(tmp_path)) == 0


def test_known_records_are_not_written_again(tmp_path):
    store = RecordStore(tmp_path)
    store.add([record(0)])
    store.add([record(0, value=0.1)])
    assert len((tmp_path / "records-dsm.jsonl").read_text().splitlines()) == 1
    assert RecordStore(tmp_path).records()[0].test == {"ctd": [[0.8]]}


def test_each_model_has_a_file_of_its_own(tmp_path):
    RecordStore(tmp_path).add([record(model="cph"), record(model="rsf")])
    assert {path.name for path in tmp_path.iterdir()} == {"records-cph.jsonl", "records-rsf.jsonl"}


@given(st.floats(1e-6, 1e6))
def test_rounding_keeps_six_digits(value):
    assert rounded(value) == pytest.approx(value, rel=1e-5)
