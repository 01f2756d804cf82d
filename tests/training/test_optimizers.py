import numpy as np
import pytest
import torch

from helpers.small_fleets import make_fleet
from lifemix.network import Architecture
from lifemix.training.optimizers import OPTIMIZERS

REFERENCES = {
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
}


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("per_parameter", [False, True])
def test_steps_equal_those_of_torch(name, per_parameter):
    start = torch.linspace(-1, 1, 12, dtype=torch.float64)
    expected, parameters = start.clone().requires_grad_(), start.clone()
    reference, optimizer = REFERENCES[name]([expected]), OPTIMIZERS[name](parameters)
    rate = torch.full_like(start, 0.01) if per_parameter else 0.01
    for step in range(20):
        expected.grad = torch.sin(expected.detach() * (step + 1))
        reference.step()
        optimizer.step(parameters, torch.sin(parameters * (step + 1)), rate)
        np.testing.assert_allclose(parameters, expected.detach(), rtol=1e-10)


def test_weight_decay_spares_biases_and_base_values():
    fleet = make_fleet(Architecture(5, (4,), 2, 1, "weibull"), [{"weight_decay": 0.5}])
    decay = fleet.architecture.layout.blocks(fleet.settings.weight_decay, 1)
    assert (decay["heads"] == 0.5).all()
    assert (decay["encoder.0.weight"] == 0.5).all()
    assert not decay["base"].any()
    assert not decay["encoder.0.bias"].any()


def test_weight_decay_is_decoupled_from_the_gradient():
    plain, decayed = (
        make_fleet(Architecture(5, (4,), 2, 1, "weibull"), [settings])
        for settings in ({}, {"weight_decay": 0.5})
    )
    start = plain.parameters.flat.clone()
    for fleet in (plain, decayed):
        fleet.loss.with_gradient = lambda *arguments: torch.zeros(1)
        fleet.step(torch.zeros(1, 1, 5), None, None, torch.ones(1))
    assert torch.equal(plain.parameters.flat, start)
    factor = 1 - 1e-3 * decayed.settings.weight_decay
    np.testing.assert_allclose(decayed.parameters.flat, start * factor, rtol=1e-6)
