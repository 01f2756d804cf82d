"""Rows of one subject in a table on disk must follow each other, as in memory."""

import numpy as np
import pandas as pd
import pytest

from lifemix import DeepSurvivalMachines, make_target
from lifemix.errors import TargetError
from lifemix.streaming import TableSource, path_check

ROLES = {"time": "stop", "event": "event", "entry": "start", "subject": "patient"}
SMALL = {"hidden": (4,), "n_members": 1, "max_epochs": 1, "batch_size": 64}


def intervals(n=150, rows_each=3):
    """Subjects with consecutive rows, mixed among each other."""
    rng = np.random.default_rng(0)
    ends = rng.exponential(2.0, size=(n, rows_each)).cumsum(1) + 0.1
    starts = np.concatenate([np.zeros((n, 1)), ends[:, :-1]], axis=1)
    event = np.zeros((n, rows_each), dtype=int)
    event[:, -1] = rng.integers(0, 2, n)
    frame = pd.DataFrame({"start": starts.ravel(), "stop": ends.ravel(), "event": event.ravel()})
    frame["patient"] = np.repeat([f"p{i}" for i in range(n)], rows_each)
    frame["a"] = rng.normal(size=len(frame))
    return frame.sample(frac=1, random_state=1).reset_index(drop=True)


def source(frame, path, **options):
    frame.to_parquet(path / "t.parquet", index=False, row_group_size=100)
    return TableSource(path / "t.parquet", **ROLES, **options)


def rows_of(frame, subject):
    """The rows of a subject in the order of time."""
    return frame[frame["patient"] == subject].sort_values("start").index


def test_consecutive_rows_anywhere_in_the_table_are_taken(tmp_path):
    model = DeepSurvivalMachines(**SMALL).fit(source(intervals(), tmp_path))
    assert model.n_events_ == 1


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"stop": 1.5}, "which overlap"),
        ({"event": 1}, "the first with event 1, after which nothing can follow"),
        ({"stop": 0.5}, "with a gap between them"),
    ],
)
def test_rows_that_do_not_follow_are_refused_with_their_numbers(tmp_path, changed, what):
    frame = intervals()
    first, second, _ = rows_of(frame, "p7")
    name, factor = next(iter(changed.items()))
    if name == "stop":
        frame.loc[first, "stop"] *= factor
    else:
        frame.loc[first, "event"] = factor
    with pytest.raises(TargetError, match=what) as caught:
        DeepSurvivalMachines(**SMALL).fit(source(frame, tmp_path))
    assert f"(rows {first + 1} and {second + 1};" in str(caught.value)
    with pytest.raises(TargetError, match=what):  # as in memory
        make_target(frame["stop"], frame["event"], frame["start"], subject=frame["patient"])
    DeepSurvivalMachines(**SMALL).fit(source(frame, tmp_path, paths=False))


def test_of_a_large_table_overlaps_are_found_where_rows_are_read_together(tmp_path, monkeypatch):
    monkeypatch.setattr(path_check, "_KEPT", 0)  # no subject is chosen
    frame = intervals().sort_values(["patient", "start"], ignore_index=True)
    frame.loc[0, "stop"] *= 0.5  # a gap, which may be filled elsewhere
    DeepSurvivalMachines(**SMALL).fit(source(frame, tmp_path))
    frame.loc[3, "stop"] *= 1.5
    with pytest.raises(TargetError, match=r"which overlap \(rows 4 and 5;"):
        DeepSurvivalMachines(**SMALL).fit(source(frame, tmp_path))


def test_without_late_entries_rows_are_separate(tmp_path):
    frame = intervals().assign(start=0.0)
    DeepSurvivalMachines(**SMALL).fit(source(frame, tmp_path))
