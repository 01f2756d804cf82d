"""Rows of one subject as consecutive intervals: how they are read, checked, joined and kept together."""

import numpy as np
import pandas as pd
import pytest

from lifemix import make_target
from lifemix.errors import TargetError
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
            r"subject cem in \(1, 3\] and \(3, 6\], the first with event 1, after which",
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
