"""Options of a table and times with units."""

import pytest

from lifemix.cli.options import (
    NetworkOptions,
    OutcomeOptions,
    TableOptions,
    parse_times,
    unit_days,
)
from lifemix.errors import CovariateError, SettingError


def test_options_of_the_next_table_replace_recorded_ones():
    options = TableOptions(time="days", event="died", missing=["?"], encoding="cp1252")
    recorded = TableOptions(**options.to_json())
    assert recorded == TableOptions(time="days", event="died", missing=["?"])
    expected = TableOptions(time="days", event="dead", missing=["?"])
    assert recorded.override(OutcomeOptions(event="dead")) == expected


def test_names_with_commas_are_columns_if_the_table_has_them():
    columns = ["t", "e", "a", "b", "c, d"]
    assert TableOptions(drop=["a,b", "c, d"]).resolve(columns).drop == ["a", "b", "c, d"]
    with pytest.raises(CovariateError, match=r"no column 'x' \(--drop\). It has: t, e"):
        TableOptions(drop=["x"]).resolve(columns)


@pytest.mark.parametrize(
    ("texts", "unit", "times"),
    [
        (["30d,1y", "2", "6 months", "1e2"], "days", [2, 30, 100, 182.625, 365.25]),
        (["365.25 days"], "year", [1]),
        (["2,1"], None, [1, 2]),
        (None, "days", []),
    ],
)
def test_times_may_have_units(texts, unit, times):
    assert parse_times(texts, unit, "--times") == pytest.approx(times)


@pytest.mark.parametrize(
    ("text", "unit", "message"),
    [
        ("1y", None, "cannot be converted"),
        ("1parsec", None, "cannot be converted"),
        ("x", "days", "--times must be numbers"),
    ],
)
def test_refused_times(text, unit, message):
    with pytest.raises(SettingError, match=message):
        parse_times([text], unit, "--times")


def test_units_of_days():
    assert [unit_days(unit) for unit in ("day", "Days", "d", "moon", None)] == [1, 1, 1, None, None]


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        ({}, {}),
        ({"fast": True, "hidden": "8,4"}, {"n_members": 1, "hidden": (8, 4)}),
        ({"fast": True, "hidden": "none", "n_members": 2}, {"n_members": 2, "hidden": ()}),
    ],
)
def test_settings_are_those_of_python(options, settings):
    assert NetworkOptions(**options).settings() == settings


@pytest.mark.parametrize("command", ["fit patients.csv -o m.safetensors", "compare patients.csv"])
def test_zero_processes_are_refused(command, refused):
    assert "-1 for one per core; got 0" in refused(f"{command} --jobs 0")
