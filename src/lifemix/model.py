"""Deep Survival Machines: an encoder and heads that turn covariates into one mixture of primitives for each event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from .devices import on_host
from .networks import (
    Activation,
    Layout,
    encode,
    encoder_shapes,
    gate_and_parameters,
    head_shapes,
    resolve_activation,
    uniform_start,
)
from .primitives import Mixture, Primitive, primitive_class
from .primitives.choice import Places
from .primitives.mixed import Mixed, mixed
from .primitives.never import Never

__all__ = ["Architecture"]

_MODULE = "module."
_HEADS_START = 0.3  # of the usual scale: at the start the covariates hardly move the warm start


@dataclass(frozen=True)
class Architecture:
    """The shape of a model. Models of one shape are trained together, as rows of one matrix of parameters.

    A ``module`` (any ``nn.Module`` that maps ``[rows, inputs]`` to ``[rows, width]``) takes the place of the encoder;
    its parameters become part of the row, and there is one model then. Parameters that are frozen (``requires_grad``
    false) stay in the module as they are.
    """

    n_inputs: int
    hidden: tuple[int, ...]
    k: int
    n_events: int
    primitive: str | type[Primitive] | Places
    activation: str | Callable[[Tensor], Tensor] = "relu6"
    shift_activation: str | Callable[[Tensor], Tensor] | None = (
        None  # None: the paper's, by primitive
    )
    bias: bool = True
    module: nn.Module | None = field(default=None, compare=False)
    module_width: int = 0

    @cached_property
    def family(self) -> type[Primitive]:
        """The class of the primitive; of several, the one that joins them."""
        if not isinstance(self.primitive, tuple):
            return primitive_class(self.primitive)
        every = dict.fromkeys(
            family for families in self.primitive for family in families if family is not None
        )
        return mixed(tuple(every))

    @cached_property
    def kinds(self) -> Tensor:
        """Which family each component belongs to, ``[events, k]``; places without a component have the first."""
        assert isinstance(self.primitive, tuple)
        assert issubclass(self.family, Mixed)
        every: tuple[type[Primitive] | None, ...] = self.family.families
        firsts = (families[0] for families in self.primitive)
        rows = [
            [every.index(one or first) for one in families]
            for first, families in zip(firsts, self.primitive, strict=True)
        ]
        return torch.tensor(rows)

    @cached_property
    def closed(self) -> Tensor | None:
        """Places without a component, ``[events, k]``, if there are any."""
        if not isinstance(self.primitive, tuple) or all(
            None not in families for families in self.primitive
        ):
            return None
        return torch.tensor([[one is None for one in families] for families in self.primitive])

    @cached_property
    def encoder_activation(self) -> Activation:
        """What stands behind every hidden layer."""
        return resolve_activation(self.activation)

    @cached_property
    def act(self) -> Activation:
        """The paper's ``act``, through which the shifts of the parameters go."""
        return resolve_activation(self.shift_activation or self.family.shift_activation)

    @cached_property
    def shift_signs(self) -> tuple[float, ...]:
        """The signs of the shifts, one per parameter of the primitive.

        SELU has no bound above and one below. It is subtracted from the location: added to the log rate, so that there
        is no bound to how early an event may come.
        """
        at = self.family.location_index() if self.act.bounded_below_only else None
        return tuple(
            -1.0 if place == at else 1.0 for place in range(len(self.family.parameter_names()))
        )

    def description(self) -> str:
        """Return what tells one architecture from another in every process: functions and classes by name."""
        encoder, act = self.encoder_activation.name, self.act.name
        name = self.family.name
        if isinstance(self.primitive, tuple):
            name = str(
                [
                    [one and getattr(one, "name", "never") for one in families]
                    for families in self.primitive
                ]
            )
        return str(replace(self, primitive=name, activation=encoder, shift_activation=act))

    @property
    def width(self) -> int:
        """The number of features of the representation."""
        if self.module is not None:
            return self.module_width
        return self.hidden[-1] if self.hidden else self.n_inputs

    @cached_property
    def layout(self) -> Layout:
        """Names and shapes of the parameters."""
        if self.module is None:
            encoder = encoder_shapes(self.n_inputs, self.hidden, self.bias)
        else:
            encoder = {name: tuple(p.shape) for name, p in self._module_parameters().items()}
        n_parameters, n_fixed = len(self.family.parameter_names()), len(self.family.fixed_names)
        return Layout(
            {
                **encoder,
                **head_shapes(self.width, self.n_events, n_parameters, self.k, self.bias, n_fixed),
            }
        )

    def represent(
        self, parameters: Mapping[str, Tensor], x: Tensor, masks: Sequence[Tensor] | None = None
    ) -> Tensor:
        """Return the representation ``[models, rows, width]`` of ``x`` ``[models, rows, inputs]``."""
        if self.module is not None:
            own = {
                name.removeprefix(_MODULE): p[0]
                for name, p in parameters.items()
                if name.startswith(_MODULE)
            }
            for name, value in self.module_state().items():
                if value.device != x.device:  # a fitted module stays where it is saved from
                    own[name] = value.to(x.device)
            output: Tensor = functional_call(self.module, own, (x[0],))
            return output[None]
        return encode(parameters, x, self.encoder_activation.function, masks)

    def mixtures(
        self, parameters: Mapping[str, Tensor], x: Tensor, masks: Sequence[Tensor] | None = None
    ) -> Mixture:
        """Return one mixture for each event, ``[models, rows, events, k]``."""
        log_weights, *values = self.gate_and_parameters(
            parameters, self.represent(parameters, x, masks)
        )
        return Mixture(log_weights, self.family(*values))

    def gate_and_parameters(
        self, parameters: Mapping[str, Tensor], representation: Tensor
    ) -> tuple[Tensor, ...]:
        """Return log weights and the primitive's parameters, each ``[models, rows, events, k]``."""
        closed, device = self.closed, representation.device
        if closed is not None and not on_host(device):
            assert isinstance(self.primitive, tuple)
            closed = _closed_on(self.primitive, device)
        return gate_and_parameters(
            parameters, representation, self.act.function, self.shift_signs, closed
        )

    def start(
        self, warm_start: Tensor, spread: float, rng: np.random.Generator, trained: bool = True
    ) -> Tensor:
        """Draw starting parameters of one model, ``[parameters]``; one that will not be trained is the warm start.

        warm_start: the primitive's parameters of each event, fixed ones included, ``[events, parameters]``. The
        components start from there, moved by up to ``spread`` standard deviations of log time, or they would stay
        identical.
        """
        flat = torch.zeros(1, self.layout.size, dtype=torch.float64)
        given = self._module_parameters()
        for name, view in self.layout.views(flat).items():
            if name in given:
                view.copy_(given[name])
            elif name.startswith("encoder") or (name == "heads" and trained):
                fan_in = self.width if name == "heads" else self._fan_in(name)
                view.copy_(uniform_start(tuple(view.shape[1:]), fan_in, rng))
        self.layout.views(flat)["heads"].mul_(_HEADS_START)
        shape = (self.n_events, self.k)
        cure = issubclass(self.family, Mixed) and Never in self.family.families
        n_apart = self.k - cure  # never is nowhere
        steps = np.append(np.linspace(-1, 1, n_apart), [0.0] * cure)
        scatter = (
            spread * (steps + 0.1 * rng.standard_normal(shape)) if n_apart > 1 else np.zeros(shape)
        )
        components = self.centre(warm_start).displaced(torch.from_numpy(scatter))
        n_trained = len(self.family.parameter_names())
        self.layout.views(flat)["base"].copy_(torch.stack(components.parameters[:n_trained], dim=1))
        if self.family.fixed_names:
            self.layout.views(flat)["fixed"].copy_(
                torch.stack(components.parameters[n_trained:], dim=1)
            )
        self._start_gate(self.layout.views(flat), components)
        return flat[0]

    def _start_gate(self, views: Mapping[str, Tensor], components: Primitive) -> None:
        """Let the gate begin with the share of the cured that the warm start found."""
        if (
            not isinstance(components, Mixed)
            or Never not in components.families
            or "gate_bias" not in views
        ):
            return
        at = components.families.index(Never)
        never = self.kinds == at
        others = ~never if self.closed is None else ~(never | self.closed)
        (log_odds,) = components.members()[at].parameters
        views["gate_bias"][0].add_(
            torch.where(never, log_odds + torch.log(others.sum(1, keepdim=True)), 0.0)
        )

    def centre(self, warm_start: Tensor) -> Primitive:
        """Return the components, ``[events, k]``, at the warm start; of several families, that of one after another."""
        columns = [column[:, None].expand(self.n_events, self.k) for column in warm_start.unbind(1)]
        if not issubclass(self.family, Mixed):
            return self.family(*columns)
        members: list[Primitive] = []
        for family in self.family.families:
            width = len(family.parameter_names()) + len(family.fixed_names)
            members.append(family(*columns[:width]))
            columns = columns[width:]
        return self.family.join(members, self.kinds)

    def centres(self, warm_start: Tensor) -> tuple[Tensor, Tensor]:
        """Return what the base values are drawn to, and the fixed parameters, ``[events, parameters, k]``."""
        together = torch.stack(self.centre(warm_start).parameters, dim=1)
        n_trained = len(self.family.parameter_names())
        return together[:, :n_trained], together[:, n_trained:]

    def widened(self, row: Tensor, n_inputs: int) -> Tensor:
        """Return the parameters of a model of ``n_inputs`` inputs as those of one with more, whose others weigh 0.

        The first layer's weights stand first, one input after the other.
        """
        own, wide = n_inputs * self.hidden[0], self.n_inputs * self.hidden[0]
        return torch.cat([row[:own], row.new_zeros(wide - own), row[own:]])

    def narrowed(self, row: Tensor, n_inputs: int) -> Tensor:
        """Return the parameters of the model without the inputs behind the first ``n_inputs``."""
        own, wide = n_inputs * self.hidden[0], self.n_inputs * self.hidden[0]
        return torch.cat([row[:own], row[wide:]])

    @torch.no_grad()
    def fill_module(self, row: Tensor) -> None:
        """Give the module itself the values of a model, ``[1, parameters]``.

        ``represent`` lends the module its values for the time of a call; with the same values underneath, calls from
        several threads do not disturb each other.
        """
        values = self.layout.views(row)
        for name, parameter in self._module_parameters().items():
            parameter.copy_(values[name][0])

    def module_state(self) -> dict[str, Tensor]:
        """Return what the module keeps beside the parameters that are trained: its buffers and frozen parameters."""
        if self.module is None:
            return {}
        frozen = {
            name: p.detach() for name, p in self.module.named_parameters() if not p.requires_grad
        }
        return dict(self.module.named_buffers()) | frozen

    def _module_parameters(self) -> dict[str, Tensor]:
        if self.module is None:
            return {}
        return {
            _MODULE + name: p.detach()
            for name, p in self.module.named_parameters()
            if p.requires_grad
        }

    def _fan_in(self, name: str) -> int:
        layer = int(name.split(".")[1])
        return self.n_inputs if layer == 0 else self.hidden[layer - 1]


@lru_cache(maxsize=32)
def _closed_on(places: Places, device: torch.device) -> Tensor:
    """Return which places have no component, ``[events, k]``, on a device, to which this is copied once."""
    return torch.tensor([[one is None for one in families] for families in places], device=device)
