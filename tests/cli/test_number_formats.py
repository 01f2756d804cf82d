"""Numbers as people write them are read as numbers, column by column; what cannot be told is asked."""

import numpy as np
import pandas as pd
import pytest

from commands import COLUMNS, QUICK
from lifemix import load
from lifemix.cli.number_formats import looks_like_number, read_numbers
from lifemix.cli.table_options import TableOptions


def read(columns, usual=None, **options):
    given = {name: tuple(value) for name, value in options.items()}
    return read_numbers(pd.DataFrame(columns), TableOptions(**given), usual or {})


CLEAR = {
    "decimal comma": (["15,7", "3", "0,25"], [15.7, 3, 0.25]),
    "thousands point": (["1.234,5", "15,7"], [1234.5, 15.7]),
    "thousands comma": (["1,234.5", "15.7"], [1234.5, 15.7]),
    "millions": (["1,234,567", "2,000"], [1234567, 2000]),
    "thousands space": (["1 234,5", "2\u202f000,0"], [1234.5, 2000]),
    "thousands apostrophe": (["1'234.5", "2’000.25"], [1234.5, 2000.25]),
    "euro behind": (["15,70 €", "1.234,00 €"], [15.7, 1234]),
    "dollar in front": (["$1,234.50", "-$3.25", "$-4.5"], [1234.5, -3.25, -4.5]),
    "percent": (["45%", "7.5 %"], [45, 7.5]),
    "powers of ten": (["1,5e3", "2,5E-1"], [1500, 0.25]),
    "minus": (["−1,5", "+2,5"], [-1.5, 2.5]),
    "decimal point as text": (["4.920", "7.100"], [4.92, 7.1]),
}


@pytest.mark.parametrize(("texts", "numbers"), CLEAR.values(), ids=CLEAR.keys())
def test_what_a_column_itself_tells(texts, numbers):
    frame, found = read({"x": texts})
    assert not found.problems
    np.testing.assert_allclose(frame["x"], numbers)


def test_missing_values_stay_missing():
    frame, _ = read({"x": ["1,5", None, "2,5"]})
    np.testing.assert_array_equal(frame["x"], [1.5, np.nan, 2.5])


def test_other_columns_tell_what_a_point_means():
    frame, found = read({"price": ["4.920", "7.100"], "weight": ["15,7", "3,25"]})
    np.testing.assert_array_equal(frame["price"], [4920, 7100])
    assert str(found) == ", decimal comma in price, weight"
    frame, _ = read({"price": ["4,920", "7,100"], "weight": [15.7, 3.25]})
    np.testing.assert_array_equal(frame["price"], [4920, 7100])


UNCLEAR = {
    "comma of what": ({"x": ["4,920", "7,100"]}, "may stand for decimals or for thousands"),
    "two ways": ({"x": ["15,7", "3.14"]}, "written in two ways, such as '15,7' and '3.14'"),
    "both in the file": ({"x": ["4.920"], "a": ["15,7"], "b": [3.14]}, "may stand for decimals or for thousands"),
    "currencies": ({"x": ["$1.5", "€2.5"]}, "several currencies"),
    "percent here and there": ({"x": ["45%", "0.45"]}, "percent signs in some rows only"),
}


@pytest.mark.parametrize(("columns", "message"), UNCLEAR.values(), ids=UNCLEAR.keys())
def test_what_cannot_be_told_is_a_problem(columns, message):
    frame, found = read(columns)
    assert message in found.problems["x"]
    assert list(frame["x"]) == columns["x"]


def test_options_and_the_earlier_table_tell():
    for decimal, value in ((",", 4.92), (".", 4920), ("x=,", 4.92)):
        assert read({"x": ["4,920"]}, decimal=[decimal])[0]["x"].tolist() == [value]
    assert read({"x": ["4,920"]}, thousands=[","])[0]["x"].tolist() == [4920]
    assert read({"x": ["4,920"]}, {"x": ","})[0]["x"].tolist() == [4.92]
    assert "has no decimal point" in read({"x": ["15,7"]}, decimal=["."])[1].problems["x"]


@pytest.mark.parametrize("text", ["", "abc", "1.2.3", "12-05-2020", "1,23,4", "1.234.56", ".", "$", "5 kg", "--3"])
def test_other_texts_are_no_numbers(text):
    assert not looks_like_number(text)


def european(frame):
    """Return the table as a spreadsheet in Europe writes it: decimal commas, and thousands points in one column."""
    table = frame.assign(income=np.arange(200) * 17 % 900 + 1100, dose=frame["dose"].fillna(0.5) + 10)
    return table, table.assign(
        age=[f"{value:.1f}".replace(".", ",") for value in table["age"]],
        dose=[f"{value:.3f} €".replace(".", ",") for value in table["dose"]],
        days=[f"{value:.1f}".replace(".", ",") for value in table["days"]],
        income=[f"{value // 1000}.{value % 1000:03d}" for value in table["income"]],
    )


@pytest.mark.parametrize("separator", [";", ","])
def test_a_european_table_gives_the_model_of_the_plain_one(separator, run, write, frame, tmp_path):
    plain, written = european(frame)
    models = []
    for name, table, how in (("plain.csv", plain, {}), ("europe.csv", written, {"sep": separator})):
        output = tmp_path / f"{name}.safetensors"
        outcome = run("fit", write(table, name, **how), *COLUMNS, *QUICK, "--holdout", "0", "-o", output)
        assert outcome.code == 0, outcome.err
        models.append(load(output))
    assert "decimal comma in age, dose, days, income" in outcome.out
    first, second = models
    assert [column.fill for column in first.preprocessor_.columns_] == pytest.approx(
        [column.fill for column in second.preprocessor_.columns_]
    ) or [str(column) for column in first.preprocessor_.columns_] == [str(c) for c in second.preprocessor_.columns_]
    one = write(written.head(1), "one.csv", sep=separator)
    alone = run("predict", tmp_path / "europe.csv.safetensors", one, "--times", "100", "--json").json
    whole = run("predict", tmp_path / "plain.csv.safetensors", tmp_path / "plain.csv", "--times", "100", "--json").json
    assert alone[0]["survival_100"] == pytest.approx(whole[0]["survival_100"])


def test_a_number_that_is_unclear_is_never_a_category(refused, run, write, frame, tmp_path):
    table = frame.assign(dose=[f"{1 + i % 9},{i % 7}00" for i in range(200)], age=60 + np.arange(200) % 20)
    table["days"] = table["days"].round().astype(int)
    path, output = write(table), tmp_path / "m.safetensors"
    message = refused("fit", path, *COLUMNS, *QUICK, "-o", output)
    assert "--decimal 'dose=,'" in message
    assert not output.exists()
    assert run("fit", path, *COLUMNS, *QUICK, "--decimal", "dose=,", "--holdout", "0", "-o", output).code == 0
    assert {c.name: c for c in load(output).preprocessor_.columns_}["dose"].usual[2] < 10


def test_numbers_with_other_texts_among_them_are_asked_about(refused, write, frame, tmp_path):
    table = frame.assign(age=[f"{50 + i % 9},{i % 10}" if i % 10 else "unknown" for i in range(200)])
    message = refused("fit", write(table, sep=";"), *COLUMNS, *QUICK, "-o", tmp_path / "m.safetensors")
    assert "--missing 'unknown'" in message
