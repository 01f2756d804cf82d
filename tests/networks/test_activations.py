"""Every activation is declared once: its function, its in-place form and its derivative agree."""

import pickle

import numpy as np
import pytest
import torch
from torch import nn

from lifemix import DeepSurvivalMachines, make_target, save
from lifemix.baselines import DeepSurv
from lifemix.errors import ModelFileError, SettingError
from lifemix.networks import ACTIVATIONS, activation_module, resolve_activation
from lifemix.training.fused import Fused

EVERY = pytest.mark.parametrize("name", ACTIVATIONS)
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


@EVERY
def test_in_place_form_equals_the_function(name):
    one, x = ACTIVATIONS[name], X.clone()
    one.in_place(x)
    np.testing.assert_allclose(x, one.function(X), rtol=1e-14)


@EVERY
def test_in_place_derivative_equals_autograd(name):
    one, x = ACTIVATIONS[name], X.clone().requires_grad_()
    y = one.function(x)
    upstream = torch.linspace(-2, 3, y.numel(), dtype=torch.float64).view_as(y)
    (expected,) = torch.autograd.grad(y, x, upstream)
    gradient = upstream.clone()
    if one.derivative_in_place is not None:
        one.derivative_in_place(gradient, X.clone() if one.keeps_input else y.detach())
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-15)


@EVERY
def test_a_part_of_a_larger_array_can_be_overwritten(name):
    """The shifts are such a part: the logits stand between them."""
    one = ACTIVATIONS[name]
    whole = torch.linspace(-3, 3, 24, dtype=torch.float64).view(2, 3, 4)
    expected = one.function(whole[:, 1:].clone())
    first = whole[:, 0].clone()
    one.in_place(whole[:, 1:])
    np.testing.assert_allclose(whole[:, 1:], expected, rtol=1e-14)
    np.testing.assert_array_equal(whole[:, 0], first)


@EVERY
def test_bounds_are_what_is_declared(name):
    far = ACTIVATIONS[name].function(torch.tensor([-1e4, 1e4]))
    below_only = far[0] > -10 and far[0] < 0 and far[1] > 1e3
    assert ACTIVATIONS[name].bounded_below_only == bool(below_only)


@EVERY
def test_pickles_by_name(name):
    assert pickle.loads(pickle.dumps(ACTIVATIONS[name])) is ACTIVATIONS[name]


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_those_of_torch(name):
    x = X.float()
    np.testing.assert_array_equal(activation_module(name)()(x), MODULES[name]()(x))


@EVERY
def test_no_named_activation_leaves_the_fast_step(name, monkeypatch):
    steps = []
    step = Fused.loss_and_gradient
    monkeypatch.setattr(Fused, "loss_and_gradient", lambda *given: steps.append(1) or step(*given))
    DeepSurvivalMachines(hidden=(4,), activation=name, shift_activation=name, max_epochs=1).fit(
        *sample()
    )
    assert steps


@pytest.mark.parametrize("function", [nn.functional.softplus, nn.Mish(), lambda x: x.clamp(-1, 1)])
def test_a_function_trains_by_autograd(function):
    model = DeepSurvivalMachines(hidden=(4,), activation=function, max_epochs=2).fit(*sample())
    assert np.isfinite(model.predict(sample()[0])).all()


def test_the_function_of_a_name_gives_the_same_fit():
    named, given = (
        DeepSurvivalMachines(hidden=(4,), activation=one, max_epochs=3)
        .fit(*sample())
        .predict(sample()[0])
        for one in ("tanh", torch.tanh)
    )
    np.testing.assert_allclose(given, named, rtol=1e-5)


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
            "must return a tensor of the shape that it was given; got ReLU, which returns ReLU.*not the class",
        ),
        (lambda x: x.sum(), r"got <lambda>, which returns a tensor of shape \(\) for \(2, 3\)"),
        (nn.PReLU(), "must have no parameters, which would not be trained; got PReLU.*encoder"),
        (nn.Linear(2, 2).forward, "must take a tensor of any shape; got forward, which fails"),
    ],
)
def test_what_is_no_activation_is_refused_in_words(choice, message):
    with pytest.raises(SettingError, match=message):
        resolve_activation(choice)


def test_a_function_of_the_shifts_cannot_be_saved(tmp_path):
    model = DeepSurvivalMachines(
        hidden=(4,), shift_activation=nn.functional.softplus, max_epochs=1
    ).fit(*sample())
    with pytest.raises(
        ModelFileError, match="shift_activation: .* cannot be written without pickle. Use the name"
    ):
        save(model, tmp_path / "model.safetensors")


def test_baselines_take_every_activation():
    pytest.importorskip("pycox")
    for name in ACTIVATIONS:
        model = DeepSurv(hidden=(4,), activation=name, max_epochs=1, random_state=0).fit(*sample())
        assert np.isfinite(model.predict(sample()[0])).all()
