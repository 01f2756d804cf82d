"""Observed curves by risk group; the table below counts as one counts by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifemix import make_target, metrics, plots
from lifemix.errors import InputError, SettingError
from lifemix.metrics.calibration import quantile_groups

# Six subjects: the risk of each, and when each was last seen.
Y = make_target([2.0, 4.0, 4.0, 6.0, 8.0, 10.0], [1, 1, 0, 1, 0, 1])
RISK = np.array([0.9, 0.8, 0.1, 0.7, 0.2, 0.3])


def table_of(axes):
    """Return the numbers below the axes, {row height: {tick: number}}."""
    rows = {}
    for text in axes.texts:
        if text.get_text().replace(",", "").isdigit() and text.xyann[0] == 0:
            rows.setdefault(text.xyann[1], {})[text.xy[0]] = int(text.get_text().replace(",", ""))
    return [rows[height] for height in sorted(rows, reverse=True)]


def test_numbers_at_risk_against_a_count_by_hand():
    axes = plots.risk_groups(
        Y, RISK, 2
    )  # low risk: rows 2, 4, 5 (times 4, 8, 10); high: 0, 1, 3 (times 2, 4, 6)
    low, high = table_of(axes)
    assert low == {0: 3, 2: 3, 4: 3, 6: 2, 8: 2, 10: 1}
    assert high == {0: 3, 2: 3, 4: 2, 6: 1, 8: 0, 10: 0}


def test_late_entries_are_at_risk_after_they_entered():
    y = make_target([5.0, 6.0, 7.0], [1, 0, 1], entry=[0.0, 2.0, 5.0])
    np.testing.assert_array_equal(
        plots.number_at_risk(y, [0, 1, 2, 3, 5, 6, 7, 8]), [1, 1, 1, 2, 2, 2, 1, 0]
    )


@given(
    st.lists(st.tuples(st.floats(0.1, 10), st.floats(0, 1)), min_size=1, max_size=30),
    st.floats(0, 12),
)
def test_number_at_risk_is_the_plain_count(rows, t):
    time = np.array([row[0] for row in rows])
    entry = time * np.array([row[1] for row in rows]) * 0.99
    y = make_target(time, np.ones(len(time), dtype=int), entry=entry)
    expected = sum((e < t or e == 0) and t <= u for e, u in zip(entry, time, strict=True))
    assert plots.number_at_risk(y, [t])[0] == expected


def test_number_at_risk_agrees_with_kaplan_meier():
    curve = metrics.kaplan_meier(Y)
    np.testing.assert_array_equal(plots.number_at_risk(Y, curve.time), curve.at_risk)


def test_curves_are_kaplan_meier_of_the_groups():
    axes = plots.risk_groups(Y, RISK, 2, labels=["low", "high"], last=9.0, level=None)
    for line, rows in zip(axes.lines, (RISK < 0.5, RISK > 0.5), strict=True):
        curve = metrics.kaplan_meier(Y[rows])
        np.testing.assert_array_equal(line.get_xdata(), [0, *curve.time])
        np.testing.assert_array_equal(line.get_ydata(), [1, *curve.estimate])
        assert line.get_drawstyle() == "steps-post"
    assert axes.get_xlim() == (0, 9)
    assert not axes.collections
    assert {"low", "high", "number at risk"} <= {text.get_text() for text in axes.texts}


def test_with_an_event_type_the_curves_are_its_incidence():
    y = make_target([2.0, 4.0, 4.0, 6.0, 8.0, 10.0], [1, 2, 0, 1, 0, 2])
    times = np.linspace(0, 10, 6)
    predicted = 0.5 - 0.5 * np.exp(-np.outer(RISK, times))
    axes = plots.risk_groups(y, RISK, 2, event=1, predicted=(times, predicted), last=7.0)
    for line, rows in zip(axes.lines, (RISK < 0.5, RISK > 0.5), strict=False):
        curve = metrics.aalen_johansen(y[rows], 1)
        np.testing.assert_array_equal(line.get_ydata(), [0, *curve.estimate])
    np.testing.assert_allclose(axes.lines[2].get_ydata(), predicted[RISK < 0.5].mean(axis=0))
    assert axes.get_ylabel() == "cumulative incidence (dashed: predicted)"
    assert axes.get_ylim() == (0, pytest.approx(1.3 * 2 / 3))


def test_predictions_are_the_means_of_the_groups():
    times = np.linspace(0, 10, 6)
    survival = np.exp(-np.outer(RISK, times))
    axes = plots.risk_groups(Y, RISK, 2, predicted=(times, survival))
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    np.testing.assert_allclose(dashed[0].get_ydata(), survival[RISK < 0.5].mean(axis=0))
    np.testing.assert_allclose(dashed[1].get_ydata(), survival[RISK > 0.5].mean(axis=0))
    assert "dashed: predicted" in axes.get_ylabel()
    with pytest.raises(InputError, match="one row per subject, 6; got 2"):
        plots.risk_groups(Y, RISK, 2, predicted=(times, survival[:2]))


def test_the_time_axis_must_have_a_length():
    with pytest.raises(InputError, match="must end after 0; got 0. Give last"):
        plots.risk_groups(Y, RISK, 2, last=0)
    with pytest.raises(InputError, match="last must be finite"):
        plots.risk_groups(Y, RISK, 2, last=np.nan)


def test_groups_are_of_equal_size_and_ties_stay_together():
    group = quantile_groups(np.random.default_rng(0).random(1000), 4)
    np.testing.assert_array_equal(np.bincount(group), [250] * 4)
    np.testing.assert_array_equal(quantile_groups(np.array([1.0, 1, 1, 5]), 2), [0, 0, 0, 1])
    for wrong in (0, True, 2.5):
        with pytest.raises(SettingError, match="groups must be a whole number of at least 1"):
            plots.risk_groups(Y, RISK, wrong)
