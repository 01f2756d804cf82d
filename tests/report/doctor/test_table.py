"""Findings about columns and rows, and none in a table without fault."""

import numpy as np
import pandas as pd
import pytest

from lifemix import datasets
from lifemix.report.doctor import check_table

N_ROWS = 1000
INDEX, RNG = np.arange(N_ROWS), np.random.default_rng(1)
NORMAL, UNIFORM = pd.Series(RNG.normal(size=N_ROWS)), RNG.random(N_ROWS)
TEXTS = INDEX.astype(str).astype(object)
COLUMNS = [
    ("record", RNG.permutation(N_ROWS), "warn identifier"),
    ("who", "p" + TEXTS, "warn identifier"),
    ("patient_id", INDEX // 4, "warn repeated-subjects"),
    ("subject", INDEX // 15, "warn repeated-subjects"),
    ("site", "here", "note constant-column"),
    ("site", np.nan, "note empty-column"),
    ("lab", NORMAL.where(UNIFORM < 0.4), "warn mostly-missing"),
    ("lab", NORMAL.where(UNIFORM < 0.9), "note missing-values"),
    ("weight", np.where(INDEX < 4, 9999, NORMAL), "warn outliers"),
    ("ratio", np.where(INDEX < 4, np.inf, 1.0), "stop unreadable-column"),
    ("visit", pd.date_range("2020-01-01", periods=N_ROWS), "stop unreadable-column"),
    ("dose2", np.where(INDEX == 7, "<5", TEXTS[INDEX % 40]), "warn numbers-as-text"),
    ("town", "t" + TEXTS[RNG.integers(0, 60, N_ROWS)], "note many-levels"),
    ("town", "t" + TEXTS[RNG.integers(0, 300, N_ROWS)], "warn many-levels"),
]


def test_a_table_without_fault_has_no_finding(clean):
    X, *y = clean
    assert check_table(X, y, horizons=[0.3, 1.0]) == []


@pytest.mark.parametrize(("name", "values", "expected"), COLUMNS)
def test_each_fault_of_a_column_is_reported(clean, codes, name, values, expected):
    X, *y = clean
    findings = check_table(X.assign(**{name: values}), y)
    assert expected in codes(findings)
    assert all(finding.remedy.endswith(".") for finding in findings)
    if "subjects" in expected:
        assert f"make_target(..., subject=), on the command line --id {name}" in findings[0].remedy


def test_copied_rows_are_counted(clean, codes):
    X, times, event = clean
    rows = np.r_[INDEX, :30]
    (finding,) = findings = check_table(X.iloc[rows], (times[rows], event[rows]))
    assert codes(findings) == {"warn duplicates"}
    assert finding.text.startswith("30 rows")
    coarse = check_table(X[["arm", "smoker"]], (np.round(times, 1) + 0.1, event))
    assert "note duplicates" in codes(coarse)


def test_sizes_and_the_advice_for_held_out_rows(clean, codes):
    X, times, event = (values[:150] for values in clean)
    assert check_table(X, (times, event)) == []
    wide = X.assign(**{f"g{i}": RNG.normal(size=150) for i in range(40)})
    assert codes(check_table(wide, (times, event))) == {"warn events-per-input"}
    lab = NORMAL.where(UNIFORM < 0.4)
    X, y = wide.assign(site="here", record=3 * INDEX[:150], lab=lab)[:40], (times[:40], event[:40])
    expected = {"warn few-rows", "warn events-per-input", "note constant-column"}
    assert expected | {"warn mostly-missing", "warn identifier"} <= codes(check_table(X, y))
    findings = check_table(X, y, held_out=True)
    assert codes(findings) == {"warn few-rows", "note few-events"}
    assert not any(finding.settings for finding in findings)
    assert all(finding.remedy.startswith("Judge the model by") for finding in findings)
    leak = check_table(X.assign(stay=y[0]), y, held_out=True)
    assert "stop leak" in codes(leak)


@pytest.mark.parametrize("n_columns", [0, 4])
def test_a_table_needs_a_column_that_varies(clean, codes, n_columns):
    X, *y = clean
    X = X.assign(**dict.fromkeys(X, 1)).iloc[:, :n_columns]
    assert "stop no-column" in codes(check_table(X, y))


def test_the_most_severe_findings_come_first(clean):
    X, times, event = clean
    findings = check_table(X.assign(a=1, stay=times, n=INDEX), (times, event))
    assert [finding.severity for finding in findings] == ["stop", "warn", "note"]


@pytest.mark.parametrize("name", ["metabric", "support", "flchain"])
def test_data_sets_with_a_row_per_subject_are_not_suspected(name):
    data = getattr(datasets, f"load_{name}")()
    assert all(finding.code != "repeated-subjects" for finding in check_table(data.X, data.y))
