"""Tables of every format are read as the DataFrame that was written."""

import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import COLUMNS, QUICK
from lifemix import load
from lifemix.cli.read_table import looks_like_numbers, read_table
from lifemix.cli.table_options import TableOptions
from lifemix.errors import InputError, MissingExtraError

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
EXPECTED = FRAME.fillna({"town": ""})
WRITERS = {
    **{
        f"data.{kind}": lambda path, sep=sep: FRAME.to_csv(path, sep=sep, index=False)
        for kind, sep in (("csv", ","), ("txt", ";"), ("dat", "|"), ("tsv", "\t"))
    },
    **{
        f"data.csv.{kind}": lambda path: FRAME.to_csv(path, index=False)
        for kind in ("gz", "zip", "bz2", "xz")
    },
    "data.zip": lambda path: FRAME.to_csv(path, index=False),
    "data.parquet": FRAME.to_parquet,
    "data.feather": FRAME.to_feather,
    "data.xlsx": lambda path: FRAME.to_excel(path, index=False),
    "data.json": lambda path: FRAME.to_json(path, orient="records", double_precision=15),
    "data.jsonl": lambda path: FRAME.to_json(
        path, orient="records", lines=True, double_precision=15
    ),
    "data.jsonl.gz": lambda path: FRAME.to_json(
        path, orient="records", lines=True, double_precision=15
    ),
    "data.dta": lambda path: FRAME.to_stata(path, write_index=False, version=118),
    "data.sav": lambda path: pyreadstat.write_sav(FRAME, str(path)),
    "data.xpt": lambda path: pyreadstat.write_xport(FRAME, str(path)),
}


def read(path, **options):
    return read_table(path, TableOptions(**options)).frame


def written(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_written_table(name, tmp_path):
    path = tmp_path / name
    WRITERS[name](path)
    frame = read(path)
    tolerance = 1e-14 if ".json" in name or ".xpt" in name else 0
    pd.testing.assert_frame_equal(
        frame.astype(FRAME.dtypes).fillna({"town": ""}), EXPECTED, rtol=tolerance, atol=0
    )


@pytest.mark.parametrize(
    "name", sorted(path.name for path in MADE_BY_R.iterdir() if path.suffix != ".R")
)
def test_files_of_r_give_the_same_table(name):
    expected = pd.read_csv(MADE_BY_R / "r.csv", index_col=0)
    frame = read(MADE_BY_R / name, decimal="," if name == "r_csv2.csv" else None).rename(
        columns=str.lower
    )
    for column in expected:
        if expected[column].dtype.kind == "f":
            np.testing.assert_allclose(frame[column].astype(float), expected[column], rtol=1e-6)
        else:
            assert frame[column].tolist() == expected[column].tolist(), column


def test_the_header_decides_the_delimiter(tmp_path):
    path = written(tmp_path / "x.csv", '"last, first";a;b\n1,5;2,5;3\n2,5;1,25;4\n')
    frame = read(path, decimal=",")
    assert list(frame.columns) == ["last, first", "a", "b"]
    assert frame["a"].tolist() == [2.5, 1.25]
    assert read(written(tmp_path / "y.txt", "a b\n1 2\n3  4\n")).to_dict("list") == {
        "a": [1, 3],
        "b": [2, 4],
    }


def test_decimal_and_thousands_are_options(tmp_path):
    path = written(tmp_path / "x.csv", "a;b\n1.234,5;7\n15,7;8\n")
    assert read(path, decimal=",", thousands=".")["a"].tolist() == [1234.5, 15.7]
    assert read(path)["a"].tolist() == ["1.234,5", "15,7"]
    with pytest.raises(InputError, match="--decimal must be one of"):
        read(path, decimal="comma")
    with pytest.raises(InputError, match="two different marks"):
        read(path, thousands=".")


def test_missing_marks_and_identifiers(tmp_path):
    path = written(tmp_path / "x.csv", "id,a\n007,?\n08,2\n")
    frame = read(path, id="id", missing=("?",))
    assert frame["id"].tolist() == ["007", "08"]
    np.testing.assert_array_equal(frame["a"], [np.nan, 2])
    frame = pd.DataFrame({"a": [-9.0, 2.0], "b": ["", "-9"]})
    frame.to_parquet(tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet", missing=("-9",)).isna().to_numpy().tolist() == [
        [True, True],
        [False, True],
    ]


def test_the_standard_input_is_csv(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a;b\n1;2\n")))
    assert read(Path("-")).to_dict("list") == {"a": [1], "b": [2]}


def test_predict_reads_the_standard_input(data, model, run):
    from typer.testing import CliRunner

    from lifemix.cli import app

    result = CliRunner().invoke(
        app, ["predict", str(model), "-", "--json"], input=data.read_bytes()
    )
    assert result.exit_code == 0, result.stderr
    assert result.stdout == run("predict", model, data, "--json").out


def test_labels_replace_codes_only_if_every_value_has_one(tmp_path):
    frame = pd.DataFrame({"age": [50.0, 61, 99], "sex": [1.0, 2, 1]})
    labels = {"age": {99: "unknown"}, "sex": {1: "m", 2: "f"}}
    pyreadstat.write_sav(frame, str(tmp_path / "x.sav"), variable_value_labels=labels)
    pyreadstat.write_dta(frame, str(tmp_path / "x.dta"), variable_value_labels=labels)
    for name in ("x.sav", "x.dta"):
        assert read(tmp_path / name).to_dict("list") == {
            "age": [50, 61, 99],
            "sex": ["m", "f", "m"],
        }


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
    ("name", "package"), [("x.xlsx", "openpyxl"), ("x.sav", "pyreadstat"), ("x.feather", "pyarrow")]
)
def test_a_missing_reader_is_named_with_its_extra(name, package, tmp_path, monkeypatch):
    WRITERS[name.replace("x.", "data.")](tmp_path / name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingExtraError, match=rf"needs {package}.*pip install 'lifemix\[tables\]'"
    ):
        read(tmp_path / name)


def test_a_reader_outside_the_extras_is_named_too(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "odf", None)
    with pytest.raises(InputError, match="needs odfpy.*pip install odfpy"):
        read(written(tmp_path / "x.ods", "x"))


def test_a_long_cell_of_blanks_is_missing(tmp_path):
    """The former number parser needed minutes for this cell."""
    blanks = " " * 100_000
    assert read(written(tmp_path / "x.csv", f"a,b\n{blanks},1\n2,1\n"))["a"].isna().tolist() == [
        True,
        False,
    ]
    assert not looks_like_numbers(
        [blanks, "1" + blanks + "x", "1" * 100_000 + "x", "1,000" * 20_000 + "x"]
    ).any()


@pytest.mark.parametrize(
    "text", ["15,7", "1.234,5", "1,234.5", "1'234", "2 000", "-3", "1e5", "7.5 %", "€ 12"]
)
def test_what_looks_like_a_number(text):
    assert looks_like_numbers([text])[0]


@pytest.mark.parametrize(
    "text", ["", "abc", "1.2.3", "12-05-2020", "31.01.2020", "1,23,4", ".", "$", "5 kg", "--3"]
)
def test_what_does_not_look_like_a_number(text):
    assert not looks_like_numbers([text])[0]


def test_numbers_as_text_are_never_categories(refused, run, write, frame, tmp_path):
    path, output = write(frame.round(1), sep=";", decimal=","), tmp_path / "m.safetensors"
    plain = write(frame.round(1), "plain.csv")
    assert "--decimal ," in refused("fit", path, *COLUMNS, *QUICK, "-o", output)
    age = frame.round(1).assign(age=frame["age"].map("{:.1f}".format).str.replace(".", ","))
    message = refused("fit", write(age, "age.csv", sep=";"), *COLUMNS, *QUICK, "-o", output)
    assert "column 'age' holds numbers as text" in message
    assert "--decimal ," in message
    assert (
        run("fit", path, *COLUMNS, *QUICK, "--decimal", ",", "--holdout", "0", "-o", output).code
        == 0
    )
    assert "age" in load(output).feature_names_in_
    message = refused("predict", output, path)
    assert "column 'age' held numbers in training" in message
    assert "--decimal ," in message
    predicted = run("predict", output, path, "--decimal", ",", "--times", "100", "--json")
    assert predicted.json == run("predict", output, plain, "--times", "100", "--json").json


def test_numbers_with_texts_among_them_are_refused(refused, write, frame, tmp_path):
    table = frame.assign(
        age=[f"{50 + i % 9},{i % 10}" if i % 10 else "unknown" for i in range(200)]
    )
    message = refused(
        "fit", write(table, sep=";"), *COLUMNS, *QUICK, "-o", tmp_path / "m.safetensors"
    )
    assert "--missing 'unknown'" in message
