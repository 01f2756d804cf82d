"""A table to learn from: what each column holds, and whether it is used."""

from collections import Counter

import numpy as np
import pytest

from lifemix import load
from lifemix.cli.training_table import looks_like_number
from lifemix.preprocessing import tabular
from lifemix.preprocessing.columns import read_column


def test_each_column_is_shown_with_its_use(fit, write, frame):
    table = frame.assign(number=range(1, 201), name=[f"n{i}" for i in range(200)])
    out = fit(write(table)).out
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "200 rows, 9 columns" in out
    assert "and an indicator" in lines["dose"]
    assert "3 levels" in lines["stage"]
    assert "left out: one value" in lines["hospital"]
    assert "row numbers" in lines["number"]
    assert "left out: 200 different values" in lines["name"]
    assert "patient" not in lines


def test_identifiers_are_left_out_unless_they_are_named(fit, write, frame):
    pid = np.random.default_rng(1).permutation(10**6)[:200]
    write(frame.assign(pid=pid, number=np.arange(200) + 1000, platelets=pid))
    fit("data.csv")
    facts = {column["name"]: column for column in load("m.safetensors").metadata_["columns"]}
    kinds = {name: fact["kind"] for name, fact in facts.items() if "--keep" in fact["action"]}
    assert kinds == {"pid": "identifier", "number": "row numbers"}
    assert facts["platelets"]["is_used"]
    fit("data.csv", "--keep pid,number")
    assert {"pid", "number"} <= set(load("m.safetensors").feature_names_in_)


def test_options_of_columns_are_recorded(fit, run, write, frame):
    doses = frame["dose"].astype(object).fillna("unknown")
    write(frame.assign(ward=np.arange(200) % 4 + 1, dose=doses))
    fit("data.csv", "--categorical ward --missing unknown")
    columns = {column.name: column for column in load("m.safetensors").preprocessor_.columns_}
    assert columns["ward"].levels == ("1", "2", "3", "4")
    assert columns["dose"].indicator
    run("predict m.safetensors data.csv --json")


@pytest.mark.parametrize("text", "15,7|1.234,5|1,234.5|1'234|2 000|-3|1e5|7.5 %|€ 12".split("|"))
def test_what_looks_like_a_number(text):
    assert looks_like_number(text)


BLANKS = " " * 100_000  # must not take quadratic time
LONG = [BLANKS, f"1{BLANKS}x", "1" * 100_000 + "x", "1,000" * 20_000 + "x"]
WORDS = "|abc|1.2.3|12-05-2020|31.01.2020|1,23,4|.|$|5 kg|--3".split("|")


@pytest.mark.parametrize("text", [*WORDS, *LONG], ids=range(14))
def test_what_does_not_look_like_a_number(text):
    assert not looks_like_number(text)


def test_numbers_as_text_are_never_categories(fit, run, refused, write, frame):
    rounded = frame.round(1)
    write(rounded, "comma.csv", sep=";", decimal=",")
    assert "--decimal ," in fit("comma.csv", code=2).err
    ages = rounded["age"].astype(str).str.replace(".", ",")
    message = fit(write(rounded.assign(age=ages)), code=2).err
    assert "'age' holds numbers as text" in message
    assert "--decimal ," in message
    fit("comma.csv", "--decimal , --holdout 0")
    assert "age" in load("m.safetensors").feature_names_in_
    message = refused("predict m.safetensors comma.csv")
    assert "column 'age' held numbers in training" in message
    predict = "predict m.safetensors --times 100 --json"
    assert run(f"{predict} comma.csv --decimal ,").out == run(f"{predict} {write(rounded)}").out


def test_all_unusable_columns_are_named_at_once(fit, write, frame):
    texts = [f"{50 + i % 9},{i % 10}" if i % 10 else "unknown" for i in range(200)]
    message = fit(write(frame.assign(visit="2020-02-03", size=texts)), code=2).err
    for fix in ("--drop 'visit'", "--missing 'unknown'", "--drop 'size'"):
        assert fix in message


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, "--drop age,dose,stage,hospital", "no column is left"),
        ({"age": 5, "dose": None, "stage": "I"}, "", "no column is left to predict from"),
        ({"age": np.inf}, "", "infinity"),
        ({"age": np.linspace(0, 1e160, 200)}, "", "'age' has numbers up to"),
    ],
)
def test_columns_without_use_are_refused(change, options, message, fit, write, frame):
    assert message in fit(write(frame.assign(**change)), options, code=2).err


def test_a_fit_reads_each_column_once(fit, write, frame, monkeypatch):
    counts = Counter()

    def count(column, values):
        counts.update([column])
        return read_column(column, values)

    monkeypatch.setattr(tabular, "read_column", count)
    write(frame.assign(ward=np.arange(200) % 4 + 1))
    fit("data.csv", "--categorical ward")  # also Cox regression and the checks
    assert counts == Counter(["age", "dose", "stage", "hospital", "ward"])


def test_subjects_are_counted(run):
    doctor = "doctor patients.csv --time days --event died --id patient"
    assert "200 rows of 200 subjects, up to 1 each" in run(doctor).out
