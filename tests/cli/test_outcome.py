"""Times, dates, events and visits as the outcome of a table."""

import numpy as np
import pandas as pd
import pytest

from helpers.commands import COLUMNS
from lifemix import load
from lifemix.cli.options import TableOptions
from lifemix.cli.outcome import EventCodes, holds_dates, read_outcome, to_dates
from lifemix.errors import CovariateError, TargetError
from lifemix.target import as_target
from lifemix.target_summary import TargetSummary

DATED = "--time 'last visit' --event died --id patient --origin enrolled"


def outcome(frame, time="days", event="died", **options):
    return read_outcome(frame, TableOptions(time=time, event=event, **options))


@pytest.fixture(scope="module")
def dated(frame):
    """Return the table with dates instead of days and ages: enrolled, last visit, born."""
    days = np.random.default_rng(0).integers(0, 1000, len(frame))
    start = pd.Timestamp("2015-01-01") + pd.to_timedelta(days, unit="D")
    born = start - pd.to_timedelta((frame["age"] * 365.25).round(), unit="D")
    last_visit = start + pd.to_timedelta(frame["days"].round(), unit="D")
    table = frame.drop(columns=["days", "age"])
    return table.assign(enrolled=start, born=born, **{"last visit": last_visit})


def assert_fitted_to(model, times, events):
    """Check the times of the target by the counts that a model file holds."""
    target = as_target((times.to_numpy(float), events.to_numpy()))
    expected = TargetSummary.of(target).to_target()
    np.testing.assert_array_equal(model.training_target_.time, expected.time)


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"])
def test_dates_give_the_times_and_ages_of_the_original_table(form, dated, frame, write, fit, run):
    write(dated, date_format=form)
    assert "born: years before enrolled" in fit("data.csv", "--holdout 0", columns=DATED).words
    model = load("m.safetensors")
    assert model.metadata_["roles"]["unit"] == "days"
    assert_fitted_to(model, frame["days"].round(), frame["died"])
    fills = {column.name: column.fill for column in model.preprocessor_.columns_}
    assert fills["born"] == pytest.approx(frame["age"].mean(), abs=0.01)
    assert "survival_365.25" in run("predict m.safetensors data.csv --times 1y --json").out


def test_the_unit_decides_what_is_counted(dated, frame, write, fit):
    write(dated)
    fit("data.csv", "--unit months --holdout 0", columns=DATED)
    expected = frame["days"].round().max() / (365.25 / 12)
    assert load("m.safetensors").training_target_.time.max() == pytest.approx(expected)
    message = fit("data.csv", "--unit moons", columns=DATED, code=2).err
    assert "--unit must be one of" in message


def test_a_date_may_be_the_origin(dated, write, fit):
    columns = DATED.replace("enrolled", "2015-01-01 --drop enrolled")
    fit(write(dated), "--holdout 0", columns=columns)
    elapsed = (dated["last visit"] - pd.Timestamp("2015-01-01")).dt.days
    assert_fitted_to(load("m.safetensors"), elapsed, dated["died"])


def test_dates_without_an_origin_or_after_it_are_refused(dated, frame, write, fit):
    message = fit(write(dated), columns="--time 'last visit' --event died", code=2).err
    assert "--origin enrolled or --origin 2020-01-31" in message
    write(dated.assign(treated=dated["enrolled"] + pd.Timedelta(days=100)))
    message = fit("data.csv", columns=DATED, code=2).err
    assert "after the origin" in message
    assert "--drop 'treated'" in message
    assert "add --origin" in fit(write(frame.assign(visit="2020-01-05")), code=2).err


@pytest.mark.parametrize(
    ("texts", "order", "months"),
    [
        ("13/04/2020 01/02/2020", None, [4, 2]),
        ("04/13/2020 01/02/2020", None, [4, 1]),
        ("01/02/2020", "mdy", [1]),
        ("01/02/2020", "dmy", [2]),
        ("01/02/2020", None, "--date-order dmy"),
        ("13/04/2020 04/13/2020", None, "one format"),
    ],
)
def test_the_order_of_day_and_month_is_in_the_values_or_an_option(texts, order, months):
    values = pd.Series(texts.split())
    if isinstance(months, str):
        with pytest.raises(CovariateError, match=months):
            to_dates(values, order)
    else:
        assert to_dates(values, order).dt.month.tolist() == months


def test_what_holds_dates(fit):
    dates = pd.Series(pd.to_datetime(["2020-01-01", None]))
    assert holds_dates(dates)
    assert holds_dates(dates.dt.date)
    for text in ("a", "2020", "1.5", None):
        assert not holds_dates(pd.Series([text], dtype=object))
    assert "'dmy', 'mdy'" in fit("patients.csv", "--date-order ymd", code=2).words


@pytest.mark.parametrize(
    ("labels", "censored", "types"),
    [
        (["alive", "dead"], None, {"dead"}),
        (["Censored", "dead"], None, {"dead"}),
        ([False, True], None, {"True"}),
        ([1, 2], ["1"], {"2"}),
        ([0.0, 1.0], None, {"1"}),
        (["lost", "moved", "relapse"], ["lost", "moved"], {"relapse"}),
        (["0", "10", "9"], None, {"9", "10"}),
    ],
)
def test_labels_of_events(labels, censored, types):
    values = pd.Series(labels)
    codes = EventCodes.learn(values, "event", censored)
    assert set(codes.types) == types
    expected = [0] * (len(labels) - len(types)) + [*range(1, len(types) + 1)]
    assert sorted(codes.encode(values, "event")) == expected


@pytest.mark.parametrize(
    ("labels", "censored", "message"),
    [
        (["a", "b"], None, "--censored 'a'"),
        ([1, 2], None, "--censored '1'"),
        (["alive", "censored", "dead"], None, "Name the value that means censored"),
        (["lost", "dead"], ["alive"], "but not 'alive'"),
        (list(range(30)), None, "Is --event the right column?"),
        ([*range(30), "9" * 5000], None, "Is --event the right column?"),
    ],
)
def test_ambiguous_labels_are_refused(labels, censored, message):
    with pytest.raises(TargetError, match=message):
        EventCodes.learn(pd.Series(labels), "event", censored)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("days", ["1", "two"], "must hold numbers; got 'two' in data row 2"),
        ("days", [pd.Timedelta("1d")] * 2, "must hold numbers"),
        ("days", [1.0, -3.0], "-3"),
        ("days", [1.0, np.inf], "finite"),
        ("days", [np.nan, 1], "1 of 2 rows have no time or no event, the first is data row 1"),
        ("died", [None, 1], "--skip-incomplete"),
        ("patient", ["a", None], "subject must be known in every row"),
    ],
)
def test_invalid_outcomes_are_refused(column, values, message):
    frame = pd.DataFrame({"days": [1.0, 2.0], "died": [0, 1], "patient": ["a", "b"]})
    frame[column] = values
    with pytest.raises(TargetError, match=message):
        outcome(frame, id="patient")


def test_rows_without_outcome_are_left_out_only_on_request(fit, write, frame):
    write(frame.assign(days=frame["days"].where(frame.index > 4)))
    assert "5 of 200 rows have no time or no event" in fit("data.csv", code=2).err
    out = fit("data.csv", "--skip-incomplete").out
    assert "5 rows without time or event were left out" in out
    assert len(load("m.safetensors").training_target_) == 195


def test_overlapping_rows_are_refused_unless_they_are_separate():
    columns = {"id": [1, 1], "start": [0.0, 1.0], "stop": [2.0, 3.0], "died": [0, 1]}
    rows, options = pd.DataFrame(columns), {"time": "stop", "entry": "start", "id": "id"}
    with pytest.raises(TargetError, match="which overlap.*--separate-rows"):
        outcome(rows, **options)
    _, y, _ = outcome(rows, **options, separate_rows=True)
    assert "path" not in y.dtype.names


def test_visits_become_intervals():
    columns = {"id": [1, 1, 2], "day": [0, 3, 0], "end": [9, 9, 5], "died": [*"yyn"]}
    visits, options = pd.DataFrame(columns), {"time": "end", "visit": "day", "censored": ["n"]}
    rows, y, codes = outcome(visits, id="id", **options)
    assert rows[["day", "end", "died"]].to_numpy().tolist() == [[0, 3, 0], [3, 9, 1], [0, 5, 0]]
    assert y["event"].tolist() == [0, 1, 0]
    assert codes.types == ("y",)
    with pytest.raises(ValueError, match="--visit needs --id"):
        outcome(visits, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "--time"),
        ("--time days", "--time"),
        ("--time nothing --event died", "--time"),
        (f"{COLUMNS} --entry x", "It has: patient, age"),
        (f"{COLUMNS} --entry ''", "It has: patient, age"),
    ],
)
def test_the_columns_of_the_outcome_must_be_named(options, message, refused):
    assert message in refused(f"doctor patients.csv {options}")
