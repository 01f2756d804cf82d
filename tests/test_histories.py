"""Histories: reading, selecting, cutting, landmarks, and several sources side by side."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import GroupKFold
from sklearn.utils import _safe_indexing

from lifemix import make_target
from lifemix.errors import CovariateError, InputError, SettingError
from lifemix.histories import ArrayRows, Histories, Sources, as_input
from lifemix.report.page import inputs_as_table
from lifemix.target import as_target


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
    with pytest.raises(InputError, match=r"one per row, shape \(3,\); got \[1.0, 2.0\]"):
        histories.until([1.0, 2.0])
    with pytest.raises(InputError, match=r"got \[1.0, nan, 2.0\]"):
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


def test_a_pickle_holds_the_visits_of_its_rows_only(visits):
    histories = Histories.from_long(visits, "id", "day")
    part = pickle.loads(pickle.dumps(histories[[1, 2]].until(5.0)))
    assert len(part.visits_and_bounds()[0]) == 2
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
        ({"time": "stage"}, "stage must be numbers"),
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


def exponential(n=4000, rate=0.5, seed=0):
    rng = np.random.default_rng(seed)
    times = rng.exponential(1 / rate, n)
    return (
        Histories.from_array(np.zeros((n, 1, 1))),
        make_target(times, np.ones(n, dtype=int)),
        times,
    )


def test_rows_are_at_risk_and_know_only_the_past():
    histories = Histories.from_array(np.arange(8.0).reshape(2, 4, 1))
    X, y, rows = histories.landmarks(make_target([2.5, 9.0], [1, 0]), times=[2.0, 1.0, 4.5])
    assert rows.tolist() == [0, 0, 1, 1, 1]
    assert y["entry"].tolist() == [1.0, 2.0, 1.0, 2.0, 4.5]
    assert X.n_visits.tolist() == [2, 3, 2, 3, 4]
    assert y["time"].tolist() == [2.5, 2.5, 9.0, 9.0, 9.0]
    assert (X.at == y["entry"]).all()
    assert (X.last_times <= y["entry"]).all()


def test_rows_of_a_subject_stay_together():
    histories = Histories.from_array(np.zeros((3, 4, 1)))
    _, y, rows = histories.landmarks(make_target([9.0, 9.0, 9.0], [1, 0, 1]))
    assert as_target(y).n_subjects == 3
    assert y["subject"].tolist() == rows.tolist()
    _, y, _ = histories.landmarks(make_target([9.0, 9.0, 9.0], [1, 0, 1], subject=[7, 7, 8]))
    assert as_target(y).n_subjects == 2


def test_a_landmark_before_the_first_visit_or_the_entry_is_dropped():
    histories = Histories.from_array(np.zeros((2, 2, 1)), times=[[1.0, 2.0], [0.0, 1.0]])
    y = make_target([9.0, 9.0], [1, 0], entry=[0.0, 0.7])
    _, cut, rows = histories.landmarks(y, times=[0.5, 1.5])
    assert rows.tolist() == [0, 1]
    assert cut["entry"].tolist() == [1.5, 1.5]


@pytest.mark.parametrize("how", [{"n_per_subject": 3}, {"times": [0.5, 1.0, 3.0]}])
def test_the_hazard_after_landmarks_is_the_true_one(how):
    """Events over time at risk estimate a constant hazard; landmarks that knew the future would not."""
    histories, y, times = exponential()
    _, rows, _ = histories.landmarks(y, **how)
    assert (rows["event"] > 0).sum() / (rows["time"] - rows["entry"]).sum() == pytest.approx(
        0.5, rel=0.06
    )
    own = times * np.random.default_rng(1).random(len(times))  # drawn up to each subject's own end
    assert len(times) / (times - own).sum() == pytest.approx(1.0, rel=0.06)


def test_draws_depend_on_the_seed_alone():
    histories, y, _ = exponential(50)
    first, again, other = (
        histories.landmarks(y, n_per_subject=2, random_state=seed).y for seed in (3, 3, 4)
    )
    assert (first == again).all()
    assert len(first) != len(other) or (first["entry"] != other["entry"]).any()


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"times": [1.0], "n_per_subject": 2}, SettingError, "exclude each other"),
        ({"n_per_subject": 0}, SettingError, "n_per_subject must be a whole number"),
        ({"times": [1e6]}, InputError, "no subject is under observation"),
    ],
)
def test_what_cannot_be_drawn_is_refused(how, error, message):
    histories, y, _ = exponential(20)
    with pytest.raises(error, match=message):
        histories.landmarks(y, **how)


def test_histories_and_target_have_the_same_rows():
    histories, y, _ = exponential(20)
    with pytest.raises(InputError, match="got 20 in X and 19 in y"):
        histories.landmarks(y[:-1])


def sources():
    clinic = pd.DataFrame({"age": [61.0, 48.0, 55.0]}, index=[9, 8, 7])
    return {
        "clinic": clinic,
        "visits": Histories.from_array(np.arange(6.0).reshape(3, 2, 1)),
        "scan": np.ones((3, 2, 2)),
    }


def test_rows_of_all_sources_are_selected_together():
    both = Sources(sources())[[2, 0]]
    assert both.parts["clinic"]["age"].tolist() == [55.0, 61.0]
    assert both.parts["visits"].last()["x0"].tolist() == [5.0, 1.0]
    assert both.parts["scan"].values.shape == (2, 2, 2)
    assert both.columns[:2] == ["clinic.age", "visits.x0"]
    assert both.shape == (2, 6)


def test_sources_of_different_length_are_refused():
    with pytest.raises(InputError, match="got {'clinic': 3, 'visits': 2}"):
        Sources({"clinic": sources()["clinic"], "visits": sources()["visits"][:2]})
    with pytest.raises(CovariateError, match="source 'age' must be a table"):
        Sources({"age": np.ones(3)})
    with pytest.raises(CovariateError, match="at least one source"):
        Sources({})


def test_what_is_a_table_stays_as_it_is():
    for table in (
        pd.DataFrame({"a": [1]}),
        np.ones((2, 2)),
        [[1.0]],
        sparse.dok_array((2, 2)),
        sources()["visits"],
    ):
        assert as_input(table) is table
    assert isinstance(as_input(np.ones((2, 3, 4))), ArrayRows)
    assert isinstance(as_input(sources()), Sources)


def test_inputs_areinputs_as_table_by_a_table():
    table = inputs_as_table(Sources(sources()))
    assert table.columns.tolist() == ["clinic.age", "visits.number of visits", "visits.x0"]
    assert table["visits.x0"].tolist() == [1.0, 3.0, 5.0]
