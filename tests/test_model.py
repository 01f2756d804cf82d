"""The architecture: what follows from the primitive and the activations that it is given."""

import numpy as np
import pytest
import torch

from lifemix.model import Architecture
from lifemix.primitives import PRIMITIVES, Weibull
from own_primitives import Burr, Exponential, Gompertz

ALL = pytest.mark.parametrize("family", PRIMITIVES.values(), ids=PRIMITIVES.keys())


@ALL
@pytest.mark.parametrize("n_events", [1, 3])
def test_heads_and_bases_have_a_place_for_every_parameter(family, n_events):
    layout = Architecture(5, (7,), 4, n_events, family).layout
    n_parameters = len(family.parameter_names())
    assert layout.shapes["heads"] == (n_events * (1 + n_parameters) * 4, 7)
    assert layout.shapes["gate_bias"] == (n_events, 4)
    assert layout.shapes["base"] == (n_events, n_parameters, 4)
    heads = ["heads", "gate_bias", "base"]
    if family.fixed_names:
        heads.append("fixed")
        assert layout.shapes["fixed"] == (n_events, len(family.fixed_names), 4)
    assert list(layout.shapes)[-len(heads) :] == heads


@ALL
def test_parameters_are_base_values_plus_shifts_of_their_own_head(family):
    architecture = Architecture(1, (), 1, 2, family, shift_activation="identity", bias=False)
    row = torch.zeros(1, architecture.layout.size, dtype=torch.float64)
    views = architecture.layout.views(row)
    n_parameters = len(family.parameter_names())
    views["base"].copy_(torch.arange(2.0 * n_parameters).view(1, 2, n_parameters, 1))
    views["heads"].copy_(torch.arange(2.0 * (1 + n_parameters)).view(1, -1, 1))
    mixtures = architecture.mixtures(views, torch.tensor([[[10.0]]], dtype=torch.float64))
    for event in range(2):
        for place, values in enumerate(mixtures.components.parameters[:n_parameters]):
            expected = (
                event * n_parameters + place + 10.0 * (event * (1 + n_parameters) + 1 + place)
            )
            assert values[0, 0, event, 0].item() == expected


def test_a_shift_that_is_bounded_below_only_is_subtracted_from_the_location():
    assert Architecture(1, (), 1, 1, "weibull").shift_signs == (1.0, -1.0)
    assert Architecture(1, (), 1, 1, "weibull", shift_activation="tanh").shift_signs == (1.0, 1.0)
    assert Architecture(1, (), 1, 1, "lognormal", shift_activation="elu").shift_signs == (-1.0, 1.0)
    assert Architecture(1, (), 1, 1, Gompertz).shift_signs == (1.0, -1.0)
    assert Architecture(1, (), 1, 1, Burr, shift_activation="selu").shift_signs == (1.0, -1.0, 1.0)
    assert Architecture(1, (), 1, 1, Exponential, shift_activation="selu").shift_signs == (1.0,)


@ALL
def test_components_start_around_the_warm_start(family):
    architecture = Architecture(3, (4,), 5, 2, family)
    n_parameters = len(family.parameter_names())
    warm_start = (
        0.1 * torch.arange(2.0 * (n_parameters + len(family.fixed_names))).view(2, -1).double()
    )
    row = architecture.start(warm_start, 0.5, np.random.default_rng(0))[None]
    views = architecture.layout.views(row)
    components = family(
        *(part for name in ("base", "fixed") if name in views for part in views[name][0].unbind(1))
    )
    medians = torch.log(components.quantile(torch.tensor(0.5).double()))
    centre = torch.log(family(*warm_start.T).quantile(torch.tensor(0.5).double()))
    assert (medians.diff(dim=1) > 0).all()
    assert (medians[:, 0] < centre).all()
    assert (medians[:, -1] > centre).all()
    alone = architecture.start(warm_start, 0.0, np.random.default_rng(0))[None]
    base = architecture.layout.views(alone)["base"][0]
    np.testing.assert_allclose(base, warm_start[:, :n_parameters, None].expand_as(base), atol=1e-12)


def test_description_is_the_same_in_every_process():
    architecture = Architecture(
        2, (3,), 2, 1, Weibull, lambda x: x.clamp(0, 1), torch.nn.functional.softplus
    )
    assert "0x" in str(architecture)
    assert "0x" not in architecture.description()
    named = Architecture(2, (3,), 2, 1, "weibull", "relu6", "selu")
    assert named.description() == Architecture(2, (3,), 2, 1, Weibull).description()
