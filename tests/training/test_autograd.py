import numpy as np
import pytest
import torch

from helpers.small_fleets import make_fleet
from lifemix.network import Architecture
from lifemix.training.autograd import AutogradLoss, FleetVector


def test_a_gradient_that_is_not_finite_becomes_zero():
    layout = Architecture(2, (), 2, 1, "weibull", bias=False).layout
    gradient = FleetVector(layout, torch.full((2 * layout.size,), 3.0), 2)
    gradient.blocks["heads"][1, 0, 0] = torch.nan
    gradient.clip_norms_(1.0)
    first, second = layout.unpack(gradient.flat, 2)
    np.testing.assert_allclose(first.norm(), 1.0, rtol=1e-6)
    assert not second.any()


def test_only_models_above_the_limit_are_scaled():
    layout = Architecture(2, (), 2, 1, "weibull", bias=False).layout
    rows = torch.stack([torch.full((layout.size,), value) for value in (0.01, 3.0)])
    gradient = FleetVector(layout, layout.pack(rows), 2)
    gradient.clip_norms_(1.0)
    small, large = layout.unpack(gradient.flat, 2)
    assert torch.equal(small, rows[0])
    np.testing.assert_allclose(large.norm(), 1.0, rtol=1e-6)


@pytest.mark.parametrize("kind", ["plain", "all"])
@pytest.mark.parametrize("primitive", ["weibull", "burr"])
def test_a_case_weight_counts_as_that_many_rows(primitive, kind):
    fleet = make_fleet(Architecture(5, (6,), 3, 1, primitive), kind=kind, dtype=torch.float64)
    loss = AutogradLoss(fleet.architecture, fleet.config)
    rows, counts = torch.arange(20), torch.arange(20) % 3

    def loss_and_gradient(index, weight):
        observed = fleet.data.observed.take(index[None, None]).reweighted(weight[None, None])
        (batch,) = loss.batches(observed, fleet.settings)
        arguments = fleet.parameters, fleet.gradient, fleet.settings, fleet.inputs(index[None])
        return loss.with_gradient(*arguments, batch, None), fleet.gradient.flat.clone()

    repeated = rows.repeat_interleave(counts)
    weighted = loss_and_gradient(rows, counts.double())
    expected = loss_and_gradient(repeated, torch.ones(len(repeated)).double())
    for ours, reference in zip(weighted, expected, strict=True):
        np.testing.assert_allclose(ours, reference, rtol=1e-9, atol=1e-12)
