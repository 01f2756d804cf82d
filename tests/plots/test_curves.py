"""Curves of subjects: the lines are the arrays."""

import numpy as np
import pytest

from lifemix import plots
from lifemix.errors import InputError

TIMES = np.linspace(0, 10, 21)
SURVIVAL = np.exp(-np.outer([0.05, 0.2], TIMES))


def texts(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def band(collection):
    """Return the lower and upper edge of a band drawn by fill_between, at its times."""
    x, y = collection.get_paths()[0].vertices.T
    return tuple(np.array([edge(y[x == t]) for t in np.unique(x)]) for edge in (min, max))


@pytest.mark.parametrize(
    "draw", [plots.survival_curves, plots.incidence_curves, plots.hazard_curves]
)
def test_lines_are_the_arrays(draw):
    axes = draw(TIMES, SURVIVAL, np.full_like(SURVIVAL, 0.1), labels=["a", "b"], title="who")
    limits = (0, np.inf) if draw is plots.hazard_curves else (0, 1)
    for line, area, curve in zip(axes.lines, axes.collections, SURVIVAL, strict=True):
        np.testing.assert_array_equal(line.get_data(), [TIMES, curve])
        edges = np.clip([curve - 0.1, curve + 0.1], *limits)
        np.testing.assert_allclose(band(area), edges, atol=1e-15)
    assert texts(axes) == ["a", "b", "spread of the\nensemble members"]
    assert axes.get_legend().get_title().get_text() == "who"
    assert axes.get_xlim() == (0, 10)
    single = draw(TIMES, SURVIVAL[0])
    assert single.get_legend() is None
    np.testing.assert_array_equal(single.lines[0].get_ydata(), SURVIVAL[0])
    if draw is not plots.hazard_curves:
        assert axes.get_ylim() == (0, 1.02)


def test_plateaus_are_dotted_lines_with_their_values():
    axes = plots.survival_curves(TIMES, SURVIVAL, plateau=[0.1, 0.25], labels=["a", "b"])
    for line, level in zip(axes.lines[2:], [0.1, 0.25], strict=True):
        assert line.get_ydata() == [level, level]
        assert line.get_linestyle() == ":"
    assert texts(axes) == ["a", "b", "S(∞) = 0.10", "S(∞) = 0.25"]
    assert len(plots.survival_curves(TIMES, SURVIVAL, plateau=[0.0, 0.0]).lines) == 2


def test_infinite_hazards_and_zeros_on_a_log_scale_leave_gaps():
    hazard = np.array([[np.inf, 0.0, 2.0]])
    linear = plots.hazard_curves([0, 1, 2], hazard, time_unit="days")
    np.testing.assert_array_equal(linear.lines[0].get_ydata(), [np.nan, 0, 2])
    assert linear.get_ylabel() == "hazard (1/days)"
    logarithmic = plots.hazard_curves([0, 1, 2], hazard, log=True)
    np.testing.assert_array_equal(logarithmic.lines[0].get_ydata(), [np.nan, np.nan, 2])
    assert logarithmic.get_yscale() == "log"
    with pytest.raises(InputError, match="1 NaN and 1 negative"):
        plots.hazard_curves([0, 1], [np.nan, -1])


def test_stacked_areas_lie_on_top_of_each_other():
    incidences = np.stack([0.5 * (1 - SURVIVAL[0]), 0.4 * (1 - SURVIVAL[1])])
    axes = plots.stacked_incidence(TIMES, incidences, labels=["cancer", "other"])
    assert texts(axes) == ["no event yet", "other", "cancer"]  # from top to bottom, as drawn
    first, second, remainder = (band(area) for area in axes.collections)
    total = incidences.sum(axis=0)
    for edge, expected in ((first[1], incidences[0]), (second[0], incidences[0])):
        np.testing.assert_allclose(edge, expected, atol=1e-15)
    np.testing.assert_allclose([second[1], remainder[0]], [total, total], atol=1e-15)
    np.testing.assert_array_equal(remainder[1], 1)
    with pytest.raises(InputError, match="add up to at most 1 at any time; got 1.8"):
        plots.stacked_incidence([0, 1], [[0.0, 0.9], [0.0, 0.9]])
