"""Options of a table and times with units."""

import pytest

from helpers.commands import COLUMNS
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


def test_times_may_have_units():
    texts = ["30d,1y", "2", "6 months", "1e2"]
    expected = pytest.approx([2, 30, 100, 182.625, 365.25])
    assert parse_times(texts, "days", "--times") == expected
    assert parse_times(["365.25 days"], "year", "--times") == pytest.approx([1])
    assert parse_times(None, "days", "--times") == []
    assert parse_times(["2,1"], None, "--times") == [1, 2]
    for text in ("1y", "1parsec"):
        with pytest.raises(SettingError, match="cannot be converted"):
            parse_times([text], None, "--times")
    with pytest.raises(SettingError, match="--times must be numbers"):
        parse_times(["x"], "days", "--times")
    assert [unit_days(unit) for unit in ("day", "Days", "d", "moon", None)] == [1, 1, 1, None, None]


def test_settings_are_those_of_python():
    assert NetworkOptions().settings() == {}
    assert NetworkOptions(fast=True, hidden="8,4").settings() == {"n_members": 1, "hidden": (8, 4)}
    assert NetworkOptions(hidden="none", fast=True, n_members=2).settings() == {
        "n_members": 2,
        "hidden": (),
    }
    with pytest.raises(SettingError, match="--hidden must be widths"):
        NetworkOptions(hidden="many").settings()


@pytest.mark.parametrize("command", [["fit", "-o", "m.safetensors"], ["compare"]])
def test_zero_processes_are_refused(command, data, refused):
    name, *output = command
    message = refused(name, data, *COLUMNS, "--jobs", 0, *output)
    assert "-1 for one per core; got 0" in message
