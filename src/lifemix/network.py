"""The network: from covariates, by an encoder and heads, to one mixture for each event.

All parameters have a leading model axis, so that one matrix product serves many small networks of
one shape: the members of an ensemble, or the candidates of a search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from .errors import SettingError
from .primitives import Mixture, Primitive, primitive_class
from .primitives.cure import Never
from .primitives.mixture import ComponentFamilies, Mixed, mixed

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "ActivationModule",
    "Architecture",
    "Layout",
    "resolve_activation",
]

_MODULE = "module."  # precedes the names of the parameters of a user's encoder
_HEADS_SCALE = (
    0.3  # of the usual starting values: at first the covariates hardly move the warm start
)


@dataclass(frozen=True)
class Activation:
    """An elementwise function that follows each layer.

    Parameters
    ----------
    name : str
        The value of ``activation=`` and the name in a model file.
    function : callable
        From a tensor to a new tensor, differentiable by autograd.
    in_place : callable, optional
        The same function, which overwrites its argument. Without it the analytic gradient is not
        used.
    differentiate : callable
        ``(gradient, output)`` multiplies the gradient by the derivative in place, which follows
        from the output of the function. The default is a derivative of 1.
    bounded_below_only : bool
        Whether the function has a lower bound and no upper bound.
    """

    name: str
    function: Callable[[Tensor], Tensor]
    in_place: Callable[[Tensor], Tensor] | None = None
    differentiate: Callable[[Tensor, Tensor], Tensor] = lambda gradient, output: gradient
    bounded_below_only: bool = False


def _backward(name: str, *settings: float) -> Callable[[Tensor, Tensor], Tensor]:
    """Return PyTorch's derivative of an activation, which overwrites the gradient."""
    multiply = getattr(torch.ops.aten, f"{name}_backward").grad_input
    return lambda gradient, output: multiply(gradient, output, *settings, grad_input=gradient)


def _elu_backward(alpha: float, scale: float) -> Callable[[Tensor, Tensor], Tensor]:
    multiply = torch.ops.aten.elu_backward.grad_input
    return lambda gradient, output: multiply(
        gradient, alpha, scale, 1, True, output, grad_input=gradient
    )


_ACTIVATIONS = (
    Activation("relu6", functional.relu6, lambda x: x.clamp_(0, 6), _backward("hardtanh", 0, 6)),
    Activation("relu", functional.relu, torch.relu_, _backward("threshold", 0)),
    Activation(
        "selu",
        functional.selu,
        torch.selu_,
        _elu_backward(1.6732632423543772, 1.0507009873554805),
        bounded_below_only=True,
    ),
    Activation(
        "elu", functional.elu, functional.elu_, _elu_backward(1, 1), bounded_below_only=True
    ),
    Activation("gelu", functional.gelu),  # the derivative does not follow from the output
    Activation("silu", functional.silu),
    Activation("tanh", torch.tanh, torch.tanh_, _backward("tanh")),
    Activation("identity", lambda x: x, lambda x: x),
)
ACTIVATIONS = {activation.name: activation for activation in _ACTIVATIONS}


def resolve_activation(choice: object) -> Activation:
    """Return the activation of a name, or one that wraps a function of the user's."""
    if isinstance(choice, str) and choice in ACTIVATIONS:
        return ACTIVATIONS[choice]
    if isinstance(choice, str) or not callable(choice):
        raise SettingError(
            f"unknown activation; got {choice!r}, expected one of {sorted(ACTIVATIONS)}, or a "
            "function of a tensor."
        )
    name = getattr(choice, "__name__", type(choice).__name__)
    if isinstance(choice, nn.Module) and any(True for _ in choice.parameters()):
        raise SettingError(
            f"an activation must have no parameters, which would not be trained; got {name} with "
            "some. Put it into a module of your own and give that as encoder."
        )
    x = torch.linspace(-1, 1, 6).view(2, 3)
    try:
        output = choice(x)
        problem = None if output.shape == x.shape else f"returns shape {tuple(output.shape)}"
    except Exception as error:
        problem = f"fails: {error!r:.200}"
    if problem is not None:
        raise SettingError(
            "an activation must take a tensor of any shape and return one of the same shape; got "
            f"{name}, which for {tuple(x.shape)} {problem}. Give a function such as "
            "torch.nn.functional.softplus, not the class of a module."
        )
    return Activation(name, choice)


class ActivationModule(nn.Module):
    """A named activation as a module, for networks composed of modules."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, x: Tensor) -> Tensor:
        """Return the function of every element."""
        return ACTIVATIONS[self.name].function(x)


@dataclass(frozen=True)
class Layout:
    """The names and shapes of the parameters of a model, in their order in memory.

    A model is a row, ``[n_parameters]``, which is stored and applied. In training, all models of a
    fleet form one vector: each parameter of all models is contiguous, ``[n_models, *shape]``, which
    the matrix products need.
    """

    shapes: Mapping[str, tuple[int, ...]]

    @property
    def sizes(self) -> list[int]:
        """The number of values of each parameter."""
        return [math.prod(shape) for shape in self.shapes.values()]

    @property
    def size(self) -> int:
        """The number of values of one model."""
        return sum(self.sizes)

    def views(self, rows: Tensor) -> dict[str, Tensor]:
        """Return views of rows ``[n_models, n_parameters]``, each ``[n_models, *shape]``."""
        blocks = rows.split(self.sizes, dim=1)
        return {
            name: block.unflatten(1, shape)
            for (name, shape), block in zip(self.shapes.items(), blocks, strict=True)
        }

    def blocks(self, flat: Tensor, n_models: int) -> dict[str, Tensor]:
        """Return views of the vector of a fleet by name, each contiguous ``[n_models, *shape]``."""
        blocks = flat.split([n_models * size for size in self.sizes])
        return {
            name: block.view(n_models, *shape)
            for (name, shape), block in zip(self.shapes.items(), blocks, strict=True)
        }

    def pack(self, rows: Tensor) -> Tensor:
        """Return the vector of a fleet from the rows of its models."""
        return torch.cat([view.flatten() for view in self.views(rows).values()])

    def unpack(self, flat: Tensor, n_models: int) -> Tensor:
        """Return the rows of the models from the vector of their fleet."""
        blocks = self.blocks(flat, n_models).values()
        return torch.cat([block.flatten(1) for block in blocks], dim=1)


@dataclass(frozen=True)
class Architecture:
    """The shape of a model; models of one shape can train together.

    The encoder is a multilayer perceptron, or a ``module`` of the user's (``[n_rows, n_inputs]`` to
    ``[n_rows, module_width]``), whose trainable parameters join those of the heads; then there is
    one model. Frozen parameters stay in the module.

    If components belong to several families, ``primitive`` holds the families of each event.
    """

    n_inputs: int
    hidden: tuple[int, ...]
    k: int
    n_events: int
    primitive: str | type[Primitive] | ComponentFamilies
    activation: str | Callable[[Tensor], Tensor] = "relu6"
    shift_activation: str | Callable[[Tensor], Tensor] | None = None  # None: that of the primitive
    bias: bool = True
    module: nn.Module | None = field(default=None, compare=False)
    module_width: int = 0

    @property
    def family(self) -> type[Primitive]:
        """The class of the components; a ``Mixed`` class if there are several families."""
        if not isinstance(self.primitive, tuple):
            return primitive_class(self.primitive)
        families = [family for event in self.primitive for family in event]
        return mixed(tuple(dict.fromkeys(families)))

    @cached_property
    def component_family_index(self) -> Tensor:
        """Which of ``family.families`` each component belongs to, ``[n_events, k]``."""
        if not isinstance(self.primitive, tuple) or not issubclass(self.family, Mixed):
            return torch.zeros(self.n_events, self.k, dtype=torch.int64)
        index_of = self.family.families.index
        return torch.tensor([[index_of(family) for family in event] for event in self.primitive])

    @property
    def encoder_activation(self) -> Activation:
        """The activation of the hidden layers."""
        return resolve_activation(self.activation)

    @property
    def act(self) -> Activation:
        """The paper's ``act``, through which the shifts of the parameters go."""
        return resolve_activation(self.shift_activation or self.family.shift_activation)

    @property
    def shift_signs(self) -> tuple[float, ...]:
        """The sign of the shift of each parameter of the primitive.

        SELU is bounded below only. It is subtracted from the location (added to the log rate), so
        that an event may come arbitrarily early.
        """
        subtracted = self.family.location_index() if self.act.bounded_below_only else None
        n_parameters = len(self.family.parameter_names())
        return tuple(-1.0 if index == subtracted else 1.0 for index in range(n_parameters))

    def description(self) -> str:
        """Return a text that identifies the architecture, the same in every process."""
        events = self.primitive if isinstance(self.primitive, tuple) else ((self.family,),)
        names = [[family.__name__ for family in event] for event in events]
        encoder, act = self.encoder_activation.name, self.act.name
        return str(replace(self, primitive=str(names), activation=encoder, shift_activation=act))

    @property
    def width(self) -> int:
        """The number of features of the representation."""
        if self.module is not None:
            return self.module_width
        return self.hidden[-1] if self.hidden else self.n_inputs

    @cached_property
    def layout(self) -> Layout:
        """Names and shapes of the parameters.

        ``heads`` holds the rows of the gate and of the shifts of every event, ``base`` the base
        values, ``fixed`` the parameters of the components that are not trained.
        """
        shapes: dict[str, tuple[int, ...]] = {}
        for name, values in self._module_parameters().items():
            shapes[name] = tuple(values.shape)
        if self.module is None:
            fan_in = self.n_inputs
            for layer, fan_out in enumerate(self.hidden):
                shapes[f"encoder.{layer}.weight"] = (fan_in, fan_out)
                if self.bias:
                    shapes[f"encoder.{layer}.bias"] = (fan_out,)
                fan_in = fan_out
        n_parameters = len(self.family.parameter_names())
        n_fixed = len(self.family.fixed_names)
        shapes["heads"] = (self.n_events * (1 + n_parameters) * self.k, self.width)
        if self.bias:
            shapes["gate_bias"] = (self.n_events, self.k)
        shapes["base"] = (self.n_events, n_parameters, self.k)
        if n_fixed:
            shapes["fixed"] = (self.n_events, n_fixed, self.k)
        return Layout(shapes)

    def represent(
        self, parameters: Mapping[str, Tensor], x: Tensor, masks: Sequence[Tensor] | None = None
    ) -> Tensor:
        """Return the representation ``[n_models, n_rows, width]``.

        x: ``[n_models, n_rows, n_inputs]``.
        masks: for dropout, one per layer: 0 for a dropped unit, else 1 / (1 - rate).
        """
        if self.module is not None:
            values = {}
            for name, value in self.module_state().items():
                if value.device != x.device:  # a fitted module stays on the CPU
                    values[name] = value.to(x.device)
            for name, parameter in parameters.items():
                if name.startswith(_MODULE):
                    values[name.removeprefix(_MODULE)] = parameter[0]
            output: Tensor = functional_call(self.module, values, (x[0],))
            return output[None]
        activation = self.encoder_activation.function
        for layer in range(len(self.hidden)):
            weight = parameters[f"encoder.{layer}.weight"]
            bias = parameters.get(f"encoder.{layer}.bias")
            x = x @ weight if bias is None else torch.baddbmm(bias[:, None], x, weight)
            x = activation(x)
            if masks is not None:
                x = x * masks[layer]
        return x

    def mixtures(
        self, parameters: Mapping[str, Tensor], x: Tensor, masks: Sequence[Tensor] | None = None
    ) -> Mixture:
        """Return one mixture for each event, ``[n_models, n_rows, n_events, k]``."""
        representation = self.represent(parameters, x, masks)
        log_weights, *values = self.gate_and_parameters(parameters, representation)
        return Mixture(log_weights, self.family(*values))

    def gate_and_parameters(
        self, parameters: Mapping[str, Tensor], representation: Tensor
    ) -> tuple[Tensor, ...]:
        """Return log weights and parameters of the components.

        Each is ``[n_models, n_rows, n_events, k]``.

        The paper: ``z ~ softmax(Phi(x)' w)``, ``beta_k = base + act(Phi(x)' zeta)``,
        ``eta_k = base + act(Phi(x)' xi)``, on the log scale (the log-normal's eta, mu, as it is).
        Here ``heads`` stacks w and one matrix for each parameter of the primitive, in the order of
        its declaration.
        """
        base = parameters["base"]
        _, n_events, n_parameters, k = base.shape
        output = representation @ parameters["heads"].transpose(1, 2)
        output = output.unflatten(-1, (n_events, 1 + n_parameters, k))
        gate_logits = output[..., 0, :]
        if "gate_bias" in parameters:
            gate_logits = gate_logits + parameters["gate_bias"][:, None]
        shifts = self.act.function(output[..., 1:, :])
        values = []
        for index, sign in enumerate(self.shift_signs):
            base_values = base[:, None, :, index]  # [n_models, 1, n_events, k]
            values.append(base_values + sign * shifts[..., index, :])
        if "fixed" in parameters:
            fixed = parameters["fixed"].detach()[:, None]
            values += [value.expand_as(gate_logits) for value in fixed.unbind(3)]
        return torch.log_softmax(gate_logits, dim=-1), *values

    def start(
        self, warm_start: Tensor, spread: float, rng: np.random.Generator, trained: bool = True
    ) -> Tensor:
        """Return starting values of one model, ``[n_parameters]``; if untrained, the warm start.

        warm_start: the parameters of the primitive for each event, fixed ones included,
        ``[n_events, n_parameters]``. The components start there, displaced by up to ``spread``
        standard deviations of log time; otherwise they would stay identical.
        """
        row = torch.zeros(1, self.layout.size, dtype=torch.float64)
        parameters, module_parameters = self.layout.views(row), self._module_parameters()
        for name, values in parameters.items():
            if name in module_parameters:
                values.copy_(module_parameters[name])
            elif name.startswith("encoder") or (name == "heads" and trained):
                layer, _, _ = name.rpartition(".")
                fan_in = parameters[f"{layer}.weight"].shape[1] if layer else self.width
                bound = 1 / np.sqrt(max(fan_in, 1))  # as PyTorch's linear layers start
                start = rng.uniform(-bound, bound, tuple(values.shape[1:]))
                values.copy_(torch.from_numpy(start))
        parameters["heads"].mul_(_HEADS_SCALE)
        components = self._centre(warm_start)
        has_cure = isinstance(components, Mixed) and Never in components.families
        n_displaced = self.k - has_cure
        steps = np.zeros((self.n_events, self.k))
        if n_displaced > 1:
            steps[:, :n_displaced] = np.linspace(-1, 1, n_displaced)
            steps = spread * (steps + 0.1 * rng.standard_normal(steps.shape))
        components = components.displaced(torch.from_numpy(steps))
        values = torch.stack(components.parameters, dim=1)  # [n_events, n_parameters, k]
        n_trained = len(self.family.parameter_names())
        parameters["base"].copy_(values[:, :n_trained])
        if "fixed" in parameters:
            parameters["fixed"].copy_(values[:, n_trained:])
        if isinstance(components, Mixed) and has_cure and "gate_bias" in parameters:
            # The gate starts with the cured share of the warm start.
            never_index = components.families.index(Never)
            (log_odds,) = components.members()[never_index].parameters
            is_never = self.component_family_index == never_index
            logits = log_odds + torch.log((~is_never).sum(1, keepdim=True))
            parameters["gate_bias"][0].add_(torch.where(is_never, logits, 0.0))
        return row[0]

    def _centre(self, warm_start: Tensor) -> Primitive:
        """Return the components at the warm start, ``[n_events, k]``.

        The parameters of several families follow one another in the warm start.
        """
        values = warm_start[..., None].expand(-1, -1, self.k)
        columns = list(values.unbind(1))  # each [n_events, k]
        if not issubclass(self.family, Mixed):
            return self.family(*columns)
        members: list[Primitive] = []
        for family in self.family.families:
            n_parameters = len(family.parameter_names()) + len(family.fixed_names)
            members.append(family(*columns[:n_parameters]))
            columns = columns[n_parameters:]
        return self.family.join(members, self.component_family_index)

    def prior_centre(self, warm_start: Tensor) -> Tensor:
        """Return the prior's centre of the base values, ``[n_events, n_parameters, k]``."""
        components = self._centre(warm_start)
        n_trained = len(self.family.parameter_names())
        return torch.stack(components.parameters[:n_trained], dim=1)

    @torch.no_grad()
    def fill_module(self, row: Tensor) -> None:
        """Copy the values of a model, ``[1, n_parameters]``, to the module.

        ``represent`` replaces the values of the module during a call; if they are equal, calls from
        several threads do not interfere.
        """
        values = self.layout.views(row)
        for name, parameter in self._module_parameters().items():
            parameter.copy_(values[name][0])

    def module_state(self) -> dict[str, Tensor]:
        """Return the buffers and frozen parameters of the module."""
        if self.module is None:
            return {}
        parameters = self.module.named_parameters()
        frozen = {name: values.detach() for name, values in parameters if not values.requires_grad}
        return dict(self.module.named_buffers()) | frozen

    def _module_parameters(self) -> dict[str, Tensor]:
        """Return the trainable parameters of the module by their names in the layout."""
        if self.module is None:
            return {}
        parameters = self.module.named_parameters()
        return {
            _MODULE + name: values.detach() for name, values in parameters if values.requires_grad
        }
