"""Tables that cannot be used get one clear message, exit code 2, and leave no file behind."""

import gzip

import pandas as pd
import pytest

from commands import COLUMNS, QUICK
from lifemix import load

GOOD = "age,days,died\n" + "\n".join(f"{50 + i % 17}.5,{i + 1},{i % 2}" for i in range(60)) + "\n"


def damaged(old, new):
    return GOOD.replace(old, new, 1)


CASES = {
    "empty": (b"", "is empty"),
    "blank lines only": (b"\n\n", "is empty"),
    "header only": (b"age,days,died\n", "no rows"),
    "not UTF-8": (GOOD.replace("age", "âge").encode("latin-1"), "--encoding"),
    "UTF-16": (GOOD.encode("utf-16"), "or utf-16"),
    "a spreadsheet": (b"PK\x03\x04\x14\x00\x06\x00\xff\xfe\xd0", "correct its suffix"),
    "ragged, too long": (
        damaged("50.5,1,0", "50.5,1,0,9").encode(),
        "more values in its rows than column names",
    ),
    "ragged, too long later": (
        damaged("51.5,2,1", "51.5,2,1,9").encode(),
        "Expected 3 fields in line 3, saw 4",
    ),
    "ragged, too short": (
        damaged("51.5,2,1", "51.5,2").encode(),
        "1 of 60 rows have no time or no event",
    ),
    "row names of R": (
        GOOD.replace("\n5", "\nx,5").replace("\n6", "\nx,6").encode(),
        "row.names = FALSE",
    ),
    "open quote": (damaged("50.5", '"50.5').encode(), "EOF inside string"),
    "same name twice": (
        damaged("age,days", "days,days").encode(),
        "columns have the same name: 'days'",
    ),
    "no name": (damaged("age,days,died", "age,,died").encode(), "1 columns have no name"),
    "one column": (b"died\n" + b"1\n0\n" * 30, "1 column (died)"),
    "other delimiter": (GOOD.replace(",", "#").encode(), "a tab or blanks between its columns"),
    "no such column": (damaged("days", "Day").encode(), "Did you mean 'Day'?"),
    "text in the time": (
        damaged("51.5,2,", "51.5,two,").encode(),
        "must hold numbers; got 'two' in data row 2",
    ),
    "negative time": (damaged(",3,", ",-3,").encode(), "has -3"),
    "infinite time": (damaged(",3,", ",inf,").encode(), "must be finite"),
    "no time": (damaged("51.5,2,", "51.5,,").encode(), "--skip-incomplete"),
    "no event": (damaged("50.5,1,0", "50.5,1,").encode(), "1 of 60 rows have no time or no event"),
    "ten rows": ("\n".join(GOOD.split("\n")[:11]).encode(), "10 rows with 5 events are too few"),
    "two events": (GOOD.replace(",1\n", ",0\n", 28).encode(), "too few events"),
    "all censored": (GOOD.replace(",1\n", ",0\n").encode(), "0 events are too few"),
    "constant covariate": (b"age,days,died\n" + b"5,1,0\n5,2,1\n" * 30, "no column is left"),
    "empty covariate": (b"age,days,died\n" + b",1,0\n,2,1\n" * 30, "no column is left"),
    "infinite covariate": (damaged("50.5", "inf").encode(), "infinity"),
    "numbers and text": (damaged("50.5", "<50").encode(), "--missing '<50'"),
    "dates": (b"start,days,died\n" + b"2020-01-05,1,0\n2021-03-04,2,1\n" * 30, "--drop start"),
    "events of 1 and 2": (
        GOOD.replace(",1\n", ",2\n").replace(",0\n", ",1\n").encode(),
        "--censored 1",
    ),
    "fractions for events": (GOOD.replace(",1\n", ",0.5\n").encode(), "has fractions"),
    "unclear words": (
        GOOD.replace(",1\n", ",a\n").replace(",0\n", ",b\n").encode(),
        "--censored 'a'",
    ),
    "times for events": (
        GOOD.replace("days,died", "died,days").encode(),
        "Is --event the right column?",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_malformed_table(case, tmp_path, refused):
    content, expected = CASES[case]
    path, output = tmp_path / "data.csv", tmp_path / "model.safetensors"
    path.write_bytes(content)
    message = refused("fit", path, "--time", "days", "--event", "died", *QUICK, "-o", output)
    assert expected in message
    assert list(tmp_path.iterdir()) == [path]


def test_what_the_cases_damage_is_good(tmp_path, run):
    path = tmp_path / "data.csv"
    path.write_text(GOOD)
    output = tmp_path / "m.safetensors"
    assert run("fit", path, "--time", "days", "--event", "died", *QUICK, "-o", output).code == 0
    assert sorted(tmp_path.iterdir()) == [path, output]


FILES = {
    "missing": (None, "there is no file"),
    "sheet.xlsx": (b"PK", "cannot be read"),
    "data.rds": (b"\x1f\x8b", "Save the table as CSV"),
    "data.doc": (GOOD.encode(), "a suffix that no reader takes"),
    "data.sav": (GOOD.encode(), "cannot be read"),
    "data.dta": (GOOD.encode(), "cannot be read"),
    "data.feather": (GOOD.encode(), "cannot be read"),
    "data.jsonl": (GOOD.encode(), "cannot be read"),
    "nested.json": (b'[{"a": [1], "days": 1, "died": 1}]', "holds lists or objects"),
    "data.zip": (b"PK\x03\x04", "cannot be read"),
    "data.parquet": (GOOD.encode(), "cannot be read"),
    "data.csv.gz": (GOOD.encode(), "cannot be read"),
    "cut.csv.gz": (gzip.compress(GOOD.encode())[:40], "cannot be read"),
}


@pytest.mark.parametrize("name", FILES)
def test_unreadable_file(name, tmp_path, refused):
    content, expected = FILES[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    message = refused(
        "fit",
        tmp_path / name,
        "--time",
        "days",
        "--event",
        "died",
        "-o",
        tmp_path / "m.safetensors",
    )
    assert expected in message


def test_parquet_with_dates_and_without_rows(tmp_path, frame, refused):
    pytest.importorskip("pyarrow")
    path = tmp_path / "data.parquet"
    frame.assign(start=pd.Timestamp("2020-01-01")).to_parquet(path)
    assert "column 'start' holds dates" in refused(
        "fit", path, *COLUMNS, "-o", tmp_path / "m.safetensors"
    )
    frame.head(0).to_parquet(path)
    assert "has no rows" in refused("fit", path, *COLUMNS, "-o", tmp_path / "m.safetensors")


def test_all_unusable_columns_are_named_at_once(tmp_path, frame, write, refused):
    path = write(frame.assign(seen="2020-02-03", size=["?", *map(str, range(1, 200))]))
    message = refused("fit", path, *COLUMNS, *QUICK, "-o", tmp_path / "m.safetensors")
    assert "--drop seen --drop size" in message
    assert "--missing '?'" in message


def test_other_ways_to_write_a_table_are_read(tmp_path, frame, write, run):
    table = frame.assign(town="Zürich").drop(columns="patient")
    files = {
        "semicolon.csv": {"sep": ";", "decimal": ","},
        "tab.tsv": {"sep": "\t"},
        "windows.csv": {"encoding": "cp1252"},
        "bom.csv": {"encoding": "utf-8-sig"},
        "packed.csv.gz": {},
    }
    options = {"semicolon.csv": ["--decimal", ","], "windows.csv": ["--encoding", "cp1252"]}
    texts, output = set(), tmp_path / "m.safetensors"
    for name, how in files.items():
        path = write(table, name, **how)
        outcome = run(
            "fit",
            path,
            *COLUMNS[:4],
            *QUICK,
            *options.get(name, []),
            "--holdout",
            "0",
            "-o",
            output,
            "--json",
        )
        assert outcome.code == 0, outcome.err
        texts.add(str(outcome.json["columns"]) + str(load(output).history_))
    assert len(texts) == 1
