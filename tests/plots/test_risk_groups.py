import numpy as np
import pytest
from hypothesis import given

from helpers.metric_samples import tied_targets
from lifemix import make_target, metrics, plots
from lifemix.errors import InputError, SettingError
from lifemix.metrics.calibration import quantile_groups
from lifemix.target import as_target

EVENT = [1, 2, 0, 1, 0, 2]
Y = make_target([2.0, 4.0, 4.0, 6.0, 8.0, 10.0], np.minimum(EVENT, 1))
RISK = np.array([0.9, 0.8, 0.1, 0.7, 0.2, 0.3])
TIMES = np.linspace(0, 10, 6)


def test_numbers_at_risk_against_a_count_by_hand():
    # Low risk: times 4, 8, 10; high risk: times 2, 4, 6.
    rows = {}
    for text in plots.risk_groups(Y, RISK, 2).texts:
        if text.get_text().isdigit() and text.xyann[0] == 0:
            rows.setdefault(text.xyann[1], {})[text.xy[0]] = int(text.get_text())
    low, high = (rows[height] for height in sorted(rows, reverse=True))
    assert low == {0: 3, 2: 3, 4: 3, 6: 2, 8: 2, 10: 1}
    assert high == {0: 3, 2: 3, 4: 2, 6: 1, 8: 0, 10: 0}


@given(tied_targets())
def test_number_at_risk_is_the_plain_count(y):
    target, times = as_target(y), np.linspace(0, 10, 21)
    entered = (target.entry < times[:, None]) | (target.entry == 0)
    expected = (entered & (times[:, None] <= target.time)).sum(axis=1)
    np.testing.assert_array_equal(plots.number_at_risk(y, times), expected)


@pytest.mark.parametrize("event", [None, 1])
def test_curves_of_the_groups_observed_and_predicted(event):
    y = make_target(Y["time"], EVENT) if event else Y
    predicted = 0.5 - 0.5 * np.exp(-np.outer(RISK, TIMES))
    options = {"event": event, "predicted": (TIMES, predicted), "last": 7.0, "level": None}
    axes = plots.risk_groups(y, RISK, 2, labels=["low", "high"], **options)
    observed, dashed = axes.lines[:2], axes.lines[2:]
    for number, rows in enumerate((RISK < 0.5, RISK > 0.5)):
        curve = metrics.aalen_johansen(y[rows], 1) if event else metrics.kaplan_meier(y[rows])
        steps = [[0, *curve.time], [0 if event else 1, *curve.estimate]]
        np.testing.assert_array_equal(observed[number].get_data(), steps)
        assert observed[number].get_drawstyle() == "steps-post"
        np.testing.assert_allclose(dashed[number].get_ydata(), predicted[rows].mean(axis=0))
        assert dashed[number].get_linestyle() == "--"
    quantity = "cumulative incidence" if event else "survival"
    assert axes.get_ylabel() == f"{quantity} (dashed: predicted)"
    assert axes.get_xlim() == (0, 7)
    assert axes.get_ylim() == (0, pytest.approx(1.3 * 2 / 3 if event else 1.02))
    assert not axes.collections
    assert {"low", "high", "number at risk"} <= {text.get_text() for text in axes.texts}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"last": 0}, InputError, "must end after 0; got 0. Give last"),
        ({"last": np.nan}, InputError, "last must be finite"),
        ({"predicted": (TIMES, np.ones((2, 6)))}, InputError, "one row per subject, 6; got 2"),
        ({"groups": 0}, SettingError, "groups must be a whole number of at least 1"),
        ({"groups": 2.5}, SettingError, "groups must be a whole number of at least 1"),
    ],
)
def test_unsuitable_arguments_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        plots.risk_groups(Y, RISK, **options)


def test_groups_are_of_equal_size_and_ties_stay_together():
    group = quantile_groups(np.random.default_rng(0).random(1000), 4)
    np.testing.assert_array_equal(np.bincount(group), [250] * 4)
    np.testing.assert_array_equal(quantile_groups(np.array([1.0, 1, 1, 5]), 2), [0, 0, 0, 1])
