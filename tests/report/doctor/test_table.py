"""Every finding before a fit fires on a table made for it, and none on a table without fault."""

import re
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifemix import datasets, make_target
from lifemix.errors import SettingError
from lifemix.report.doctor import check_table
from lifemix.report.doctor.leaks import expected_events
from lifemix.target import as_target

N = 1000


def clean(seed=0, n=N):
    """Return a table without fault: a hazard that depends on two columns, and independent censoring."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.normal(60, 10, n),
            "dose": rng.gamma(2.0, 1.0, n),
            "arm": rng.choice(["a", "b", "c"], n),
            "smoker": rng.integers(0, 2, n),
        }
    )
    rate = np.exp(0.05 * (X["age"] - 60) + 0.3 * X["smoker"]).to_numpy()
    event, censoring = rng.exponential(1 / rate), rng.exponential(1.5, n)
    return X, np.minimum(event, censoring), (event <= censoring).astype(int)


def codes(findings, severity=None):
    return {finding.code for finding in findings if severity in (None, finding.severity)}


def test_a_table_without_fault_has_no_finding():
    X, times, event = clean()
    assert check_table(X, (times, event), horizons=[0.3, 1.0]) == []


def with_column(name, values):
    def change(X, times, event):
        return X.assign(**{name: values(X, times, event)}), times, event

    return change


def with_target(function):
    def change(X, times, event):
        return X, *function(times, event)

    return change


def where(condition, yes, no):
    return np.where(condition, yes, no)


def rng():
    return np.random.default_rng(1)


def gaps(X, times, event):
    """Return a column that is missing more often where the event comes early."""
    missing = rng().random(len(X)) < where(times < np.median(times), 0.6, 0.1)
    return pd.Series(rng().normal(size=len(X))).mask(missing)


CASES = {
    "no-events": (with_target(lambda t, e: (t, 0 * e)), "stop", "no-events"),
    "gap in kinds": (with_target(lambda t, e: (t, 2 * e)), "stop", "missing-event-type"),
    "nine events": (with_target(lambda t, e: (t, e * (np.cumsum(e) <= 9))), "warn", "few-events"),
    "forty events": (with_target(lambda t, e: (t, e * (np.cumsum(e) <= 40))), "note", "few-events"),
    "nearly all censored": (
        with_target(lambda t, e: (t, e * (np.cumsum(e) <= 40))),
        "warn",
        "censoring",
    ),
    "none censored": (with_target(lambda t, e: (t, 0 * e + 1)), "note", "censoring"),
    "censored coded 2": (with_target(lambda t, e: (t, 2 - e)), "warn", "censoring"),
    "many events at zero": (
        with_target(lambda t, e: (t * (t > 0.1), e)),
        "warn",
        "events-at-time-0",
    ),
    "one event at zero": (
        with_target(lambda t, e: (where(np.cumsum(e) == 1, 0, t), e)),
        "note",
        "events-at-time-0",
    ),
    "years": (with_target(lambda t, e: (np.ceil(t), e)), "warn", "ties"),
    "a spike": (with_target(lambda t, e: (where((e == 1) & (t > 0.5), 0.5, t), e)), "warn", "ties"),
    "row numbers": (
        with_column("record", lambda X, t, e: rng().permutation(len(X))),
        "warn",
        "identifier",
    ),
    "names": (
        with_column("who", lambda X, t, e: [f"p{i}" for i in range(len(X))]),
        "warn",
        "identifier",
    ),
    "visits": (
        with_column("patient_id", lambda X, t, e: np.arange(len(X)) // 4),
        "warn",
        "repeated-subjects",
    ),
    "many visits": (
        with_column("subject", lambda X, t, e: np.arange(len(X)) // 15),
        "warn",
        "repeated-subjects",
    ),
    "copy of the time": (with_column("stay", lambda X, t, e: 7 * t + 1), "stop", "leak"),
    "time, falling": (with_column("left", lambda X, t, e: -np.log(t + 0.01)), "stop", "leak"),
    "copy of the event": (with_column("flag", lambda X, t, e: e), "stop", "leak"),
    "event as a word": (
        with_column("status", lambda X, t, e: where(e == 1, "dead", "alive")),
        "stop",
        "leak",
    ),
    "nearly the event": (
        with_column("x", lambda X, t, e: e + rng().normal(0, 0.5, len(X))),
        "warn",
        "leak",
    ),
    "nearly the time": (
        with_column("x", lambda X, t, e: np.log(t) + rng().normal(0, 0.3, len(X))),
        "warn",
        "leak",
    ),
    "cause of death": (
        with_column(
            "cause", lambda X, t, e: pd.Series(rng().choice(["x", "y"], len(X))).where(e == 1)
        ),
        "stop",
        "leak",
    ),
    "last visit of the living": (
        with_column("visit", lambda X, t, e: pd.Series(rng().normal(size=len(X))).where(e == 0)),
        "stop",
        "leak",
    ),
    "constant": (with_column("site", lambda X, t, e: "here"), "note", "constant-column"),
    "empty": (with_column("site", lambda X, t, e: np.nan), "note", "empty-column"),
    "mostly-missing": (
        with_column(
            "lab",
            lambda X, t, e: pd.Series(rng().normal(size=len(X))).where(rng().random(len(X)) < 0.4),
        ),
        "warn",
        "mostly-missing",
    ),
    "some missing": (
        with_column(
            "lab",
            lambda X, t, e: pd.Series(rng().normal(size=len(X))).where(rng().random(len(X)) < 0.9),
        ),
        "note",
        "missing-values",
    ),
    "gaps that tell": (with_column("lab", gaps), "note", "informative-missingness"),
    "far values": (
        with_column("weight", lambda X, t, e: where(np.arange(N) < 4, 9999, X["age"])),
        "warn",
        "outliers",
    ),
    "infinite": (
        with_column("ratio", lambda X, t, e: where(np.arange(N) < 4, np.inf, 1.0)),
        "stop",
        "unreadable-column",
    ),
    "dates": (
        with_column(
            "seen", lambda X, t, e: pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), "D")
        ),
        "stop",
        "unreadable-column",
    ),
    "numbers-as-text": (
        with_column(
            "dose2", lambda X, t, e: where(np.arange(N) == 7, "<5", (np.arange(N) % 40).astype(str))
        ),
        "warn",
        "numbers-as-text",
    ),
}
CASES["many-levels"] = (
    with_column(
        "town", lambda X, t, e: np.char.add("t", rng().integers(0, 60, len(X)).astype(str))
    ),
    "note",
    "many-levels",
)
CASES["rare levels"] = (
    with_column(
        "town", lambda X, t, e: np.char.add("t", rng().integers(0, 300, len(X)).astype(str))
    ),
    "warn",
    "many-levels",
)


@pytest.mark.parametrize(("change", "severity", "code"), CASES.values(), ids=CASES.keys())
def test_each_fault_is_found(change, severity, code):
    X, times, event = change(*clean())
    findings = check_table(X, (times, event))
    assert code in codes(findings, severity), [str(finding) for finding in findings]
    for finding in findings:
        assert finding.text.endswith(".") or finding.code.startswith("unreadable")
        assert finding.remedy.endswith(".")


def test_a_leaking_column_is_named():
    X, times, event = clean()
    (found,) = [f for f in check_table(X.assign(stay=times), (times, event)) if f.code == "leak"]
    assert found.text.startswith("stay follows the time of the event")
    assert "Leave stay out" in found.remedy


@pytest.mark.parametrize("seed", range(5))
def test_strong_but_honest_columns_are_no_leak(seed):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=N)
    event, censoring = generator.exponential(np.exp(-1.5 * x)), generator.exponential(2.0, N)
    findings = check_table(
        x[:, None], (np.minimum(event, censoring), (event <= censoring).astype(int))
    )
    assert "leak" not in codes(findings)


def test_the_event_type_leaks_too():
    X, times, event = clean()
    kind = event * (1 + (rng().random(N) < 0.5))
    assert "leak" in codes(
        check_table(X.assign(cause=where(kind == 2, "b", "a")), (times, kind)), "stop"
    )
    assert "leak" not in codes(check_table(X, (times, kind)))


@pytest.mark.parametrize("names", [{1: "relapse", 2: "death"}, ["relapse", "death"]])
def test_events_are_called_by_their_names(names):
    X, times, event = clean(n=200)
    event = np.where((event == 1) & (np.arange(200) % 10 == 0), 2, event)
    X = X.assign(
        cause=where(event == 2, "b", "a"), **{f"g{i}": rng().normal(size=200) for i in range(9)}
    )
    findings = check_table(X, (times, event), event_names=names)
    assert {"few-events", "events-per-input"} <= codes(findings)
    texts = " ".join(f"{finding.text} {finding.remedy}" for finding in findings)
    assert "Death was observed in" in texts
    assert "Relapse: " in texts
    assert not re.search(r"[Ee]vent (type )?\d|kind", texts)


def test_an_event_type_with_a_name_and_no_rows_is_found():
    X, times, event = clean()
    (found,) = check_table(X, (times, event), event_names=["relapse", "death"])
    assert (found.severity, found.code) == ("stop", "missing-event-type")
    assert "event code 2 (death)" in found.text
    with pytest.raises(SettingError, match=r"event types 1..1.*got \{0: 'alive'\}"):
        check_table(X, (times, event), event_names={0: "alive"})


def test_a_single_event_without_a_name_has_no_number():
    X, times, event = clean()
    findings = check_table(X, (times, event * (np.cumsum(event) <= 40)))
    assert any(finding.text.startswith("The event was observed in 40 rows") for finding in findings)


def test_copied_rows_are_counted():
    X, times, event = clean()
    rows = np.r_[np.arange(N), np.arange(30)]
    findings = check_table(X.iloc[rows], (times[rows], event[rows]))
    (found,) = [finding for finding in findings if finding.code == "duplicates"]
    assert found.severity == "warn"
    assert found.text.startswith("30 rows")


def test_alike_people_in_a_coarse_table_are_only_noted():
    X, times, event = clean()
    findings = check_table(X[["arm", "smoker"]], (np.round(times, 1) + 0.1, event))
    assert "duplicates" in codes(findings, "note")


def test_few_events_for_many_columns():
    X, times, event = clean(n=150)
    wide = X.assign(**{f"g{i}": np.random.default_rng(i).normal(size=150) for i in range(40)})
    assert "events-per-input" in codes(check_table(wide, (times, event)), "warn")
    assert "events-per-input" not in codes(check_table(X, (times, event)))


def test_few_rows():
    X, times, event = clean(n=60)
    assert "few-rows" in codes(check_table(X, (times, event)), "warn")


def test_no_column_that_varies():
    X, times, event = clean()
    assert "no-column" in codes(
        check_table(X.assign(**dict.fromkeys(X.columns, 1)), (times, event)), "stop"
    )


def test_horizons_beyond_the_data():
    X, times, event = clean()
    y = (times, event)
    assert "horizons" in codes(check_table(X, y, horizons=[1e6]), "stop")
    assert "horizons" in codes(check_table(X, y, horizons=[0.5, 1e6]), "warn")
    assert "horizons" in codes(check_table(X, y, horizons=[-1.0]), "stop")
    thin = np.sort(times)[-10]
    event = np.where(times == times.max(), 1, event)  # so that it lies before the last event
    assert "horizons" in codes(check_table(X, (times, event), horizons=[thin]), "warn")
    assert "horizons" not in codes(check_table(X, y, horizons=[0.5]))


def test_data_that_cannot_be_read_become_a_finding():
    X, times, event = clean()
    for bad in (
        (X, (-times, event)),
        (X.iloc[:5], (times, event)),
        (X, "y"),
        (X["age"], (times, event)),
    ):
        (finding,) = check_table(*bad)
        assert (finding.severity, finding.code) == ("stop", "unreadable")


def test_intervals_and_late_entries_are_read():
    X, times, event = clean()
    y = make_target(
        times + 0.01, event, entry=times / 2, upper=np.where(event == 1, times + 0.5, np.nan)
    )
    assert codes(check_table(X, y)) == set()


def test_the_most_severe_findings_come_first():
    X, times, event = clean()
    levels = [
        f.severity for f in check_table(X.assign(a=1, stay=times, n=np.arange(N)), (times, event))
    ]
    assert levels == sorted(levels, key=("stop", "warn", "note").index)
    assert set(levels) == {"stop", "warn", "note"}


def test_large_tables_are_checked_in_seconds():
    generator = np.random.default_rng(0)
    X = pd.DataFrame(generator.normal(size=(100_000, 50))).rename(columns=str)
    X["0"] = generator.choice(list("abcdef"), len(X))
    y = (generator.exponential(size=len(X)), generator.integers(0, 3, len(X)))
    start = time.process_time()
    assert codes(check_table(X, y)) == set()
    assert time.process_time() - start < 10


@given(
    st.lists(
        st.tuples(st.floats(0.01, 10), st.integers(0, 2), st.floats(0, 0.9)),
        min_size=1,
        max_size=30,
    )
)
def test_expected_events_sum_to_the_observed(rows):
    times, event = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    target = as_target((times, event))
    assert expected_events(target).sum() == pytest.approx((event > 0).sum())


@pytest.mark.parametrize(
    "load", [datasets.load_metabric, datasets.load_support, datasets.load_flchain]
)
def test_data_sets_with_one_row_per_subject_are_not_suspected(load):
    data = load()
    codes_found = codes(check_table(data.X, data.y))
    assert "repeated-subjects" not in codes_found
