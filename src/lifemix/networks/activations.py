"""Every activation, declared once: for PyTorch, for the training step that is written out, and for the calculator.

A new one is one entry of ``ACTIVATIONS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import SettingError

__all__ = ["ACTIVATIONS", "Activation", "activation_module", "resolve_activation"]

Function = Callable[[Tensor], Tensor]
InPlaceDerivative = Callable[[Tensor, Tensor], Tensor]

_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


@dataclass(frozen=True)
class Activation:
    """A function of single numbers that stands behind every layer.

    Parameters
    ----------
    name : str
        What ``activation=`` takes and what a model file holds.
    function : callable
        Any tensor to a new one; autograd can differentiate it.
    in_place : callable or None
        The same, overwriting its argument. None: not known to the training step that is written out, so that training
        goes by autograd.
    derivative_in_place : callable or None
        ``(gradient, kept)``: multiply the gradient by the derivative, in place. None: the derivative is 1.
    keeps_input : bool
        Whether ``kept`` is the input of the function; otherwise its value, which needs no memory.
    bounded_below_only : bool
        Whether a shift through it has a bound below and none above.
    javascript : str or None
        The function in JavaScript. None: a calculator cannot be made.
    """

    name: str
    function: Function
    in_place: Function | None = None
    derivative_in_place: InPlaceDerivative | None = None
    keeps_input: bool = False
    bounded_below_only: bool = False
    javascript: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a registered activation by its name, another as its function."""
        if ACTIVATIONS.get(self.name) is self:
            return resolve_activation, (self.name,)
        return Activation, (self.name, self.function)


_aten = torch.ops.aten
_hardtanh_backward = _aten.hardtanh_backward.grad_input
_threshold_backward = _aten.threshold_backward.grad_input
_tanh_backward = _aten.tanh_backward.grad_input
_elu_backward = _aten.elu_backward.grad_input
_gelu_backward = _aten.gelu_backward.grad_input
_silu_backward = _aten.silu_backward.grad_input

_ALL = (
    Activation(
        "relu6",
        functional.relu6,
        lambda x: x.clamp_(0, 6),
        lambda g, y: _hardtanh_backward(g, y, 0, 6, grad_input=g),
        javascript="(x) => Math.min(Math.max(x, 0), 6)",
    ),
    Activation(
        "relu",
        functional.relu,
        lambda x: x.clamp_(min=0),
        lambda g, y: _threshold_backward(g, y, 0, grad_input=g),
        javascript="(x) => Math.max(x, 0)",
    ),
    Activation(
        "selu",
        functional.selu,
        functional.selu_,
        lambda g, y: _elu_backward(g, _SELU_ALPHA, _SELU_SCALE, 1, True, y, grad_input=g),
        bounded_below_only=True,
        javascript=f"(x) => {_SELU_SCALE} * (x > 0 ? x : {_SELU_ALPHA} * Math.expm1(x))",
    ),
    Activation(
        "elu",
        functional.elu,
        functional.elu_,
        lambda g, y: _elu_backward(g, 1, 1, 1, True, y, grad_input=g),
        bounded_below_only=True,
        javascript="(x) => (x > 0 ? x : Math.expm1(x))",
    ),
    Activation(
        "gelu",
        functional.gelu,
        _aten.gelu_,
        lambda g, x: _gelu_backward(g, x, grad_input=g),
        keeps_input=True,
        javascript="(x) => x * normalSurvival(-x)",
    ),
    Activation(
        "silu",
        functional.silu,
        _aten.silu_,
        lambda g, x: _silu_backward(g, x, grad_input=g),
        keeps_input=True,
        javascript="(x) => x / (1 + Math.exp(-x))",
    ),
    Activation(
        "tanh",
        torch.tanh,
        lambda x: x.tanh_(),
        lambda g, y: _tanh_backward(g, y, grad_input=g),
        javascript="Math.tanh",
    ),
    Activation("identity", lambda x: x, lambda x: x, None, javascript="(x) => x"),
)

ACTIVATIONS: dict[str, Activation] = {one.name: one for one in _ALL}


def resolve_activation(choice: object) -> Activation:
    """Return an activation by its name; a function of the user's becomes one that goes by autograd."""
    if isinstance(choice, str) and choice in ACTIVATIONS:
        return ACTIVATIONS[choice]
    if isinstance(choice, str) or not callable(choice):
        raise SettingError(
            f"unknown activation; got {choice!r}, expected one of {sorted(ACTIVATIONS)}, or a function of a tensor."
        )
    name = getattr(choice, "__name__", type(choice).__name__)
    _check_function(choice, name)
    return Activation(name, choice)


def activation_module(name: str) -> Callable[[], nn.Module]:
    """Return what makes an activation as a module: for networks that are put together from modules."""
    return partial(_Elementwise, resolve_activation(name))


class _Elementwise(nn.Module):
    """An activation as a module without parameters."""

    def __init__(self, activation: Activation) -> None:
        super().__init__()
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """Return the function of every element."""
        return self.activation.function(x)


def _check_function(function: Callable[[Tensor], Tensor], name: str) -> None:
    """Refuse what is no function from a tensor to one of the same shape."""
    if isinstance(function, nn.Module) and any(True for _ in function.parameters()):
        raise SettingError(
            f"an activation must have no parameters, which would not be trained; got {name} with some. Put it into a "
            "module of your own and give that as encoder."
        )
    x = torch.linspace(-1, 1, 6).view(2, 3)
    try:
        y = function(x)
    except Exception as error:
        raise SettingError(
            f"an activation must take a tensor of any shape; got {name}, which fails: {error!r:.200}. Give a function "
            "such as torch.nn.functional.softplus."
        ) from None
    if not isinstance(y, Tensor) or y.shape != x.shape:
        got = (
            f"a tensor of shape {tuple(y.shape)} for {tuple(x.shape)}"
            if isinstance(y, Tensor)
            else type(y).__name__
        )
        raise SettingError(
            f"an activation must return a tensor of the shape that it was given; got {name}, which returns {got}. Give "
            "a function such as torch.nn.functional.softplus, not the class of a module."
        )
