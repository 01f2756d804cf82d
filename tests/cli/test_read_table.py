"""Tables of every format are read as they were written; damaged ones are refused with one message."""

import gzip
import io
import sys
import tracemalloc
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lifemix.cli.options import RowOptions
from lifemix.cli.read_table import read_table
from lifemix.errors import InputError

pytest.importorskip("pyarrow")
pytest.importorskip("openpyxl")
pyreadstat = pytest.importorskip("pyreadstat")

MADE_BY_R = Path(__file__).parents[1] / "references" / "tables"
FRAME = pd.DataFrame(
    {
        "age": [61.25, 1 / 3, np.nan, 1e-7],
        "days": [10, 250, 3, 77],
        "status": ["alive", "dead", "dead", "alive"],
        "town": ["Zürich, old town", 'the "Rock"', None, "Bonn"],
    }
)
JSON = {"orient": "records", "double_precision": 15}
WRITERS = {
    "data.csv": FRAME.to_csv,
    "data.txt": partial(FRAME.to_csv, sep=";"),
    "data.dat": partial(FRAME.to_csv, sep="|"),
    "data.tsv": partial(FRAME.to_csv, sep="\t"),
    "data.csv.gz": FRAME.to_csv,
    "data.csv.zip": FRAME.to_csv,
    "data.csv.bz2": FRAME.to_csv,
    "data.csv.xz": FRAME.to_csv,
    "data.zip": FRAME.to_csv,
    "data.parquet": FRAME.to_parquet,
    "data.feather": FRAME.to_feather,
    "data.xlsx": FRAME.to_excel,
    "data.json": partial(FRAME.to_json, orient="records", double_precision=15),
    "data.jsonl": partial(FRAME.to_json, orient="records", double_precision=15, lines=True),
    "data.jsonl.gz": partial(FRAME.to_json, orient="records", double_precision=15, lines=True),
    "data.dta": partial(FRAME.to_stata, version=118),
    "data.sav": partial(pyreadstat.write_sav, FRAME),
    "data.xpt": partial(pyreadstat.write_xport, FRAME),
}


def write_frame(path):
    """Write the frame without its index."""
    suffix, options = path.name.split(".")[1], {"index": False}
    if suffix in ("sav", "xpt", "json", "jsonl", "parquet", "feather"):
        options = {}
    elif suffix == "dta":
        options = {"write_index": False}
    WRITERS[path.name](str(path), **options)


def read(path, text=None, **options):
    if text is not None:
        path.write_text(text)
    return read_table(path, RowOptions(**options))


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_written_table(name, tmp_path):
    write_frame(tmp_path / name)
    frame = read(tmp_path / name).astype(FRAME.dtypes).fillna({"town": ""})
    tolerance = 1e-14 if ".json" in name or ".xpt" in name else 0
    expected = FRAME.fillna({"town": ""})
    pd.testing.assert_frame_equal(frame, expected, rtol=tolerance, atol=0)


@pytest.mark.parametrize(
    "name", sorted(path.name for path in MADE_BY_R.iterdir() if path.suffix != ".R")
)
def test_files_of_r_give_the_same_table(name):
    expected = pd.read_csv(MADE_BY_R / "r.csv", index_col=0)
    frame = read(MADE_BY_R / name, decimal="," if name == "r_csv2.csv" else None)
    frame = frame.rename(columns=str.lower)
    for column in expected:
        if expected[column].dtype.kind == "f":
            np.testing.assert_allclose(frame[column].astype(float), expected[column], rtol=1e-6)
        else:
            assert frame[column].tolist() == expected[column].tolist(), column


def test_the_header_decides_the_delimiter(tmp_path):
    text = '"last, first";a;b\n1,5;2,5;3\n2,5;1,25;4\n'
    frame = read(tmp_path / "x.csv", text, decimal=",")
    assert list(frame.columns) == ["last, first", "a", "b"]
    assert frame["a"].tolist() == [2.5, 1.25]
    frame = read(tmp_path / "y.txt", "a b\n1 2\n3  4\n")
    assert frame.to_dict("list") == {"a": [1, 3], "b": [2, 4]}


def test_decimal_and_thousands_are_options(tmp_path):
    path, text = tmp_path / "x.csv", "a;b\n1.234,5;7\n15,7;8\n"
    assert read(path, text, decimal=",", thousands=".")["a"].tolist() == [1234.5, 15.7]
    assert read(path)["a"].tolist() == ["1.234,5", "15,7"]
    with pytest.raises(InputError, match="two different marks"):
        read(path, thousands=".")
    with pytest.raises(InputError, match="cannot be read"):
        read(path, decimal="comma")


def test_missing_marks_and_identifiers(tmp_path):
    frame = read(tmp_path / "x.csv", "id,a\n007,?\n08,2\n", id="id", missing=["?"])
    assert frame["id"].tolist() == ["007", "08"]
    np.testing.assert_array_equal(frame["a"], [np.nan, 2])
    path = tmp_path / "x.parquet"
    pd.DataFrame({"a": [-9.0, 2.0], "b": ["", "-9"]}).to_parquet(path)
    expected = [[True, True], [False, True]]
    assert read(path, missing=["-9"]).isna().to_numpy().tolist() == expected
    blanks = " " * 100_000
    frame = read(tmp_path / "blank.csv", f"a,b\n{blanks},1\n2,1\n")
    assert frame["a"].isna().tolist() == [True, False]


def test_the_standard_input_is_csv(monkeypatch, run):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a;b\n1;2\n")))
    assert read(Path("-")).to_dict("list") == {"a": [1], "b": [2]}
    predict = "predict model.safetensors --json"
    piped = run(f"{predict} -", input=Path("patients.csv").read_bytes())
    assert piped.out == run(f"{predict} patients.csv").out


def test_labels_replace_codes_only_if_every_value_has_one(tmp_path):
    frame = pd.DataFrame({"age": [50.0, 61, 99], "sex": [1.0, 2, 1]})
    labels = {"age": {99: "unknown"}, "sex": {1: "m", 2: "f"}}
    for suffix, writer in ((".sav", pyreadstat.write_sav), (".dta", pyreadstat.write_dta)):
        path = tmp_path / f"x{suffix}"
        writer(frame, str(path), variable_value_labels=labels)
        assert read(path).to_dict("list") == {"age": [50, 61, 99], "sex": ["m", "f", "m"]}


def test_a_sheet_is_an_option(tmp_path):
    path = tmp_path / "x.xlsx"
    with pd.ExcelWriter(path) as book:
        pd.DataFrame({"note": ["none"]}).to_excel(book, sheet_name="Notes", index=False)
        FRAME.to_excel(book, sheet_name="Patients", index=False)
    assert list(read(path).columns) == ["note"]
    assert list(read(path, sheet="Patients").columns) == list(FRAME.columns)
    with pytest.raises(InputError, match="Worksheet named 'x' not found"):
        read(path, sheet="x")


@pytest.mark.parametrize(
    ("suffix", "package"),
    [("xlsx", "openpyxl"), ("sav", "pyreadstat"), ("feather", "pyarrow")],
)
def test_a_missing_package_is_named_with_its_extra(suffix, package, folder, monkeypatch, refused):
    write_frame(folder / f"data.{suffix}")
    monkeypatch.setitem(sys.modules, package, None)
    message = refused(f"predict model.safetensors data.{suffix}")
    assert package in message
    assert "pip install 'lifemix[tables]'" in message


GOOD = "age,days,died\n" + "\n".join(f"{50 + i % 17}.5,{i + 1},{i % 2}" for i in range(60)) + "\n"
PACKED = gzip.compress(GOOD.encode())
with io.BytesIO() as buffer:
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.csv", GOOD)
    ZIPPED = buffer.getvalue()


def flip_middle_byte(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]


DAMAGED = {
    "missing.csv": (None, "cannot be read: [Errno 2]"),
    "empty.csv": ("", "cannot be read: No columns"),
    "blank.csv": ("\n\n", "cannot be read: No columns"),
    "header.csv": ("age,days,died\n", "no rows"),
    "latin.csv": (GOOD.replace("age", "âge").encode("latin-1"), "--encoding"),
    "utf16.csv": (GOOD.encode("utf-16"), "or utf-16"),
    "sheet.csv": (b"PK\x03\x04\x14\x00\x06\x00\xff\xfe\xd0", "correct its suffix"),
    "long.csv": (GOOD.replace(",1,0", ",1,0,9", 1), "more values in its rows than column names"),
    "later.csv": (GOOD.replace(",2,1", ",2,1,9", 1), "Expected 3 fields in line 3, saw 4"),
    "r.csv": (GOOD.replace("\n5", "\nx,5").replace("\n6", "\nx,6"), "row.names = FALSE"),
    "quote.csv": (GOOD.replace("50.5", '"50.5', 1), "EOF inside string"),
    "same.csv": (GOOD.replace("age,days", "days,days"), "have the same name: 'days'"),
    "data.rds": (b"\x1f\x8b", "Save the table as CSV"),
    "data.doc": (GOOD, "has an unknown suffix"),
    "nested.json": ('[{"a": [1], "days": 1, "died": 1}]', "must hold numbers, booleans or labels"),
    "bit.csv.gz": (flip_middle_byte(PACKED), "bit.csv.gz cannot be read"),
    "bit.csv.zip": (flip_middle_byte(ZIPPED), "bit.csv.zip cannot be read"),
    "cut.csv.gz": (PACKED[:40], "cannot be read"),
}
UNREADABLE = "data.jsonl data.sav data.dta data.feather data.parquet data.xlsx data.zip data.csv.gz"
DAMAGED |= dict.fromkeys(UNREADABLE.split(), (GOOD, "cannot be read"))


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_gives_one_message(name, new_files, refused):
    content, expected = DAMAGED[name]
    if content is not None:
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    assert expected in refused(f"fit {name} --time days --event died -o m.safetensors")
    assert "m.safetensors" not in new_files()


def test_a_folder_needs_the_option(refused):
    assert "add --from-disk" in refused("fit . --time days --event died -o m.safetensors")


def write_zeros(path):
    """Write 3 MB of text, compressed to a few kB."""
    text = "age,days\n" + "0,1\n" * 750_000
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("xl/worksheets/sheet1.xml", text)
    else:
        pd.read_csv(io.StringIO(text)).to_csv(path, index=False)


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zip", "t.csv.bz2", "t.csv.xz", "t.xlsx"])
def test_an_archive_that_unpacks_to_more_than_the_limit_is_refused(name, tmp_path, refused):
    write_zeros(tmp_path / name)
    with pytest.raises(InputError, match=rf"{name} unpacks to more than 2 MB.*--max-unpacked"):
        read(tmp_path / name, max_unpacked=2)
    if name == "t.csv.gz":
        assert len(read(tmp_path / name, max_unpacked=4)) == 750_000
        command = f"doctor {name} --time days --event age --max-unpacked 1"
        assert "t.csv.gz unpacks to more than 1 MB" in refused(command)


def test_unpacking_stops_at_the_limit(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(bytes(10**8)) * 3)
    tracemalloc.start()
    with pytest.raises(InputError, match="more than 10 MB"):
        read(path, max_unpacked=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6


def test_an_archive_holds_one_table(tmp_path):
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", "age\n1\n")
        archive.writestr("b.csv", "age\n1\n")
    with pytest.raises(InputError, match="two.zip must contain one table; got 2 files"):
        read(tmp_path / "two.zip")
