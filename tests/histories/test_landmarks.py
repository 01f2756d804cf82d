"""Landmark rows: who is at risk, what is known, and that drawing them does not favour short times."""

import numpy as np
import pytest

from lifemix import make_target
from lifemix.errors import InputError, SettingError
from lifemix.histories import Histories
from lifemix.target import as_target


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
    assert histories.landmarks(y, n_per_subject=2, between=(0.1, 0.2)).y["entry"].max() < 0.2


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"times": [1.0], "n_per_subject": 2}, SettingError, "exclude each other"),
        ({"between": (0.0, 1.0)}, SettingError, "got it alone"),
        ({"n_per_subject": 0}, SettingError, "n_per_subject must be a whole number"),
        ({"n_per_subject": 2, "between": (2.0, 1.0)}, InputError, "two ascending times"),
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
