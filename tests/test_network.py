"""The network: activations, layout, heads, and where training starts."""

import numpy as np
import pytest
import torch
from torch import nn

from helpers.custom_primitives import Burr, Exponential, Gompertz
from lifemix import DeepSurvivalMachines, make_target
from lifemix.errors import SettingError
from lifemix.network import ACTIVATIONS, ActivationModule, Architecture, Layout, resolve_activation
from lifemix.primitives import PRIMITIVES, Weibull
from lifemix.primitives.mixture import choose_families

ALL = pytest.mark.parametrize("family", PRIMITIVES.values(), ids=PRIMITIVES.keys())
EVERY = pytest.mark.parametrize("name", ACTIVATIONS)
IN_PLACE = pytest.mark.parametrize(
    "name", [name for name, activation in ACTIVATIONS.items() if activation.in_place]
)
MODULES = {
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "selu": nn.SELU,
    "tanh": nn.Tanh,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
}
X = torch.linspace(-8, 8, 401, dtype=torch.float64)[:, None] * torch.tensor(
    [1.0, 0.013], dtype=torch.float64
)


def sample(n=80):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), make_target(rng.weibull(1.4, n) + 0.01, rng.integers(0, 2, n))


@IN_PLACE
def test_in_place_form_equals_the_function(name):
    activation, x = ACTIVATIONS[name], X.clone()
    activation.in_place(x)
    np.testing.assert_allclose(x, activation.function(X), rtol=1e-14)


@IN_PLACE
def test_in_place_derivative_equals_autograd(name):
    activation, x = ACTIVATIONS[name], X.clone().requires_grad_()
    y = activation.function(x)
    upstream = torch.linspace(-2, 3, y.numel(), dtype=torch.float64).view_as(y)
    (expected,) = torch.autograd.grad(y, x, upstream)
    gradient = upstream.clone()
    activation.differentiate(gradient, y.detach())
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-15)


@IN_PLACE
def test_a_part_of_a_larger_array_can_be_overwritten(name):
    """The shifts are such a part: the logits stand between them."""
    activation = ACTIVATIONS[name]
    array = torch.linspace(-3, 3, 24, dtype=torch.float64).view(2, 3, 4)
    expected = activation.function(array[:, 1:].clone())
    first = array[:, 0].clone()
    activation.in_place(array[:, 1:])
    np.testing.assert_allclose(array[:, 1:], expected, rtol=1e-14)
    np.testing.assert_array_equal(array[:, 0], first)


@EVERY
def test_bounds_are_what_is_declared(name):
    far = ACTIVATIONS[name].function(torch.tensor([-1e4, 1e4]))
    below_only = far[0] > -10 and far[0] < 0 and far[1] > 1e3
    assert ACTIVATIONS[name].bounded_below_only == bool(below_only)


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_those_of_torch(name):
    x = X.float()
    np.testing.assert_array_equal(ActivationModule(name)(x), MODULES[name]()(x))


@pytest.mark.parametrize("function", [nn.functional.softplus, nn.Mish(), lambda x: x.clamp(-1, 1)])
def test_a_function_trains_by_autograd(function):
    model = DeepSurvivalMachines(hidden=(4,), activation=function, max_epochs=2).fit(*sample())
    assert np.isfinite(model.predict(sample()[0])).all()


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (
            "sine",
            r"unknown activation; got 'sine', expected one of \[.*'tanh'\], or a function of a tensor",
        ),
        (3, "unknown activation; got 3"),
        (None, "unknown activation; got None"),
        (
            nn.ReLU,
            "got ReLU, which for .* fails: AttributeError.*not the class",
        ),
        (lambda x: x.sum(), r"got <lambda>, which for \(2, 3\) returns shape \(\)"),
        (nn.PReLU(), "must have no parameters, which would not be trained; got PReLU.*encoder"),
        (nn.Linear(2, 2).forward, "got forward, which for .* fails"),
    ],
)
def test_what_is_no_activation_is_refused_in_words(choice, message):
    with pytest.raises(SettingError, match=message):
        resolve_activation(choice)


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


def test_vectors_of_fleets_and_rows_of_models_convert_into_each_other():
    layout = Layout({"weight": (2, 3), "bias": (3,)})
    rows = torch.arange(18.0).view(2, 9)
    flat = layout.pack(rows)
    assert torch.equal(layout.unpack(flat, 2), rows)
    blocks, views = layout.blocks(flat, 2), layout.views(rows)
    for name, shape in layout.shapes.items():
        assert blocks[name].shape == (2, *shape)
        assert blocks[name].is_contiguous()
        assert torch.equal(blocks[name], views[name])


def test_components_have_the_family_of_their_event():
    families = choose_families({1: {"weibull": 2}, 2: ["lognormal", "burr"]}, 1, 2)
    architecture = Architecture(2, (3,), 2, 2, families)
    assert [family.name for family in architecture.family.families] == [
        "weibull",
        "lognormal",
        "burr",
    ]
    assert architecture.component_family_index.tolist() == [[0, 0], [1, 2]]
