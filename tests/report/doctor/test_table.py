"""Findings about columns and rows, and none in a table without fault."""

import time

import numpy as np
import pandas as pd
import pytest

from lifemix import datasets
from lifemix.report.doctor import check_table

N = 1000
INDEX, RNG = np.arange(N), np.random.default_rng(1)
NORMAL, UNIFORM = pd.Series(RNG.normal(size=N)), RNG.random(N)
COLUMNS = [
    ("record", RNG.permutation(N), "warn", "identifier"),
    ("who", [f"p{i}" for i in INDEX], "warn", "identifier"),
    ("patient_id", INDEX // 4, "warn", "repeated-subjects"),
    ("subject", INDEX // 15, "warn", "repeated-subjects"),
    ("site", "here", "note", "constant-column"),
    ("site", np.nan, "note", "empty-column"),
    ("lab", NORMAL.where(UNIFORM < 0.4), "warn", "mostly-missing"),
    ("lab", NORMAL.where(UNIFORM < 0.9), "note", "missing-values"),
    ("weight", np.where(INDEX < 4, 9999, NORMAL), "warn", "outliers"),
    ("ratio", np.where(INDEX < 4, np.inf, 1.0), "stop", "unreadable-column"),
    ("seen", pd.date_range("2020-01-01", periods=N), "stop", "unreadable-column"),
    ("dose2", np.where(INDEX == 7, "<5", (INDEX % 40).astype(str)), "warn", "numbers-as-text"),
    ("town", np.char.add("t", RNG.integers(0, 60, N).astype(str)), "note", "many-levels"),
    ("town", np.char.add("t", RNG.integers(0, 300, N).astype(str)), "warn", "many-levels"),
]


def codes(findings):
    return {(finding.severity, finding.code) for finding in findings}


def test_a_table_without_fault_has_no_finding(clean):
    X, *y = clean
    assert check_table(X, y, horizons=[0.3, 1.0]) == []


@pytest.mark.parametrize(("name", "values", "severity", "code"), COLUMNS)
def test_each_fault_of_a_column_is_found(clean, name, values, severity, code):
    X, *y = clean
    findings = check_table(X.assign(**{name: values}), y)
    assert (severity, code) in codes(findings)
    assert all(finding.remedy.endswith(".") for finding in findings)
    if code == "repeated-subjects":
        assert f"make_target(..., subject=), on the command line --id {name}" in findings[0].remedy


def test_copied_rows_are_counted(clean):
    X, times, event = clean
    rows = np.r_[INDEX, :30]
    (finding,) = check_table(X.iloc[rows], (times[rows], event[rows]))
    assert (finding.severity, finding.code) == ("warn", "duplicates")
    assert finding.text.startswith("30 rows")
    coarse = check_table(X[["arm", "smoker"]], (np.round(times, 1) + 0.1, event))
    assert ("note", "duplicates") in codes(coarse)


def test_few_events_for_many_columns_are_found(clean):
    X, times, event = (values[:150] for values in clean)
    assert check_table(X, (times, event)) == []
    wide = X.assign(**{f"g{i}": RNG.normal(size=150) for i in range(40)})
    assert codes(check_table(wide, (times, event))) == {("warn", "events-per-input")}


def test_held_out_rows_get_no_advice_about_fitting(clean):
    X, times, event = (values[:40] for values in clean)
    X = X.assign(
        site="here",
        record=np.arange(40) * 3,
        lab=NORMAL[:40].where(UNIFORM[:40] < 0.4),
        **{f"g{i}": RNG.normal(size=40) for i in range(20)},
    )
    findings = check_table(X, (times, event), held_out=True)
    assert codes(findings) == {("warn", "few-rows"), ("note", "few-events")}
    assert not any(finding.settings for finding in findings)
    assert all(finding.remedy.startswith("Judge the model by") for finding in findings)
    before_fit = {code for _, code in codes(check_table(X, (times, event)))}
    assert {"events-per-input", "constant-column", "mostly-missing", "identifier"} <= before_fit
    leak = check_table(X.assign(stay=times), (times, event), held_out=True)
    assert ("stop", "leak") in codes(leak)


def test_an_event_type_that_held_out_rows_lack_is_no_reason_to_stop(clean):
    X, *y = clean
    (finding,) = check_table(X, y, event_names=["relapse", "death"], held_out=True)
    assert (finding.severity, finding.code) == ("warn", "few-events")
    assert "Death was observed in 0 rows only" in finding.text


@pytest.mark.parametrize("rows", [slice(None), slice(0)])
def test_a_table_needs_a_column_that_varies(clean, rows):
    X, *y = clean
    X = X.assign(**dict.fromkeys(X.columns, 1)).iloc[:, rows]
    assert ("stop", "no-column") in codes(check_table(X, y))


def test_data_that_cannot_be_read_become_a_finding(clean):
    X, *y = clean
    for pair in ((X.iloc[:5], y), (X, "y"), (X["age"], y)):
        assert codes(check_table(*pair)) == {("stop", "unreadable")}


def test_the_most_severe_findings_come_first(clean):
    X, times, event = clean
    findings = check_table(X.assign(a=1, stay=times, n=INDEX), (times, event))
    assert [finding.severity for finding in findings] == ["stop", "warn", "note"]


def test_large_tables_are_checked_in_seconds():
    X = pd.DataFrame(RNG.normal(size=(100_000, 50))).rename(columns=str)
    X["0"] = RNG.choice(list("abcdef"), len(X))
    start = time.process_time()
    assert check_table(X, (RNG.exponential(size=len(X)), RNG.integers(0, 3, len(X)))) == []
    assert time.process_time() - start < 10


@pytest.mark.parametrize(
    "load", [datasets.load_metabric, datasets.load_support, datasets.load_flchain]
)
def test_data_sets_with_one_row_per_subject_are_not_suspected(load):
    data = load()
    assert all(finding.code != "repeated-subjects" for finding in check_table(data.X, data.y))
