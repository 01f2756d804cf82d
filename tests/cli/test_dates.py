"""Start and end dates in place of a time, date columns as ages, times with units, start-stop tables."""

import numpy as np
import pandas as pd
import pytest

from commands import QUICK
from lifemix import load
from lifemix.cli.outcome import holds_dates, to_dates
from lifemix.cli.time_units import TimeList, unit_days
from lifemix.errors import CovariateError, SettingError
from lifemix.target import as_target
from lifemix.target_summary import TargetSummary

DATED = ["--time", "last seen", "--event", "died", "--id", "patient", "--origin", "enrolled"]


@pytest.fixture(scope="module")
def dated(frame):
    """Return the table with dates in place of days: enrolled, last seen, born."""
    generator = np.random.default_rng(0)
    start = pd.Timestamp("2015-01-01") + pd.to_timedelta(
        generator.integers(0, 1000, len(frame)), unit="D"
    )
    days = pd.to_timedelta(frame["days"].round(), unit="D")
    born = start - pd.to_timedelta((frame["age"] * 365.25).round(), unit="D")
    table = frame.drop(columns=["days", "age"])
    return table.assign(enrolled=start, **{"last seen": start + days}, born=born)


def same_times(model, times, events):
    """Tell whether a model was fitted to these times: their counts in cells are those of its file."""
    expected = TargetSummary.of(as_target((times.to_numpy(float), events.to_numpy()))).to_target()
    return np.array_equal(model.training_target_.time, expected.time)


def written(dated, form):
    columns = ["enrolled", "last seen", "born"]
    return dated.assign(**{name: dated[name].dt.strftime(form) for name in columns})


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"])
def test_dates_give_the_times_and_ages_of_the_table_they_came_from(
    form, dated, frame, write, run, tmp_path
):
    path, output = write(written(dated, form)), tmp_path / "m.safetensors"
    outcome = run("fit", path, *DATED, *QUICK, "--holdout", "0", "-o", output)
    assert outcome.code == 0, outcome.err
    model = load(output)
    assert model.metadata_["roles"]["time_unit"] == "days"
    assert same_times(model, frame["days"].round(), frame["died"])
    assert not same_times(model, frame["days"].round() + 1, frame["died"])
    column = {column.name: column for column in model.preprocessor_.columns_}["born"]
    assert column.fill == pytest.approx(frame["age"].mean(), abs=0.01)
    assert "years before enrolled" in " ".join(outcome.out.split())
    predicted = run("predict", output, path, "--times", "1y", "--json")
    assert predicted.code == 0, predicted.err
    assert "survival_365.25" in predicted.json[0]


def test_the_unit_says_what_is_counted(dated, write, run, tmp_path, frame, refused):
    path, output = write(dated), tmp_path / "m.safetensors"
    assert (
        run("fit", path, *DATED, *QUICK, "--unit", "months", "--holdout", "0", "-o", output).code
        == 0
    )
    expected = frame["days"].round().max() / (365.25 / 12)
    assert load(output).training_target_.time.max() == pytest.approx(expected)
    assert "--unit must be one of" in refused("fit", path, *DATED, "--unit", "moons", "-o", output)


def test_what_is_missing_is_asked_for(dated, write, refused, tmp_path):
    output = ["-o", tmp_path / "m.safetensors"]
    message = refused("fit", write(dated), "--time", "last seen", "--event", "died", *output)
    assert "--origin enrolled or --origin 2020-01-31" in message
    late = dated.assign(treated=dated["enrolled"] + pd.Timedelta(days=100))
    message = refused("fit", write(late), *DATED, *output)
    assert "after the origin" in message
    assert "--drop treated" in message
    numbers = ["--time", "days", "--event", "died"]
    message = refused("fit", write(dated.assign(days=np.arange(200) + 1.0)), *numbers, *output)
    assert "add --origin" in message


def test_one_date_may_be_the_origin(dated, write, run, tmp_path):
    output = tmp_path / "m.safetensors"
    options = [*DATED[:-1], "2015-01-01", "--drop", "enrolled"]
    assert run("fit", write(dated), *options, *QUICK, "--holdout", "0", "-o", output).code == 0
    elapsed = (dated["last seen"] - pd.Timestamp("2015-01-01")).dt.days
    assert same_times(load(output), elapsed, dated["died"])


def test_the_order_of_day_and_month_is_told_by_the_values_or_asked():
    for texts, month in ((["13/04/2020", "01/02/2020"], 2), (["04/13/2020", "01/02/2020"], 1)):
        assert to_dates("x", pd.Series(texts), None).dt.month.tolist()[1] == month
    with pytest.raises(CovariateError, match="--date-order dmy"):
        to_dates("x", pd.Series(["01/02/2020"]), None)
    assert to_dates("x", pd.Series(["01/02/2020", None]), "mdy").dt.month.tolist()[0] == 1
    with pytest.raises(CovariateError, match="several formats"):
        to_dates("x", pd.Series(["13/04/2020", "04/13/2020"]), None)


def test_what_holds_dates():
    dates = pd.Series(pd.to_datetime(["2020-01-01", None]))
    assert holds_dates(dates)
    assert holds_dates(dates.dt.date)
    for texts in (["a", "b"], ["2020"], ["1.5"], [None]):
        assert not holds_dates(pd.Series(texts, dtype=object))


def test_times_may_have_units():
    times = TimeList.parse(["30d,1y", "2", "6 months", "1e2"])
    assert times.within("days") == pytest.approx([2, 30, 100, 182.625, 365.25])
    assert TimeList.parse(["365.25 days"]).within("year") == pytest.approx([1])
    assert TimeList.parse(None).within("days") == []
    assert TimeList.parse(["2,1"]).within("") == [1, 2]
    with pytest.raises(SettingError, match="the unit of the model's times is not known"):
        TimeList.parse(["1y"]).within("")
    for text in ("1parsec", "x", "", "-1", "nan", "1d2"):
        with pytest.raises(SettingError, match="--times"):
            TimeList.parse([text])
    assert [unit_days(unit) for unit in ("day", "Days", "d", "moon")] == [1, 1, 1, None]


def test_a_start_stop_table_is_recognised(frame, write, run, refused, tmp_path):
    first = frame.assign(start=0.0, stop=frame["days"] / 2, died=0)
    second = frame.assign(start=frame["days"] / 2, stop=frame["days"])
    rows = pd.concat([first, second]).sort_values(["patient", "start"]).drop(columns="days")
    path, output = write(rows), tmp_path / "m.safetensors"
    columns = ["--time", "stop", "--event", "died"]
    message = refused("fit", path, *columns, "--drop", "patient", "-o", output)
    assert "start-stop table" in message
    assert "--start start" in message
    columns += ["--id", "patient"]
    assert (
        run("fit", path, *columns, "--entry", "start", *QUICK, "--holdout", "0", "-o", output).code
        == 0
    )
