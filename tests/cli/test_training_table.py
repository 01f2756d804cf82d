"""A table to learn from: what each column holds, and whether it is used."""

from collections import Counter

import numpy as np
import pytest

from helpers.commands import COLUMNS, make_table
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


def test_identifiers_are_left_out_unless_they_are_kept(fit, write, frame):
    rng = np.random.default_rng(1)
    path = write(
        frame.assign(
            pid=rng.permutation(10**6)[:200],  # by its name
            number=np.arange(200) + 1000,  # counts the rows
            place=rng.permutation(200),  # all differ, which by chance they would not
            subject_id=np.arange(200) // 2,
            platelets=rng.permutation(10**6)[:200],  # all differ, which by chance they may
        )
    )
    fit(path)
    columns = {column["name"]: column for column in load(fit.model).metadata_["columns"]}
    kinds = {name: facts["kind"] for name, facts in columns.items() if "--keep" in facts["action"]}
    assert kinds == {"pid": "identifier", "number": "row numbers", "place": "identifier"} | {
        "subject_id": "repeated subjects"
    }
    assert columns["platelets"]["is_used"]
    fit(path, "--keep", "pid,place")
    assert {"pid", "place"} <= set(load(fit.model).feature_names_in_)


def test_number_codes_become_categories(fit, run, write, frame):
    path = write(frame.assign(ward=np.arange(200) % 4 + 1))
    fit(path, "--categorical", "ward")
    columns = {column.name: column for column in load(fit.model).preprocessor_.columns_}
    assert columns["ward"].levels == ("1", "2", "3", "4")
    run("predict", fit.model, path, "--json")


def test_marks_of_missing_values_are_recorded(fit, run, write, frame):
    path = write(frame.astype({"dose": object}).fillna({"dose": "unknown"}))
    fit(path, "--missing", "unknown")
    columns = {column.name: column for column in load(fit.model).preprocessor_.columns_}
    assert columns["dose"].indicator
    run("predict", fit.model, path, "--json")


@pytest.mark.parametrize(
    "text", ["15,7", "1.234,5", "1,234.5", "1'234", "2 000", "-3", "1e5", "7.5 %", "€ 12"]
)
def test_what_looks_like_a_number(text):
    assert looks_like_number(text)


BLANKS = " " * 100_000  # must not take quadratic time


@pytest.mark.parametrize(
    "text",
    ["", "abc", "1.2.3", "12-05-2020", "31.01.2020", "1,23,4", ".", "$", "5 kg", "--3"]
    + [BLANKS, f"1{BLANKS}x", "1" * 100_000 + "x", "1,000" * 20_000 + "x"],
    ids=range(14),
)
def test_what_does_not_look_like_a_number(text):
    assert not looks_like_number(text)


def test_numbers_as_text_are_never_categories(fit, run, refused, write, frame):
    rounded = frame.round(1)
    path, plain = write(rounded, sep=";", decimal=","), write(rounded, "plain.csv")
    assert "--decimal ," in fit(path, code=2).err
    ages = rounded["age"].astype(str).str.replace(".", ",")
    message = fit(write(rounded.assign(age=ages), "age.csv"), code=2).err
    assert "'age' holds numbers as text" in message
    assert "--decimal ," in message
    fit(path, "--decimal", ",", "--holdout", "0")
    assert "age" in load(fit.model).feature_names_in_
    assert "column 'age' held numbers in training" in refused("predict", fit.model, path)
    predicted = run("predict", fit.model, path, "--decimal", ",", "--times", "100", "--json").out
    assert predicted == run("predict", fit.model, plain, "--times", "100", "--json").out


def test_all_unusable_columns_are_named_at_once(fit, write, frame):
    texts = [f"{50 + i % 9},{i % 10}" if i % 10 else "unknown" for i in range(200)]
    message = fit(write(frame.assign(seen="2020-02-03", size=texts)), code=2).err
    assert "--drop 'seen'" in message
    assert "--missing 'unknown'" in message
    assert "--drop 'size'" in message


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, ["--drop", "age,dose,stage,hospital"], "no column is left"),
        ({"age": 5, "dose": None, "stage": "I"}, [], "no column is left to predict from"),
        ({"age": np.inf}, [], "infinity"),
        ({"age": np.linspace(0, 1e160, 200)}, [], "'age' has numbers up to"),
    ],
)
def test_columns_without_use_are_refused(change, options, message, fit, write, frame):
    assert message in fit(write(frame.assign(**change)), *options, code=2).err


def test_one_fit_reads_each_column_once(fit, write, frame, monkeypatch):
    counts = Counter()

    def count(column, values):
        counts.update([column])
        return read_column(column, values)

    monkeypatch.setattr(tabular, "read_column", count)
    quick = ["--members", "2", "--epochs", "2", "--search"]  # also Cox regression and the checks
    path = write(frame.assign(ward=np.arange(200) % 4 + 1))
    fit(path, "--categorical", "ward", quick=quick)
    assert counts == Counter(["age", "dose", "stage", "hospital", "ward"])


def test_late_entry_and_intervals_are_counted(fit, write):
    frame = make_table(200, 2)
    out = fit(write(frame.assign(start=frame["days"] / 2)), "--entry", "start").out
    assert "200 rows with late entry" in out
    assert "Antolini's concordance" in out
    end = frame["days"].where(frame["died"] == 0, frame["days"] + 5)
    out = fit(write(frame.assign(end=end)), "--upper", "end", quick=["--fast"]).out
    assert "rows with an interval-censored event" in out
    assert "log-likelihood per row" in out


def test_subjects_are_counted(run, data, write, frame):
    assert "200 rows of 200 subjects, up to 1 each" in run("doctor", data, *COLUMNS).out
