"""Curves of subjects: what is drawn is what was given."""

import numpy as np
import pytest

from lifemix import DeepSurvivalMachines, make_target, plots
from lifemix.errors import InputError, SettingError

TIMES = np.linspace(0, 10, 21)
SURVIVAL = np.exp(-np.outer([0.05, 0.2], TIMES))


def texts(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def band(collection):
    """Return the lower and upper edge of a band drawn by fill_between, at its times."""
    points = collection.get_paths()[0].vertices
    times = np.unique(points[:, 0])
    return tuple(
        np.array([side(points[points[:, 0] == t, 1]) for t in times]) for side in (min, max)
    )


@pytest.mark.parametrize(
    "draw", [plots.survival_curves, plots.incidence_curves, plots.hazard_curves]
)
def test_lines_are_the_arrays(draw):
    axes = draw(TIMES, SURVIVAL, labels=["a", "b"], title="who")
    assert len(axes.lines) == 2
    for line, curve in zip(axes.lines, SURVIVAL, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), TIMES)
        np.testing.assert_array_equal(line.get_ydata(), curve)
    assert texts(axes) == ["a", "b"]
    assert axes.get_legend().get_title().get_text() == "who"
    assert axes.get_xlim() == (0, 10)


def test_probabilities_are_shown_whole():
    axes = plots.survival_curves(TIMES, SURVIVAL)
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylim()[1] >= 1
    assert axes.get_legend() is None


def test_bands_are_one_standard_deviation_and_stay_probabilities():
    std = np.full_like(SURVIVAL, 0.1)
    axes = plots.survival_curves(TIMES, SURVIVAL, std)
    for collection, curve in zip(axes.collections, SURVIVAL, strict=True):
        low, high = band(collection)
        np.testing.assert_allclose(low, np.clip(curve - 0.1, 0, 1))
        np.testing.assert_allclose(high, np.clip(curve + 0.1, 0, 1))


def test_plateaus_are_lines_with_their_values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    time = np.where(
        rng.random(300) < 1 / (1 + np.exp(-2 * X[:, 0])), np.inf, rng.weibull(1.5, 300) * 3
    )
    y = make_target(np.minimum(time, 10.0), time < 10.0)
    model = DeepSurvivalMachines(
        k=1, hidden=(), cure=True, n_members=1, max_epochs=40, learning_rate=0.05
    ).fit(X, y)
    distribution = model.predict_distribution(np.array([[-1.0], [1.0]]))
    cured = distribution.cure_fraction()
    axes = plots.survival_curves(
        TIMES, distribution.survival(TIMES), plateau=cured, labels=["a", "b"]
    )
    for line, level in zip(axes.lines[2:], cured, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), [level, level])
        assert line.get_linestyle() == ":"
    np.testing.assert_allclose([line.get_ydata()[-1] for line in axes.lines[:2]], cured, atol=0.01)
    assert texts(axes) == ["a", "b", *(f"S(∞) = {level:.2f}" for level in cured)]
    assert len(plots.survival_curves(TIMES, SURVIVAL, plateau=[0.0, 0.0]).lines) == 2


@pytest.mark.parametrize(
    ("plateau", "message"),
    [([0.1], r"one value per row, shape \(2,\)"), ([0.1, 1.5], r"in \[0, 1\]; got 1.5")],
)
def test_plateaus_that_are_none_are_refused(plateau, message):
    with pytest.raises(InputError, match=message):
        plots.survival_curves(TIMES, SURVIVAL, plateau=plateau)


def test_one_subject_may_come_as_a_vector():
    (line,) = plots.survival_curves(TIMES, SURVIVAL[0]).lines
    np.testing.assert_array_equal(line.get_ydata(), SURVIVAL[0])


def test_infinite_hazards_and_zeros_on_a_log_scale_leave_gaps():
    hazard = np.array([[np.inf, 0.0, 2.0]])
    linear = plots.hazard_curves([0, 1, 2], hazard, time_unit="days")
    np.testing.assert_array_equal(linear.lines[0].get_ydata(), [np.nan, 0, 2])
    assert linear.get_ylabel() == "hazard (1/days)"
    logarithmic = plots.hazard_curves([0, 1, 2], hazard, log=True)
    np.testing.assert_array_equal(logarithmic.lines[0].get_ydata(), [np.nan, np.nan, 2])
    assert logarithmic.get_yscale() == "log"


def test_stacked_areas_lie_on_top_of_each_other():
    incidences = np.stack([0.5 * (1 - SURVIVAL[0]), 0.4 * (1 - SURVIVAL[1])])
    axes = plots.stacked_incidence(TIMES, incidences, labels=["cancer", "other"])
    assert texts(axes) == [
        "no event yet",
        "other",
        "cancer",
    ]  # from top to bottom, as they are drawn
    first, second, nothing = (band(collection) for collection in axes.collections)
    total = incidences.sum(axis=0)
    np.testing.assert_allclose(first[1], incidences[0], atol=1e-15)
    np.testing.assert_allclose(second[0], incidences[0], atol=1e-15)
    np.testing.assert_allclose(second[1], total, atol=1e-15)
    np.testing.assert_allclose(nothing[0], total, atol=1e-15)
    np.testing.assert_array_equal(nothing[1], 1)


def test_net_curves_are_not_stacked():
    with pytest.raises(InputError, match="add up to at most 1 at any time; got 1.8"):
        plots.stacked_incidence([0, 1], [[0.0, 0.9], [0.0, 0.9]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [[1, 0.5, 0.2]]), r"\(n, 2\); got shape \(1, 3\)"),
        (([1, 0], [[1, 0.5]]), "times must increase; got 1 before 0"),
        (([0, 1], [[1, 1.5]]), r"survival must be probabilities in \[0, 1\]; got 1.5"),
        (([0, 1], [[1, np.nan]]), "survival must be finite"),
        (([0, 1], [[1, 0.5]], [[0.1, -0.1]]), "std must not be negative; got -0.1"),
        (
            ([0, 1], [[1, 0.5]], [[0.1, 0.1]] * 2),
            r"std must have the shape of the curves, \(1, 2\)",
        ),
        (([0, 1], "ab"), "survival must be numbers"),
        (([-1, 1], [[1, 0.5]]), "times must be finite and >= 0"),
    ],
)
def test_bad_curves_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        plots.survival_curves(*arguments)


def test_bad_names_and_hazards_are_refused():
    with pytest.raises(InputError, match="one name per curve, 2 in all; got 1 names"):
        plots.survival_curves(TIMES, SURVIVAL, labels=["a"])
    with pytest.raises(InputError, match="got 'ab'"):
        plots.survival_curves(TIMES, SURVIVAL, labels="ab")
    with pytest.raises(InputError, match="1 NaN and 1 negative"):
        plots.hazard_curves([0, 1], [np.nan, -1])


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = (rng.exponential(np.exp(X[:, 0])) + 0.01, rng.integers(0, 3, 150))
    return X, DeepSurvivalMachines(k=3, hidden=(4,), max_epochs=3, n_members=2).fit(X, y)


def test_components_of_a_fitted_model_add_up_to_its_density(fitted):
    X, model = fitted
    times = np.linspace(0.05, 4, 30)
    distribution = model.predict_distribution(X).net(2)
    weights, curves = plots.component_curves(distribution, times, row=5)
    assert weights.shape == (6,)
    axes = plots.mixture_components(times, weights, curves, show=4, time_unit="days")
    *parts, total = axes.lines
    np.testing.assert_allclose(total.get_ydata(), distribution.pdf(times)[5], rtol=1e-5)
    np.testing.assert_allclose(
        sum(part.get_ydata() for part in parts), total.get_ydata(), rtol=1e-12
    )
    largest = np.argsort(-weights)
    assert texts(axes)[0] == f"component {largest[0] + 1}: {weights[largest[0]]:.0%}"
    assert texts(axes)[4:] == [f"2 others: {weights[largest[4:]].sum():.0%}", "mixture"]
    np.testing.assert_allclose(parts[0].get_ydata(), weights[largest[0]] * curves[largest[0]])
    assert axes.get_ylabel() == "density (1/days)"


def test_components_may_be_survival_curves(fitted):
    X, model = fitted
    distribution = model.predict_distribution(X).net(1)
    weights, curves = plots.component_curves(distribution, [0.0, 1.0], row=3, quantity="survival")
    np.testing.assert_allclose(weights @ curves, distribution.survival([0.0, 1.0])[3], rtol=1e-6)
    axes = plots.mixture_components([0.0, 1.0], weights, curves, quantity="survival")
    assert axes.get_ylabel() == "weight x survival"


def test_distributions_that_are_no_plain_mixture_are_refused(fitted):
    X, model = fitted
    distribution = model.predict_distribution(X)
    with pytest.raises(InputError, match=r"distribution\.net\(event\)"):
        plots.component_curves(distribution, [1.0])
    with pytest.raises(InputError, match=r"Leave out given\(s\)"):
        plots.component_curves(distribution.net(1).given(1.0), [1.5])
    with pytest.raises(InputError, match="> 0 for densities"):
        plots.component_curves(distribution.net(1), [0.0, 1.0])
    with pytest.raises(
        SettingError, match="quantity must be one of 'density', 'survival'; got 'hazard'"
    ):
        plots.component_curves(distribution.net(1), [1.0], quantity="hazard")
    with pytest.raises(SettingError, match="got 'hazard'"):
        plots.mixture_components([0, 1], [1.0], [[0, 1]], quantity="hazard")
    with pytest.raises(InputError, match=r"add up to 1; got shape \(2,\) and sum 1.5"):
        plots.mixture_components([0, 1], [1.0, 0.5], [[0, 1], [0, 1]])
