"""Tables as people have them, made by the real writers, go through fit, predict and report unaided."""

import gzip
import io
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from commands import QUICK
from lifemix import load
from lifemix.cli.table_files import read_table
from lifemix.cli.table_options import TableOptions
from lifemix.errors import InputError, MissingExtraError

pytest.importorskip("pyarrow")
pytest.importorskip("openpyxl")
pyreadstat = pytest.importorskip("pyreadstat")

MADE_BY_R = Path(__file__).parents[1] / "references" / "tables"
COLUMNS = ["--time", "days", "--event", "status"]


@pytest.fixture(scope="module")
def plain():
    return pd.read_csv(MADE_BY_R / "r.csv", index_col=0)


def excel(frame, path):
    with pd.ExcelWriter(path, engine="openpyxl") as book:
        frame.to_excel(book, sheet_name="Patients", index=False)
        pd.DataFrame({"notes": ["nothing"]}).to_excel(book, sheet_name="Notes", index=False)


def arrow_stream(frame, path):
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table)


def labelled(write):
    """Write codes with value labels, as SPSS and Stata users have them."""

    def to_file(frame, path):
        codes = frame.assign(
            stage=frame["stage"].map({"I": 1.0, "II": 2.0, "III": 3.0}),
            status=frame["status"].map({"alive": 0.0, "dead": 1.0}),
        )
        names = {"stage": {1: "I", 2: "II", 3: "III"}, "status": {0: "alive", 1: "dead"}}
        write(codes, str(path), variable_value_labels=names)

    return to_file


def zipped(frame, path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("export/patients.csv", frame.to_csv(index=False))
        archive.writestr("__MACOSX/export/._patients.csv", "")
        archive.writestr("read me.md", "A table.")


def gzipped_lines(frame, path):
    path.write_bytes(gzip.compress(frame.to_json(orient="records", lines=True).encode()))


WRITERS = {
    "data.xlsx": excel,
    "data.parquet": lambda frame, path: frame.to_parquet(path),
    "data.feather": lambda frame, path: frame.to_feather(path),
    "data.arrow": arrow_stream,
    "data.dta": labelled(pyreadstat.write_dta),
    "data.sav": labelled(pyreadstat.write_sav),
    "data.por": lambda frame, path: pyreadstat.write_por(frame, str(path)),
    "data.xpt": lambda frame, path: pyreadstat.write_xport(frame, str(path)),
    "data.jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
    "data.json": lambda frame, path: frame.to_json(path, orient="records"),
    "data.jsonl.gz": gzipped_lines,
    "data.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "data.zip": zipped,
    "data.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
}
R_FILES = sorted(path.name for path in MADE_BY_R.iterdir() if path.suffix != ".R")


def write(name, plain, folder):
    if name in R_FILES:
        return MADE_BY_R / name
    WRITERS[name](plain, folder / name)
    return folder / name


def lower(frame):
    return frame.rename(columns=str.lower)


@pytest.mark.parametrize("name", [*WRITERS, *R_FILES])
def test_every_writer_gives_the_same_table(name, plain, tmp_path):
    frame = lower(read_table(write(name, plain, tmp_path), TableOptions()).frame)
    for column in plain.columns:
        if plain[column].dtype.kind == "f":
            tolerance = 1e-6 if column in ("age", "dose", "days") else 0
            pd.testing.assert_series_equal(
                frame[column].astype(float), plain[column], rtol=tolerance, check_index=False
            )
        else:
            assert frame[column].tolist() == plain[column].tolist(), column


UNAIDED = (
    *("data.xlsx", "data.parquet", "data.feather", "data.arrow", "data.por", "data.jsonl", "data.zip"),
    *("haven.dta", "haven.sav", "haven.sas7bdat", "haven.xpt", "r_csv2.csv"),
)


@pytest.fixture
def few_pictures(name, monkeypatch):
    """Draw the pictures of one report: those of the others would be the same."""
    if name != UNAIDED[0]:
        monkeypatch.setattr("lifemix._html.figures._address", lambda drawing, kind: f"data:{kind},")


@pytest.mark.usefixtures("few_pictures")
@pytest.mark.parametrize("name", UNAIDED)
def test_fit_predict_and_report_take_the_file_unaided(name, plain, tmp_path, run):
    path, model, page = write(name, plain, tmp_path), tmp_path / "m.safetensors", tmp_path / "page.html"
    columns = [each.upper() if path.suffix == ".por" and not each.startswith("-") else each for each in COLUMNS]
    fitted = run("fit", path, *columns, *QUICK, "--holdout", "0", "-o", model)
    assert fitted.code == 0, fitted.err
    assert [str(each).lower() for each in load(model).feature_names_in_] == ["age", "dose", "stage"]
    predicted = run("predict", model, path, "--times", "100", "--json")
    assert predicted.code == 0, predicted.err
    assert len(predicted.json) == 80
    assert all(0 < row["survival_100"] < 1 for row in predicted.json)
    reported = run("report", model, path, "-o", page)
    assert reported.code == 0, reported.err
    assert page.stat().st_size > 10_000


@pytest.mark.parametrize("name", ["data.csv.gz", "data.xlsx", "data.parquet", "data.sav", "data.zip", "data.jsonl"])
def test_the_standard_input_is_a_table_of_any_kind(name, plain, tmp_path, run, monkeypatch):
    content = write(name, plain, tmp_path).read_bytes()

    def piped(*arguments):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        frame = read_table(Path("-"), TableOptions()).frame
        assert frame["age"].tolist() == pytest.approx(plain["age"].tolist())

    piped()


def test_predict_reads_the_standard_input(data, model, run):
    from typer.testing import CliRunner

    from lifemix.cli import app

    done = CliRunner().invoke(app, ["predict", str(model), "-", "--json"], input=data.read_bytes())
    assert done.exit_code == 0, done.stderr
    assert done.stdout == run("predict", model, data, "--json").out


def test_a_sheet_is_named_or_the_first(plain, tmp_path, run, refused):
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path, engine="openpyxl") as book:
        pd.DataFrame({"notes": ["nothing"]}).to_excel(book, sheet_name="Notes", index=False)
        plain.to_excel(book, sheet_name="Patients", index=False)
    output = ["-o", tmp_path / "m.safetensors"]
    assert "has no sheet 'x'" in refused("fit", path, *COLUMNS, "--sheet", "x", *output)
    done = run("fit", path, *COLUMNS, *QUICK, "--sheet", "Patients", "--holdout", "0", *output)
    assert done.code == 0, done.err
    assert "Excel, sheet 'Patients'" in done.out


def test_codes_keep_their_numbers_where_some_have_no_label(tmp_path):
    frame = pd.DataFrame({"age": [50.0, 61, 99], "sex": [1.0, 2, 1]})
    labels = {"age": {99: "unknown"}, "sex": {1: "m", 2: "f"}}
    pyreadstat.write_sav(frame, str(tmp_path / "x.sav"), variable_value_labels=labels)
    read = read_table(tmp_path / "x.sav", TableOptions()).frame
    assert read["age"].tolist() == [50, 61, 99]
    assert read["sex"].tolist() == ["m", "f", "m"]


@pytest.mark.parametrize(
    ("name", "package"), [("x.xlsx", "openpyxl"), ("x.sav", "pyreadstat"), ("x.feather", "pyarrow")]
)
def test_a_missing_package_is_named_with_its_extra(name, package, tmp_path, monkeypatch):
    (tmp_path / name).write_bytes(b"x")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"needs {package}.*pip install 'lifemix\[tables\]'"):
        read_table(tmp_path / name, TableOptions())


def test_a_zip_file_with_several_tables_is_asked_about(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.csv", "a\n1\n")
        archive.writestr("b.csv", "a\n1\n")
    with pytest.raises(InputError, match="must hold one table; it holds a.csv, b.csv"):
        read_table(tmp_path / "x.zip", TableOptions())
