import numpy as np
import pandas as pd
import pytest

from lifemix.datasets import from_frame
from lifemix.errors import CovariateError, TargetError

FRAME = pd.DataFrame(
    {
        "age": [50, 60.0, np.nan],
        "days": [3, 4, 5.0],
        "status": [0, 2, 1],
        "start": [0, 1, 0],
        "end": [np.nan, 6, np.nan],
    },
    index=[5, 6, 7],
)


def test_named_columns_become_the_target_and_the_rest_covariates():
    data = from_frame(FRAME, time="days", event="status", time_unit="days")
    assert data.X.columns.tolist() == ["age", "start", "end"]
    assert data.X.index.tolist() == [5, 6, 7]
    assert data.y["time"].tolist() == [3, 4, 5]
    assert data.y["event"].tolist() == [0, 2, 1]
    assert data.event_names == {1: "event 1", 2: "event 2"}
    assert (
        repr(data)
        == "<Dataset own data: 3 rows x 3 columns; 1 censored, 1 event 1, 1 event 2; time in days>"
    )


def test_entry_and_upper():
    data = from_frame(FRAME, "days", "status", "start", "end", event_names={1: "a", 2: "b"})
    assert data.X.columns.tolist() == ["age"]
    assert data.y["entry"].tolist() == [0, 1, 0]
    assert data.y["upper"][1] == 6
    assert data.event_names == {1: "a", 2: "b"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("day", "status"), r"no column \['day'\]; it has \['age'"),
        (("zzz", "status"), r"no column \['zzz'\]; it has \['age'"),
        (("days", "days"), "must be different columns"),
    ],
)
def test_wrong_columns_are_named(arguments, message):
    with pytest.raises(CovariateError, match=message):
        from_frame(FRAME, *arguments)


def test_a_table_without_covariates_is_refused():
    with pytest.raises(CovariateError, match="must have covariates too"):
        from_frame(FRAME[["days", "status"]], "days", "status")


def test_times_that_cannot_be_used_are_refused():
    with pytest.raises(TargetError, match="time must be finite; got nan at row 2"):
        from_frame(FRAME, "age", "status")
