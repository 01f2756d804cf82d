"""Findings about times and events, by ``check_table``."""

import re

import numpy as np
import pytest

from lifemix import make_target
from lifemix.errors import SettingError
from lifemix.report.doctor import check_table

CASES = [
    (lambda t, e: (t, 0 * e), "stop no-events"),
    (lambda t, e: (t, 2 * e), "stop missing-event-type"),
    (lambda t, e: (t, e * (np.cumsum(e) <= 9)), "warn few-events"),
    (lambda t, e: (t, e * (np.cumsum(e) <= 40)), "note few-events"),
    (lambda t, e: (t, e * (np.cumsum(e) <= 40)), "warn censoring"),
    (lambda t, e: (t, 0 * e + 1), "note censoring"),
    (lambda t, e: (t, 2 - e), "warn censoring"),
    (lambda t, e: (t * (t > 0.1), e), "warn events-at-time-0"),
    (lambda t, e: (np.where(np.cumsum(e) == 1, 0, t), e), "note events-at-time-0"),
    (lambda t, e: (np.ceil(t), e), "warn ties"),
    (lambda t, e: (np.where((e == 1) & (t > 0.5), 0.5, t), e), "warn ties"),
    (lambda t, e: (-t, e), "stop unreadable"),
    (lambda t, e: "y", "stop unreadable"),
    (lambda t, e: (t[:5], e[:5]), "stop unreadable"),
]


@pytest.mark.parametrize(("change", "expected"), CASES)
def test_each_fault_is_reported(clean, codes, change, expected):
    X, times, event = clean
    findings = check_table(X, change(times, event))
    assert expected in codes(findings)
    assert all(finding.remedy.endswith(".") for finding in findings)


@pytest.mark.parametrize("names", [{1: "relapse", 2: "death"}, ["relapse", "death"]])
def test_events_are_called_by_their_names(clean, names):
    X, times, event = (values[:200] for values in clean)
    event = np.where((event == 1) & (np.arange(200) % 10 == 0), 2, event)
    noise = np.random.default_rng(1).normal(size=(9, 200))
    X = X.assign(**{f"g{i}": values for i, values in enumerate(noise)})
    findings = check_table(X, (times, event), event_names=names)
    texts = " ".join(f"{finding.text} {finding.remedy}" for finding in findings)
    assert "Death was observed in" in texts
    assert "Relapse: " in texts
    assert not re.search(r"[Ee]vent (type )?\d|kind", texts)


def test_an_event_type_without_rows_stops_a_fit_and_not_a_check_of_held_out_rows(clean, codes):
    X, *y = clean
    (finding,) = findings = check_table(X, y, event_names=["relapse", "death"])
    assert codes(findings) == {"stop missing-event-type"}
    assert str(finding).startswith("stop (missing-event-type): ")
    assert "event code 2 (death)" in finding.text
    (finding,) = findings = check_table(X, y, event_names=["relapse", "death"], held_out=True)
    assert codes(findings) == {"warn few-events"}
    assert "Death was observed in 0 rows only" in finding.text
    with pytest.raises(SettingError, match=r"event types 1..1.*got \{0: 'alive'\}"):
        check_table(X, y, event_names={0: "alive"})


def test_a_single_event_without_a_name_has_no_number(clean):
    X, times, event = clean
    findings = check_table(X, (times, event * (np.cumsum(event) <= 40)))
    assert any(finding.text.startswith("The event was observed in 40 rows") for finding in findings)


@pytest.mark.parametrize(
    ("horizons", "expected"),
    [
        ([1e6], {"stop horizons"}),
        ([0.5, 1e6], {"warn horizons"}),
        ([-1.0], {"stop horizons"}),
        (None, {"warn horizons"}),
        ([0.5], set()),
    ],
)
def test_horizons_need_rows_under_observation(clean, codes, horizons, expected):
    X, times, event = clean
    horizons = horizons or [np.sort(times)[-10]]
    assert codes(check_table(X, (times, event), horizons=horizons)) == expected


def test_intervals_and_late_entries_are_read(clean):
    X, times, event = clean
    upper = np.where(event == 1, times + 0.5, np.nan)
    assert check_table(X, make_target(times + 0.01, event, entry=times / 2, upper=upper)) == []
