"""Records come back as they were written, or not at all: a line that was damaged in any way does not count."""

import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.line_files import LineFile
from lifemix.errors import InputError

RECORDS = [{"key": f"k{i}", "value": [i, 0.5, None], "text": 'ä"\n'} for i in range(4)]

SHORT = [{"key": "a", "value": 1.5, "text": ""}, {"key": "b", "value": 2, "text": ""}]


def known(record):
    if set(record) != {"key", "value", "text"}:
        raise ValueError("other names")
    return record


@pytest.fixture
def path(tmp_path):
    LineFile(tmp_path / "file.jsonl", known).append(RECORDS)
    return tmp_path / "file.jsonl"


@pytest.mark.parametrize("older", [True, False])
def test_every_single_bit_is_noticed(path, older):
    path.unlink()
    LineFile(path, known).append(SHORT)
    whole = path.read_bytes()
    written = [json.dumps(record) for record in SHORT]
    for place in range(8 * len(whole)):
        altered = bytearray(whole)
        altered[place // 8] ^= 1 << place % 8
        path.write_bytes(altered)
        found = [json.dumps(record) for record in LineFile(path, known, older).records]
        assert set(found) < set(written)
        assert len(found) == 1 or whole[place // 8] == 10  # both where the end of a line has gone


LINES = {
    "a list": b"[1]",
    "a number": b"7",
    "no text": b"\xff\xfe\x00",
    "deep": b"[" * 100_000,
    "deep objects": b'{"key":' * 20_000,
    "digits": b'{"key":' + b"9" * 5000 + b"}",
    "another object": b'{"other": 1}',
    "a line end of another system": b"\r",
    "a line between": b"\x0b\x1c",
    "a half": b'{"key": "k9", "value": [1',
}


@pytest.mark.parametrize("older", [True, False])
@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_any_line_between_is_left_out_and_goes_with_the_next_write(path, line, older):
    whole = path.read_bytes()
    first, rest = whole.split(b"\n", 1)
    path.write_bytes(first + b"\n" + line + b"\n" + rest)
    file = LineFile(path, known, older)
    assert file.records == RECORDS
    assert file.n_damaged == (1 if line.strip() else 0)
    file.append([])
    file.append([RECORDS[0]])
    again = LineFile(path, known, older)
    assert again.records == [*RECORDS, RECORDS[0]]
    assert again.n_damaged == 0


@given(cut=st.integers(1, 400))
def test_a_line_cut_off_by_a_kill_is_written_anew(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("cut") / "file.jsonl"
    LineFile(path, known).append(RECORDS)
    path.write_bytes(path.read_bytes()[:cut])
    file = LineFile(path, known)
    assert file.records == RECORDS[: len(file.records)]
    assert file.n_damaged == 0
    file.append(RECORDS[len(file.records) :])
    assert LineFile(path, known).records == RECORDS


def test_lines_without_a_checksum_count_where_older_ones_do(path):
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    assert LineFile(path, known, older=True).records == RECORDS
    assert LineFile(path, known).n_damaged == len(RECORDS)
    LineFile(path, known, older=True).append([RECORDS[0]])
    assert LineFile(path, known).records == [*RECORDS, RECORDS[0]]  # all have one now


def test_a_full_disk_leaves_what_was_there_and_the_next_write_succeeds(path, monkeypatch):
    before = path.read_bytes()
    file = LineFile(path, known)

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("experiments.line_files.os.fsync", full)
        for _ in range(2):
            with pytest.raises(
                InputError,
                match="cannot be written: .*No space left.*the next run goes on from there",
            ):
                file.append([RECORDS[0]])
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
    file.append([RECORDS[1]])
    assert LineFile(path, known).records == [*RECORDS, RECORDS[1]]


def test_numbers_come_back_exactly(tmp_path):
    values = np.random.default_rng(0).standard_normal(100).tolist()
    LineFile(tmp_path / "f", dict).append([{"values": values}])
    assert LineFile(tmp_path / "f", dict).records == [{"values": values}]
