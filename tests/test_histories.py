"""Histories: reading, selecting, cutting, landmarks, and several sources side by side."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils import _safe_indexing

from lifemix import make_target
from lifemix.errors import CovariateError, InputError, SettingError
from lifemix.histories import ArrayRows, Histories, Sources, as_input
from lifemix.report.page import inputs_as_table
from lifemix.target import as_target

VISITS = pd.DataFrame(
    {
        "id": ["b", "a", "b", "c", "b"],
        "day": [30.0, 5.0, 0.0, 0.0, 10.0],
        "bili": [3.0, 7.0, 1.0, 4.0, np.nan],
        "stage": ["late", "early", "early", None, "late"],
    }
)


@pytest.fixture
def histories():
    return Histories.from_long(VISITS, "id", "day")


def test_visits_are_sorted_by_time_within_each_subject(histories):
    assert histories.subjects.tolist() == ["b", "a", "c"]
    long = histories.to_long()
    assert long["row"].tolist() == [0, 0, 0, 1, 2]
    assert long["time"].tolist() == [0.0, 10.0, 30.0, 5.0, 0.0]
    assert histories.columns == ["bili", "stage"]
    assert histories.shape == (3, 2)
    options = {"columns": ["bili"], "subjects": ["c", "b"]}
    other = Histories.from_long(VISITS, "id", "day", **options)
    assert (other.n_visits.tolist(), other.columns) == ([1, 3], ["bili"])


def test_subjects_without_a_visit_are_refused_or_kept():
    arguments = VISITS, "id", "day"
    with pytest.raises(CovariateError, match="1 of 2 have no row in the table of visits: d"):
        Histories.from_long(*arguments, subjects=["a", "d"])
    histories = Histories.from_long(*arguments, subjects=["a", "d"], empty="keep")
    assert histories.n_visits.tolist() == [1, 0]
    assert np.isnan(histories.last_times[1])
    assert histories.last().isna().all(axis=1).tolist() == [False, True]
    with pytest.raises(SettingError, match="empty must be"):
        Histories.from_long(*arguments, empty="drop")


@pytest.mark.parametrize("s", [-1.0, 0.0, 5.0, 9.99, 10.0, 1e9])
def test_until_keeps_the_visits_at_or_before(histories, s):
    visits = VISITS[VISITS["day"] <= s]
    counts = visits.groupby("id").size().reindex(["b", "a", "c"], fill_value=0)
    cut = histories.until(s, empty="keep")
    assert cut.n_visits.tolist() == counts.tolist()
    assert (cut.at == s).all()
    if (counts == 0).any():
        with pytest.raises(CovariateError, match="have no visit at or before s"):
            histories.until(s)


def test_until_takes_one_time_per_row_and_never_adds_visits(histories):
    cut = histories.until([10.0, 5.0, 0.0])
    for form in (cut, cut.until(100.0)):
        assert form.n_visits.tolist() == [2, 1, 1]
        assert form.at.tolist() == [10.0, 5.0, 0.0]
    assert cut.last()["bili"].tolist() == [1.0, 7.0, 4.0]  # the last known value
    assert np.isnan(cut.last(carry=False)["bili"][0])
    assert cut.last()["stage"].tolist()[:2] == ["late", "early"]
    for bad in ([1.0, 2.0], [1.0, np.nan, 2.0]):
        with pytest.raises(InputError, match="got "):
            histories.until(bad)


ROWS = [[2, 0, 0], slice(0, 2), np.array([True, False, True]), 1, np.int64(2)]


@pytest.mark.parametrize("rows", ROWS, ids=repr)
def test_rows_are_selected_as_in_numpy(histories, rows):
    expected = np.atleast_1d(np.arange(3)[rows])
    selected = histories[rows]
    assert selected.subjects.tolist() == histories.subjects[expected].tolist()
    assert selected.n_visits.tolist() == histories.n_visits[expected].tolist()
    assert _safe_indexing(histories, [2, 1]).subjects.tolist() == ["c", "a"]


def test_a_pickle_has_the_visits_of_its_rows_only(histories):
    part = histories[[1, 2]].until(5.0)
    again = pickle.loads(pickle.dumps(part))
    assert len(again.visits_and_bounds()[0]) == 2
    pd.testing.assert_frame_equal(again.to_long(), part.to_long())
    assert again.at.tolist() == [5.0, 5.0]


def test_a_step_without_any_value_is_no_visit():
    values = np.arange(12.0).reshape(2, 3, 2)
    values[0, 1] = np.nan
    values[1, 0, 0] = np.nan
    histories = Histories.from_array(values, times=[0.0, 0.5, 2.0])
    assert histories.n_visits.tolist() == [2, 3]
    assert histories[0].to_long()["time"].tolist() == [0.0, 2.0]
    with pytest.raises(CovariateError, match=r"\(subjects, steps, columns\); got \(2, 3\)"):
        Histories.from_array(np.zeros((2, 3)))


BAD_TABLES = [
    (VISITS, {"subject": "who"}, "has no column 'who'"),
    (VISITS, {"columns": ["alb"]}, "has no column 'alb'"),
    (VISITS, {"time": "stage"}, "stage must be numbers"),
    (VISITS, {"columns": []}, "needs a column of measurements"),
    (VISITS.assign(day=[0.0, np.nan, 1.0, 2.0, 3.0]), {}, r"nan at row 1 \(1 such rows\)"),
    (VISITS.assign(id=[None, "a", "b", "c", "b"]), {}, "missing value at row 0"),
    ({"id": [1]}, {}, "got dict"),
]


@pytest.mark.parametrize(("visits", "changes", "message"), BAD_TABLES)
def test_tables_that_cannot_be_read_are_refused(visits, changes, message):
    with pytest.raises(CovariateError, match=message):
        Histories.from_long(visits, **({"subject": "id", "time": "day"} | changes))


# Landmarks.


def steps(n, n_steps=4, **options):
    return Histories.from_array(np.arange(1.0 * n * n_steps).reshape(n, n_steps, 1), **options)


def test_rows_are_at_risk_and_know_only_the_past():
    X, y, rows = steps(2).landmarks(make_target([2.5, 9.0], [1, 0]), times=[2.0, 1.0, 4.5])
    assert rows.tolist() == [0, 0, 1, 1, 1]
    assert y["entry"].tolist() == [1.0, 2.0, 1.0, 2.0, 4.5]
    assert X.n_visits.tolist() == [2, 3, 2, 3, 4]
    assert y["time"].tolist() == [2.5, 2.5, 9.0, 9.0, 9.0]
    assert (X.at == y["entry"]).all()
    assert (X.last_times <= y["entry"]).all()
    # A landmark before the first visit or the entry is dropped.
    y = make_target([9.0, 9.0], [1, 0], entry=[0.0, 0.7])
    histories = steps(2, 2, times=[[1.0, 2.0], [0.0, 1.0]])
    _, y, rows = histories.landmarks(y, times=[0.5, 1.5])
    assert (rows.tolist(), y["entry"].tolist()) == ([0, 1], [1.5, 1.5])


@pytest.mark.parametrize("subject", [None, [7, 7, 8]])
def test_rows_of_a_subject_stay_together(subject):
    target = make_target([9.0, 9.0, 9.0], [1, 0, 1], subject=subject)
    _, y, rows = steps(3).landmarks(target)
    assert as_target(y).n_subjects == (3 if subject is None else 2)
    expected = rows if subject is None else np.array(subject)[rows]
    assert y["subject"].tolist() == expected.tolist()


@pytest.mark.parametrize("options", [{"n_per_subject": 3}, {"times": [0.5, 1.0, 3.0]}])
def test_the_hazard_after_landmarks_is_the_true_one(options):
    """Events over time at risk estimate a hazard; landmarks that knew the future would not."""
    time = np.random.default_rng(0).exponential(2.0, 4000)
    y = make_target(time, np.ones(4000, dtype=int))
    _, rows, _ = steps(4000, 1).landmarks(y, **options)
    hazard = (rows["event"] > 0).sum() / (rows["time"] - rows["entry"]).sum()
    assert hazard == pytest.approx(0.5, rel=0.06)
    draws = [steps(4000, 1).landmarks(y, **options, random_state=seed).y for seed in (3, 3, 4)]
    assert draws[0].tolist() == draws[1].tolist()
    assert (draws[0].tolist() == draws[2].tolist()) == ("times" in options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"times": [1.0], "n_per_subject": 2}, SettingError, "exclude each other"),
        ({"n_per_subject": 0}, SettingError, "n_per_subject must be a whole number"),
        ({"times": [1e6]}, InputError, "no subject is under observation"),
        ({"y": make_target([1.0, 2.0], [1, 0])}, InputError, "got 3 in X and 2 in y"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options, error, message):
    y = make_target([9.0, 9.0, 9.0], [1, 0, 1])
    with pytest.raises(error, match=message):
        steps(3).landmarks(**({"y": y} | options))


# Several sources.


def sources():
    clinic = pd.DataFrame({"age": [61.0, 48.0, 55.0]}, index=[9, 8, 7])
    return {"clinic": clinic, "visits": steps(3, 2), "scan": np.ones((3, 2, 2))}


def test_rows_of_all_sources_are_selected_together():
    selected = Sources(sources())[[2, 0]]
    assert selected.parts["clinic"]["age"].tolist() == [55.0, 61.0]
    assert selected.parts["visits"].last()["x0"].tolist() == [5.0, 1.0]
    assert selected.parts["scan"].values.shape == (2, 2, 2)
    assert selected.columns[:2] == ["clinic.age", "visits.x0"]
    assert selected.shape == (2, 6)
    table = inputs_as_table(Sources(sources()))
    assert table.columns.tolist() == ["clinic.age", "visits.number of visits", "visits.x0"]
    assert table["visits.x0"].tolist() == [1.0, 3.0, 5.0]


def test_sources_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="got {'clinic': 3, 'visits': 2}"):
        Sources({"clinic": sources()["clinic"], "visits": steps(2)})
    with pytest.raises(CovariateError, match="source 'age' must be a table"):
        Sources({"age": np.ones(3)})
    with pytest.raises(CovariateError, match="at least one source"):
        Sources({})


def test_tables_stay_as_they_are():
    frame = pd.DataFrame({"a": [1]})
    for table in (frame, np.ones((2, 2)), [[1.0]], sparse.dok_array((2, 2)), steps(2)):
        assert as_input(table) is table
    assert isinstance(as_input(np.ones((2, 3, 4))), ArrayRows)
    assert isinstance(as_input(sources()), Sources)
