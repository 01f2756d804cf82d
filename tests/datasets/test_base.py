"""A table of the user as a data set."""

from io import StringIO

import pandas as pd
import pytest

from lifemix.datasets import from_frame
from lifemix.errors import CovariateError, TargetError

FRAME = pd.read_csv(StringIO("age,days,status,start,end\n50,3,0,0,\n60,4,2,1,6\n,5,1,0,\n"))


def test_named_columns_become_the_target_and_the_rest_covariates():
    data = from_frame(FRAME.set_axis([5, 6, 7]), time="days", event="status", time_unit="days")
    assert data.X.columns.tolist() == ["age", "start", "end"]
    assert data.X.index.tolist() == [5, 6, 7]
    assert data.y["time"].tolist() == [3, 4, 5]
    assert data.y["event"].tolist() == [0, 2, 1]
    assert data.event_names == {1: "event 1", 2: "event 2"}
    facts = "own data: 3 rows x 3 columns; 1 censored, 1 event 1, 1 event 2; time in days"
    assert repr(data) == f"<Dataset {facts}>"


def test_entry_and_upper():
    data = from_frame(FRAME, "days", "status", "start", "end", event_names={1: "a", 2: "b"})
    assert data.X.columns.tolist() == ["age"]
    assert data.y["entry"].tolist() == [0, 1, 0]
    assert data.y["upper"][1] == 6
    assert data.event_names == {1: "a", 2: "b"}


@pytest.mark.parametrize(
    ("frame", "columns", "message"),
    [
        (FRAME, ("day", "status"), r"no column \['day'\]; it has \['age'"),
        (FRAME, ("days", "days"), "must be different columns"),
        (FRAME[["days", "status"]], ("days", "status"), "must have covariates too"),
        (FRAME, ("age", "status"), "time must be finite; got nan at row 2"),
    ],
)
def test_columns_that_cannot_be_used_are_refused(frame, columns, message):
    with pytest.raises((CovariateError, TargetError), match=message):
        from_frame(frame, *columns)
