"""Records on disk: what is read is what was written, also after a kill."""

import json
import math

import pytest

from experiments.records import (
    append_records,
    key_of,
    pack_records,
    provenance,
    read_lines,
    read_records,
    rounded,
)


def record(fold, **setting):
    identity = {"data": "support", "model": "dsm", "setting": setting, "censoring": 0.25}
    return identity | {"fold": fold, "seed": 0, "run": "full", "test": {"ctd": [[None, 0.5]]}}


def test_packed_and_appended_records_are_read_together_in_the_order_of_their_keys(tmp_path):
    path = tmp_path / "records.jsonl"
    append_records(path, [record(2), record(0)])
    pack_records(path, read_lines(path))
    assert not path.exists()
    append_records(path, [record(1)])
    assert list(read_records(tmp_path).values()) == [record(0), record(1), record(2)]


@pytest.mark.parametrize("n_bytes", [1, 30, 60])
def test_a_line_that_a_kill_cut_off_does_not_count_and_harms_no_other(tmp_path, n_bytes):
    path = tmp_path / "records.jsonl"
    append_records(path, [record(0), record(1)])
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:n_bytes])
    assert read_lines(path) == [record(0)]
    append_records(path, [record(1), record(2)])
    assert read_lines(path) == [record(0), record(1), record(2)]


def test_keys_differ_by_settings_whatever_the_order_of_their_options():
    assert key_of(record(0, a=1, b=[2])) == key_of(record(0, b=(2,), a=1))
    assert key_of(record(0)) != key_of(record(0, k=6))


def test_numbers_are_rounded_and_undefined_ones_are_null():
    assert list(map(rounded, (0.123456789, math.nan, math.inf))) == [0.123457, None, None]


def test_provenance_has_commit_machine_and_versions():
    origin = json.loads(json.dumps(provenance()))
    assert set(origin) == {"commit", "processor", "cores", "versions"}
    assert {"Python", "lifemix", "torch"} <= set(origin["versions"])
