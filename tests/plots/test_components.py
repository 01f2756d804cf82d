import numpy as np
import pytest

from lifemix import DeepSurvivalMachines, plots
from lifemix.errors import InputError, SettingError


@pytest.fixture(scope="module")
def distribution():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = (rng.exponential(np.exp(X[:, 0])) + 0.01, rng.integers(0, 3, 150))
    model = DeepSurvivalMachines(k=3, hidden=(4,), max_epochs=3, n_members=2)
    return model.fit(X, y).predict_distribution(X)


def test_components_of_a_fitted_model_add_up_to_its_density(distribution):
    times, net = np.linspace(0.05, 4, 30), distribution.net(2)
    weights, curves = plots.component_curves(net, times, row=5)
    axes = plots.mixture_components(times, weights, curves, show=4, time_unit="days")
    *components, total = (line.get_ydata() for line in axes.lines)
    np.testing.assert_allclose(total, net.pdf(times)[5], rtol=1e-5)
    np.testing.assert_allclose(sum(components), total, rtol=1e-12)
    order = np.argsort(-weights)
    np.testing.assert_allclose(components[0], weights[order[0]] * curves[order[0]])
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names[0] == f"component {order[0] + 1}: {weights[order[0]]:.0%}"
    assert names[4:] == [f"2 others: {weights[order[4:]].sum():.0%}", "mixture"]
    assert axes.get_ylabel() == "density (1/days)"


def test_components_may_be_survival_curves(distribution):
    times, net = [0.0, 1.0], distribution.net(1)
    weights, curves = plots.component_curves(net, times, row=3, quantity="survival")
    np.testing.assert_allclose(weights @ curves, net.survival(times)[3], rtol=1e-6)
    axes = plots.mixture_components(times, weights, curves, quantity="survival")
    assert axes.get_ylabel() == "weight x survival"


def test_unsuitable_arguments_are_refused(distribution):
    net = distribution.net(1)
    for wrong, times, message in (
        (distribution, [1.0], r"distribution\.net\(event\)"),
        (net.given(1.0), [1.5], r"Leave out given\(s\)"),
        (net, [0.0, 1.0], "> 0 for densities"),
    ):
        with pytest.raises(InputError, match=message):
            plots.component_curves(wrong, times)
    with pytest.raises(SettingError, match="one of 'density', 'survival'; got 'hazard'"):
        plots.component_curves(net, [1.0], quantity="hazard")
    with pytest.raises(SettingError, match="got 'hazard'"):
        plots.mixture_components([0, 1], [1.0], [[0, 1]], quantity="hazard")
    with pytest.raises(InputError, match=r"add up to 1; got shape \(2,\) and sum 1.5"):
        plots.mixture_components([0, 1], [1.0, 0.5], [[0, 1], [0, 1]])
