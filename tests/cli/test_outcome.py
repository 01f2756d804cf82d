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

DATED = ["--time", "last seen", "--event", "died", "--id", "patient", "--origin", "enrolled"]


def outcome(frame, time="days", event="died", **options):
    return read_outcome(frame, TableOptions(time=time, event=event, **options))


@pytest.fixture(scope="module")
def dated(frame):
    """Return the table with dates instead of days and ages: enrolled, last seen, born."""
    days = np.random.default_rng(0).integers(0, 1000, len(frame))
    start = pd.Timestamp("2015-01-01") + pd.to_timedelta(days, unit="D")
    born = start - pd.to_timedelta((frame["age"] * 365.25).round(), unit="D")
    last_seen = start + pd.to_timedelta(frame["days"].round(), unit="D")
    table = frame.drop(columns=["days", "age"])
    return table.assign(enrolled=start, **{"last seen": last_seen}, born=born)


def has_times(model, times, events):
    """Return whether a model was fitted to these times: their counts are those of its file."""
    target = as_target((times.to_numpy(float), events.to_numpy()))
    expected = TargetSummary.of(target).to_target()
    return np.array_equal(model.training_target_.time, expected.time)


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"])
def test_dates_give_the_times_and_ages_of_the_original_table(form, dated, frame, write, fit, run):
    columns = ["enrolled", "last seen", "born"]
    path = write(dated.assign(**{name: dated[name].dt.strftime(form) for name in columns}))
    words = fit(path, "--holdout", "0", columns=DATED).words
    assert "born: years before enrolled" in words
    model = load(fit.model)
    assert model.metadata_["roles"]["unit"] == "days"
    assert has_times(model, frame["days"].round(), frame["died"])
    assert not has_times(model, frame["days"].round() + 1, frame["died"])
    column = {column.name: column for column in model.preprocessor_.columns_}["born"]
    assert column.fill == pytest.approx(frame["age"].mean(), abs=0.01)
    assert "survival_365.25" in run("predict", fit.model, path, "--times", "1y", "--json").out


def test_the_unit_says_what_is_counted(dated, frame, write, fit):
    path = write(dated)
    fit(path, "--unit", "months", "--holdout", "0", columns=DATED)
    expected = frame["days"].round().max() / (365.25 / 12)
    assert load(fit.model).training_target_.time.max() == pytest.approx(expected)
    message = fit(path, "--unit", "moons", columns=DATED, code=2).err
    assert "--unit must be one of" in message


def test_dates_without_an_origin_are_refused(dated, frame, write, fit):
    message = fit(write(dated), columns=["--time", "last seen", "--event", "died"], code=2).err
    assert "--origin enrolled or --origin 2020-01-31" in message
    late = dated.assign(treated=dated["enrolled"] + pd.Timedelta(days=100))
    message = fit(write(late), columns=DATED, code=2).err
    assert "after the origin" in message
    assert "--drop 'treated'" in message
    message = fit(write(frame.assign(seen="2020-01-05")), code=2).err
    assert "add --origin" in message


def test_one_date_may_be_the_origin(dated, write, fit):
    columns = [*DATED[:-1], "2015-01-01", "--drop", "enrolled"]
    fit(write(dated), "--holdout", "0", columns=columns)
    elapsed = (dated["last seen"] - pd.Timestamp("2015-01-01")).dt.days
    assert has_times(load(fit.model), elapsed, dated["died"])


def test_the_order_of_day_and_month_is_in_the_values_or_an_option(fit, data):
    for texts, month in ((["13/04/2020", "01/02/2020"], 2), (["04/13/2020", "01/02/2020"], 1)):
        assert to_dates(pd.Series(texts), None).dt.month.tolist()[1] == month
    ambiguous = pd.Series(["01/02/2020", None])
    with pytest.raises(CovariateError, match="--date-order dmy"):
        to_dates(ambiguous, None)
    assert to_dates(ambiguous, "mdy").dt.month.tolist()[0] == 1
    assert to_dates(ambiguous, "dmy").dt.month.tolist()[0] == 2
    with pytest.raises(CovariateError, match="one format"):
        to_dates(pd.Series(["13/04/2020", "04/13/2020"]), None)
    assert "'dmy', 'mdy'" in fit(data, "--date-order", "ymd", code=2).words


def test_what_holds_dates():
    dates = pd.Series(pd.to_datetime(["2020-01-01", None]))
    assert holds_dates(dates)
    assert holds_dates(dates.dt.date)
    for texts in (["a", "b"], ["2020"], ["1.5"], [None]):
        assert not holds_dates(pd.Series(texts, dtype=object))


EVENTS = {
    "words": (["alive", "dead"], None, {"dead"}),
    "capitals": (["Censored", "dead"], None, {"dead"}),
    "booleans": ([False, True], None, {"True"}),
    "1 and 2": ([1, 2], ["1"], {"2"}),
    "floats": ([0.0, 1.0], None, {"1"}),
    "option": (["lost", "relapse"], ["lost"], {"relapse"}),
    "two censored words": (["lost", "moved", "relapse"], ["lost", "moved"], {"relapse"}),
    "many types": (["0", "10", "9"], None, {"9", "10"}),
}


@pytest.mark.parametrize("case", EVENTS)
def test_labels_of_events(case):
    labels, censored, types = EVENTS[case]
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
    ],
)
def test_ambiguous_labels_are_refused(labels, censored, message):
    with pytest.raises(TargetError, match=message):
        EventCodes.learn(pd.Series(labels), "event", censored)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"days": ["1", "two"]}, "must hold numbers; got 'two' in data row 2"),
        ({"days": [pd.Timedelta("1d")] * 2}, "must hold numbers"),
        ({"days": [1.0, -3.0]}, "-3"),
        ({"days": [1.0, np.inf]}, "finite"),
        ({"days": [np.nan, 1]}, "1 of 2 rows have no time or no event, the first is data row 1"),
        ({"died": [None, 1]}, "--skip-incomplete"),
        ({"patient": ["a", None]}, "subject must be known in every row"),
    ],
)
def test_invalid_outcomes_are_refused(change, message):
    frame = pd.DataFrame({"days": [1.0, 2.0], "died": [0, 1], "patient": ["a", "b"]})
    with pytest.raises(TargetError, match=message):
        outcome(frame.assign(**change), id="patient")


def test_rows_without_outcome_are_left_out_only_if_asked(fit, write, frame):
    path = write(frame.assign(days=frame["days"].where(frame.index > 4)))
    assert "5 of 200 rows have no time or no event" in fit(path, code=2).err
    assert "5 rows without time or event were left out" in fit(path, "--skip-incomplete").out
    assert len(load(fit.model).training_target_) == 195


def test_overlapping_rows_are_refused_unless_they_are_separate():
    rows = {"id": [1, 1], "start": [0.0, 1.0], "stop": [2.0, 3.0], "died": [0, 1]}
    options = {"time": "stop", "entry": "start", "id": "id"}
    with pytest.raises(TargetError, match="which overlap.*--separate-rows"):
        outcome(pd.DataFrame(rows), **options)
    _, y, _ = outcome(pd.DataFrame(rows), **options, separate_rows=True)
    assert "path" not in y.dtype.names


def test_visits_become_intervals():
    visits = {"id": [1, 1, 2], "day": [0, 3, 0], "end": [9, 9, 5], "died": [*"yyn"]}
    options = {"time": "end", "visit": "day", "censored": ["n"]}
    rows, y, codes = outcome(pd.DataFrame(visits), id="id", **options)
    assert rows[["day", "end", "died"]].to_numpy().tolist() == [[0, 3, 0], [3, 9, 1], [0, 5, 0]]
    assert y["event"].tolist() == [0, 1, 0]
    assert codes.types == ("y",)
    with pytest.raises(ValueError, match="--visit needs --id"):
        outcome(pd.DataFrame(visits), **options)


def test_the_columns_of_the_outcome_must_be_named(refused, data, tmp_path):
    for options in ([], ["--time", "days"], ["--time", "nothing", "--event", "died"]):
        assert "--time" in refused("doctor", data, *options)
    assert "It has: patient, age" in refused("doctor", data, *COLUMNS, "--entry", "x")
