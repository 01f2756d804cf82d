"""The analytic gradient equals automatic differentiation, and both equal difference quotients."""

import numpy as np
import pytest
import torch

from helpers.small_fleets import DIFFERENT_JOBS, make_fleet
from lifemix.network import Architecture
from lifemix.primitives import PRIMITIVES, LogLocationScale
from lifemix.training import TrainConfig
from lifemix.training.analytic_gradient import AnalyticLoss
from lifemix.training.autograd import AutogradLoss
from lifemix.training.batches import dropout_masks, shuffled_rows

FAMILIES = [name for name, family in PRIMITIVES.items() if issubclass(family, LogLocationScale)]
NETWORKS = [
    ((7,), "relu6", None, True),
    ((6, 4), "tanh", "identity", False),
    ((), "relu", "selu", True),
    ((5,), "elu", "tanh", True),
    ((5,), "identity", "relu6", True),
    ((5,), "elu", "identity", True),
    ((5, 4), "elu", "identity", False),
]


def losses_and_gradient(fleet, loss, masks):
    """Return losses, gradient and held-out losses of one batch."""
    rows, present = shuffled_rows(fleet.jobs, [type(r)(5) for r in fleet.randoms], 40)
    observed = fleet.data.observed
    observed = observed.take(rows).reweighted(observed.weight[rows] * present)
    batches = loss.batches(observed, fleet.settings)
    arguments = fleet.parameters, fleet.gradient, fleet.settings, fleet.inputs(rows[:, 1])
    losses = loss.with_gradient(*arguments, batches[1], masks)
    x = fleet.inputs(rows[:, 0])
    held_out = loss.held_out(fleet.parameters, fleet.settings, x, batches[0])
    return losses, fleet.gradient.flat.clone(), held_out


@pytest.mark.parametrize("primitive", FAMILIES)
@pytest.mark.parametrize("objective", ["exact", "elbo"])
@pytest.mark.parametrize("n_events", [1, 3])
@pytest.mark.parametrize(("hidden", "activation", "shift_activation", "bias"), NETWORKS)
def test_analytic_gradient_equals_autograd(
    primitive, objective, n_events, hidden, activation, shift_activation, bias
):
    network = hidden, 3, n_events, primitive, activation, shift_activation, bias
    architecture, config = Architecture(5, *network), TrainConfig(objective=objective)
    fleet = make_fleet(architecture, DIFFERENT_JOBS, config, dtype=torch.float64)
    assert isinstance(fleet.loss, AnalyticLoss)
    device = torch.device("cpu")
    masks = next(dropout_masks(fleet.jobs, fleet.randoms, 30, 1, hidden, device))
    masks = masks and [mask.double() for mask in masks]
    analytic = losses_and_gradient(fleet, fleet.loss, masks)
    autograd = losses_and_gradient(fleet, AutogradLoss(architecture, config), masks)
    for ours, reference in zip(analytic, autograd, strict=True):
        np.testing.assert_allclose(ours, reference, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("primitive", ["weibull", "lognormal", "gompertz"])
@pytest.mark.parametrize("kind", ["plain", "late", "all"])
@pytest.mark.parametrize(("objective", "n_events"), [("exact", 1), ("exact", 2), ("elbo", 2)])
def test_gradient_is_the_difference_quotient(primitive, kind, objective, n_events):
    architecture = Architecture(5, (4,), 2, n_events, primitive, "tanh")
    config = TrainConfig(objective=objective)
    fleet = make_fleet(architecture, DIFFERENT_JOBS[1:2], config, kind, torch.float64)
    is_analytic = kind == "plain" and primitive in FAMILIES
    assert isinstance(fleet.loss, AnalyticLoss) == is_analytic
    gradient = losses_and_gradient(fleet, fleet.loss, None)[1]
    start = fleet.parameters.flat.clone()

    def loss_at(parameters):
        fleet.parameters.flat.copy_(parameters)
        loss = losses_and_gradient(fleet, fleet.loss, None)[0]
        base = fleet.parameters.blocks["base"] - fleet.settings.prior_centre
        prior = fleet.settings.prior_strength * base.square().sum()
        return loss + prior

    for index in range(0, len(start), 17):
        step = torch.zeros_like(start)
        step[index] = 1e-6
        quotient = (loss_at(start + step) - loss_at(start - step)) / 2e-6
        np.testing.assert_allclose(gradient[index], quotient[0], rtol=2e-5, atol=1e-8)


@pytest.mark.parametrize("primitive", ["weibull", "lognormal", "loglogistic"])
@pytest.mark.parametrize(("kind", "n_events"), [("plain", 2), ("intervals", 1), ("all", 2)])
def test_single_precision_follows_double(primitive, kind, n_events):
    architecture = Architecture(5, (6,), 3, n_events, primitive, "tanh")
    single, double = (
        losses_and_gradient(fleet, fleet.loss, None)
        for fleet in (
            make_fleet(architecture, kind=kind, dtype=dtype)
            for dtype in (torch.float32, torch.float64)
        )
    )
    for ours, reference in zip(single, double, strict=True):
        np.testing.assert_allclose(ours, reference, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("kind", ["late", "intervals", "left"])
def test_other_rows_train_by_autograd(kind):
    fleet = make_fleet(Architecture(5, (6,), 3, 1, "weibull"), kind=kind)
    assert type(fleet.loss) is AutogradLoss
