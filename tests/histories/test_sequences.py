"""Ragged sequences per subject: reading, selecting, cutting."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold
from sklearn.utils import _safe_indexing

from lifemix.errors import CovariateError, InputError, SettingError
from lifemix.histories import Histories


@pytest.fixture
def visits():
    return pd.DataFrame(
        {
            "id": ["b", "a", "b", "c", "b"],
            "day": [30.0, 5.0, 0.0, 0.0, 10.0],
            "bili": [3.0, 7.0, 1.0, 4.0, np.nan],
            "stage": ["late", "early", "early", None, "late"],
        }
    )


def test_visits_are_sorted_by_time_within_each_subject(visits):
    histories = Histories.from_long(visits, "id", "day")
    assert histories.subjects.tolist() == ["b", "a", "c"]
    long = histories.to_long()
    assert long["row"].tolist() == [0, 0, 0, 1, 2]
    assert long["time"].tolist() == [0.0, 10.0, 30.0, 5.0, 0.0]
    assert histories.columns == ["bili", "stage"]
    assert histories.shape == (3, 2)


def test_the_order_of_subjects_can_be_given(visits):
    histories = Histories.from_long(visits, "id", "day", columns=["bili"], subjects=["c", "b"])
    assert histories.n_visits.tolist() == [1, 3]
    assert histories.columns == ["bili"]


def test_subjects_without_a_visit_are_refused_or_kept(visits):
    with pytest.raises(CovariateError, match="1 of 2 have no row in the table of visits: d"):
        Histories.from_long(visits, "id", "day", subjects=["a", "d"])
    kept = Histories.from_long(visits, "id", "day", subjects=["a", "d"], empty="keep")
    assert kept.n_visits.tolist() == [1, 0]
    assert np.isnan(kept.last_times[1])
    assert kept.last().isna().all(axis=1).tolist() == [False, True]
    with pytest.raises(SettingError, match="empty must be"):
        Histories.from_long(visits, "id", "day", empty="drop")


@pytest.mark.parametrize("s", [-1.0, 0.0, 5.0, 9.99, 10.0, 29.0, 1e9])
def test_until_keeps_the_visits_at_or_before(visits, s):
    histories = Histories.from_long(visits, "id", "day")
    counts = visits[visits["day"] <= s].groupby("id").size().reindex(["b", "a", "c"], fill_value=0)
    cut = histories.until(s, empty="keep")
    assert cut.n_visits.tolist() == counts.tolist()
    assert (cut.at == s).all()
    if (counts == 0).any():
        with pytest.raises(CovariateError, match="have no visit at or before s"):
            histories.until(s)


def test_until_takes_one_time_per_row_and_never_adds_visits(visits):
    histories = Histories.from_long(visits, "id", "day")
    cut = histories.until([10.0, 5.0, 0.0])
    assert cut.n_visits.tolist() == [2, 1, 1]
    again = cut.until(100.0)
    assert again.n_visits.tolist() == [2, 1, 1]
    assert again.at.tolist() == [10.0, 5.0, 0.0]
    with pytest.raises(InputError, match=r"one per row, shape \(3,\); got shape \(2,\)"):
        histories.until([1.0, 2.0])
    with pytest.raises(InputError, match="got nan among"):
        histories.until([1.0, np.nan, 2.0])


def test_the_last_visit_carries_known_values_forward(visits):
    cut = Histories.from_long(visits, "id", "day").until(10.0)
    assert cut.last()["bili"].tolist() == [1.0, 7.0, 4.0]
    assert np.isnan(cut.last(carry=False)["bili"][0])
    assert cut.last()["stage"].tolist()[:2] == ["late", "early"]


@pytest.mark.parametrize(
    "rows", [[2, 0, 0], slice(0, 2), np.array([True, False, True]), 1, np.int64(2)]
)
def test_rows_are_selected_as_in_numpy(visits, rows):
    histories = Histories.from_long(visits, "id", "day")
    expected = np.atleast_1d(np.arange(3)[rows])
    assert histories[rows].subjects.tolist() == histories.subjects[expected].tolist()
    assert histories[rows].n_visits.tolist() == histories.n_visits[expected].tolist()


def test_scikit_learn_selects_rows(visits):
    histories = Histories.from_long(visits, "id", "day")
    assert _safe_indexing(histories, [2, 1]).subjects.tolist() == ["c", "a"]
    parts = list(GroupKFold(3).split(histories, groups=[0, 1, 2]))
    assert len(parts) == 3
    with pytest.raises(InputError, match="only rows"):
        histories.take([0], axis=1)


def test_a_pickle_holds_the_visits_of_its_rows_only(visits):
    histories = Histories.from_long(visits, "id", "day")
    part = pickle.loads(pickle.dumps(histories[[1, 2]].until(5.0)))
    assert len(part.parts()[0]) == 2
    pd.testing.assert_frame_equal(part.to_long(), histories[[1, 2]].to_long())
    assert part.at.tolist() == [5.0, 5.0]


def test_a_step_without_any_value_is_no_visit():
    values = np.arange(12.0).reshape(2, 3, 2)
    values[0, 1] = np.nan
    values[1, 0, 0] = np.nan
    histories = Histories.from_array(values, times=[0.0, 0.5, 2.0])
    assert histories.n_visits.tolist() == [2, 3]
    assert histories[0].to_long()["time"].tolist() == [0.0, 2.0]
    with pytest.raises(CovariateError, match=r"\(subjects, steps, columns\); got \(2, 3\)"):
        Histories.from_array(np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subject": "who"}, "has no column 'who'"),
        ({"columns": ["alb"]}, "has no column 'alb'"),
        ({"time": "stage"}, "must hold the times of visits as numbers"),
        ({"columns": []}, "needs a column of measurements"),
    ],
)
def test_tables_that_cannot_be_read_are_refused(visits, change, message):
    with pytest.raises(CovariateError, match=message):
        Histories.from_long(visits, **({"subject": "id", "time": "day"} | change))


def test_missing_times_and_subjects_are_refused(visits):
    with pytest.raises(CovariateError, match=r"finite times; got nan at row 1 \(1 such rows\)"):
        Histories.from_long(visits.assign(day=[0.0, np.nan, 1.0, 2.0, 3.0]), "id", "day")
    with pytest.raises(CovariateError, match="missing value at row 0"):
        Histories.from_long(visits.assign(id=[None, "a", "b", "c", "b"]), "id", "day")
    with pytest.raises(CovariateError, match="got dict"):
        Histories.from_long({"id": [1]}, "id", "day")
