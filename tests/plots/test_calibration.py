import numpy as np
import pytest

from lifemix import make_target, metrics, plots
from lifemix.errors import InputError

RNG = np.random.default_rng(1)
TIME, RISK = RNG.exponential(5, 300), RNG.uniform(0.1, 0.9, 300)
Y = make_target(TIME, RNG.integers(0, 2, 300))


def test_shows_the_groups_and_their_limits():
    curve = metrics.calibration_curve(Y, RISK, 4.0, bins=5)
    axes = plots.calibration(Y, RISK, 4.0, bins=5, time_unit="years")
    diagonal, points = axes.lines
    np.testing.assert_array_equal(points.get_data(), [curve.predicted, curve.observed])
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    limits, ticks = (np.array(lines.get_segments()) for lines in axes.collections)
    np.testing.assert_array_equal(limits[:, :, 1], np.stack([curve.lower, curve.upper], axis=1))
    np.testing.assert_allclose(ticks[:, 0, 0], np.sort(RISK))
    assert axes.get_xlim() == axes.get_ylim()
    assert axes.get_xlabel() == "predicted risk by 4 years"
    assert axes.get_ylabel() == "observed risk by 4 years"


def test_compares_models_and_zooms_to_small_risks():
    risk, y = np.linspace(0.01, 0.04, 300), make_target(TIME + 1, TIME < 0.1)
    axes = plots.calibration(y, {"first": risk, "second": risk / 2}, 1.1, bins=3)
    assert {"first", "second"} <= {line.get_label() for line in axes.lines}
    assert axes.get_xlim()[1] < 0.5
    with pytest.raises(InputError, match="at least one model; got none"):
        plots.calibration(Y, {}, 1.0)


def test_bars_of_d_calibration_are_the_shares_of_the_bins():
    result = metrics.d_calibration(Y, RISK, bins=5)
    axes = plots.d_calibration(Y, RISK, bins=5)
    heights = [bar.get_height() for bar in axes.containers[0]]
    np.testing.assert_allclose(heights, result.counts / 300)
    assert f"chi-squared {result.statistic:.1f} on 4" in axes.get_title(loc="left")
