"""The doctor's word on cured fractions: the test of Maller and Zhou."""

import numpy as np
import pytest

from lifemix import DeepSurvivalMachines, make_target
from lifemix.report import check_model
from lifemix.report.doctor.follow_up import check_follow_up, too_short
from lifemix.target import as_target


def followed(until, n=400, share=0.4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    time = np.where(rng.random(n) < share, np.inf, rng.weibull(1.5, n) * 8)
    end = rng.uniform(0.5 * until, until, n)
    return X, make_target(np.minimum(time, end), (time <= end).astype(int))


def test_the_statistic_is_the_one_worked_out_by_hand():
    # last event 6, last time 10: events in (2, 6] are 3 of 8 rows
    target = as_target(make_target([1, 2, 3, 5, 6, 7, 9, 10], [1, 1, 1, 1, 1, 0, 0, 0]))
    assert too_short(target) == pytest.approx((1 - 3 / 8) ** 8)
    assert (
        too_short(as_target(make_target([1, 2, 3], [0, 1, 1]))) == 1.0
    )  # the last time is an event
    assert too_short(as_target(make_target([1, 2], [0, 0]))) == 1.0


def test_a_long_follow_up_is_silent_and_a_short_one_is_not():
    assert list(check_follow_up(as_target(followed(80.0)[1]), 0.4)) == []
    (finding,) = check_follow_up(as_target(followed(8.0)[1]), 0.4)
    assert finding.topic == "follow-up"
    assert "cannot be told from those whose event is yet to come" in finding.text


@pytest.mark.parametrize(
    ("until", "cure", "said"), [(8.0, True, True), (80.0, True, False), (8.0, False, False)]
)
def test_the_doctor_says_so_of_a_model_with_cured_rows_only(until, cure, said):
    X, y = followed(until)
    model = DeepSurvivalMachines(k=1, hidden=(), max_epochs=2, cure=cure).fit(X, y)
    assert ("follow-up" in [finding.topic for finding in check_model(model, X, y)]) == said
