"""The programs: modules from inputs ``[rows, columns]`` to probabilities ``[rows, times]``.

Rows are the first axis of all that is large: then the strides of tensors are known numbers, and tracing is quick.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from .._types import FloatArray
from ..estimators.fitted_network import FittedNetwork
from ..network import Architecture
from ..primitives import Primitive
from ..primitives.cure import Never
from ..primitives.mixture import Mixed
from ..primitives.numeric import LARGEST_LOG

__all__ = ["IncidenceProgram", "SurvivalProgram"]

# log S at the ends of the panels over which a program integrates.
_PANEL_LOG_SURVIVAL = (
    *(-1.3e-14, -1e-9, -1e-6, -1e-4, -3e-3, -0.03, -0.15, -0.4),
    *(-0.8, -1.5, -3.0, -6.0, -12.0, -24.0, -64.0),
)
_LOG_TIME_RANGE, _N_BISECTIONS = 128.0, 20  # to find the ends, back from the last time

_NODES, _WEIGHTS = (torch.from_numpy(part) for part in np.polynomial.legendre.leggauss(6))


@dataclass(frozen=True)
class _Kind:
    """The components of one family: where they and their parameters stand among all."""

    family: type[Primitive]
    parameters: list[int]
    columns: list[int]  # of the components of all events, one event after the other


def _kinds(architecture: Architecture) -> list[_Kind]:
    """Return the families with the components of each, so that a program computes what it needs and no more."""
    joined, n_columns = architecture.family, architecture.n_events * architecture.k
    if not issubclass(joined, Mixed):
        n_parameters = len(joined.parameter_names()) + len(joined.fixed_names)
        return [_Kind(joined, list(range(n_parameters)), list(range(n_columns)))]
    kinds, closed = architecture.component_family_index.flatten().tolist(), [False] * n_columns
    if architecture.is_absent is not None:
        closed = architecture.is_absent.flatten().tolist()
    return [
        _Kind(
            family,
            joined.parameter_index(family),
            [
                column
                for column in range(n_columns)
                if kinds[column] == place and not closed[column]
            ],
        )
        for place, family in enumerate(joined.families)
    ]


@dataclass(frozen=True, eq=False)
class _Components:
    """The components of one family, ``[rows, members, columns, 1]``, and their weights by event."""

    primitive: Primitive
    weights: Tensor  # [rows, members, events, columns]; 0 where a column belongs to another event


class _Program(nn.Module):
    """The network in single precision, as in ``predict``, and the mixtures that it gives in double precision."""

    weights: Tensor  # of the network, [members, parameters]
    log_times: Tensor
    owners: Tensor  # [events, columns of all events]: 1 where a column belongs to the event

    def __init__(self, network: FittedNetwork, times: FloatArray, prepare: nn.Module) -> None:
        super().__init__()
        self.prepare = prepare
        self.architectures = network.architectures
        self.kinds = _kinds(network.architectures[0])
        # A user's encoder has the values of its member itself, since FittedNetwork filled it.
        modules = [architecture.module for architecture in network.architectures]
        self.encoders = nn.ModuleList([module for module in modules if module is not None])
        self.log_unit = float(np.log(network.scale.unit))
        self.register_buffer("weights", network.parameters.clone())
        self.register_buffer("log_times", torch.log(torch.as_tensor(times)))
        events = torch.eye(network.architectures[0].n_events, dtype=torch.float64)
        self.register_buffer("owners", events.repeat_interleave(network.architectures[0].k, dim=1))

    def components(self, inputs: Tensor) -> tuple[list[_Components], Tensor]:
        """Return the components of every family, and which rows are usable."""
        x = self.prepare(inputs).float()
        together = len(self.architectures) == 1
        flats = [self.weights] if together else list(self.weights.split(1))
        parts = []
        for place, (architecture, flat) in enumerate(zip(self.architectures, flats, strict=True)):
            parameters = architecture.layout.views(flat)
            if len(self.encoders):
                features = self.encoders[place](x)[None]
            else:
                features = architecture.represent(parameters, x.expand(flat.shape[0], -1, -1))
            parts.append(torch.stack(architecture.gate_and_parameters(parameters, features)))
        every = torch.cat(parts, dim=1).flatten(3).permute(2, 1, 0, 3).double().contiguous()
        log_weights, values = (
            every[:, :, 0],
            every[:, :, 1:],
        )  # [rows, members, (parameters,) columns]
        inside = values.abs() < LARGEST_LOG
        weights = torch.exp(log_weights)[:, :, None] * self.owners
        safe = torch.where(inside, values, 0.0)[..., None]
        found = [self._of_kind(kind, weights, safe) for kind in self.kinds]
        return found, inside.all(3).all(2).all(1)

    def _of_kind(self, kind: _Kind, weights: Tensor, values: Tensor) -> _Components:
        if len(self.kinds) > 1:
            columns = torch.tensor(kind.columns)
            weights, values = weights.index_select(3, columns), values.index_select(3, columns)
        primitive = kind.family(*(values[:, :, place] for place in kind.parameters)).rescaled(
            self.log_unit
        )
        return _Components(primitive, weights)

    def by_event(self, components: list[_Components], x: Tensor) -> Tensor:
        """Return each event's own survival at log times, ``[rows, members, events, times]``; x: ``[..., times]``."""
        parts = [one.weights @ one.primitive.survival_curve(x) for one in components]
        return _total(parts).clamp(max=1.0)


def _total(parts: list[Tensor]) -> Tensor:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


class SurvivalProgram(_Program):
    """``S(t) = mean over members of prod_j S_j(t)``; with ``risk``, one minus that."""

    def __init__(
        self,
        network: FittedNetwork,
        times: FloatArray,
        prepare: nn.Module,
        risk: bool = False,
    ) -> None:
        super().__init__(network, times, prepare)
        self.risk = risk

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the probabilities, ``[rows, times]``."""
        components, usable = self.components(inputs)
        survival = self.by_event(components, self.log_times).prod(2).mean(1)
        return torch.where(usable[:, None], 1 - survival if self.risk else survival, torch.nan)


class IncidenceProgram(_Program):
    """``F_m(t)``, the integral of ``f_m prod_{j != m} S_j``, averaged over the members.

    Gauss-Legendre rules on fixed panels in log time; in every panel the events share ``S(a) - S(b)``, which is known.
    """

    nodes: Tensor
    rule: Tensor

    def __init__(
        self, network: FittedNetwork, times: FloatArray, prepare: nn.Module, event: int
    ) -> None:
        super().__init__(network, times, prepare)
        self.place = event - 1
        self.register_buffer("nodes", (_NODES + 1) / 2)
        self.register_buffer("rule", _WEIGHTS / 2)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the probabilities, ``[rows, times]``."""
        components, usable = self.components(inputs)
        low, high, ends = self.panels(
            components
        )  # [rows, members, panels], and [rows, members, times]
        width = (high - low)[..., None]
        x = (low[..., None] + width * self.nodes).flatten(2)[
            :, :, None
        ]  # [rows, members, 1, points]
        survival, density = self.survival_and_density(components, x)
        n_events = survival.shape[2]
        others = [
            survival[:, :, [j for j in range(n_events) if j != m]].prod(2) for m in range(n_events)
        ]
        parts = density * torch.stack(others, dim=2)  # [rows, members, events, points]
        parts = (parts.unflatten(-1, (-1, len(self.nodes))) @ self.rule) * width[:, :, None, :, 0]
        found = parts.sum(2)
        share = torch.where(
            found > 0, parts[:, :, self.place] / torch.where(found > 0, found, 1.0), 1 / n_events
        )
        edges = torch.cat([low, high[..., -1:]], dim=-1)[:, :, None]
        left = self.by_event(components, edges).prod(2)
        mass = (left[..., :-1] - left[..., 1:]) * share  # [rows, members, panels]
        before = (high[..., None] <= ends[:, :, None]).to(mass)
        incidence = (mass[..., None, :] @ before)[:, :, 0].mean(1)
        return torch.where(usable[:, None], incidence, torch.nan)

    def panels(self, components: list[_Components]) -> tuple[Tensor, Tensor, Tensor]:
        """Return the ends of the panels, and the log times, not before the first panel."""
        primitives = [one.primitive for one in components if not isinstance(one.primitive, Never)]
        asked = self.log_times.amax().clamp(min=-_LOG_TIME_RANGE)
        inner = torch.cat([_panel_ends(primitive, asked) for primitive in primitives], dim=-1)
        start = inner.amin(-1, keepdim=True)
        last = torch.maximum(self.log_times.amax(), start)
        ends = torch.maximum(self.log_times, start)
        edges = torch.cat([start, torch.minimum(inner, last), ends], dim=-1).sort(dim=-1).values
        return edges[..., :-1], edges[..., 1:], ends

    def survival_and_density(
        self, components: list[_Components], x: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return each event's own survival and density of log time, ``[rows, members, events, points]``."""
        curves = [one.primitive.survival_and_density_curve(x) for one in components]
        survival, density = (
            _total([one.weights @ curve[i] for one, curve in zip(components, curves, strict=True)])
            for i in range(2)
        )
        return survival.clamp(max=1.0), density


def _panel_ends(primitive: Primitive, last: Tensor) -> Tensor:
    """Return the log times at which components ``[rows, members, columns, 1]`` reach the levels, and their kinks."""
    levels = torch.exp(torch.tensor(_PANEL_LOG_SURVIVAL, dtype=torch.float64))
    shape = torch.broadcast_tensors(*primitive.parameters)[0].shape
    high = last.expand(*shape[:-1], len(levels))
    low = high - _LOG_TIME_RANGE
    for _ in range(_N_BISECTIONS):
        middle = (low + high) / 2
        is_before = primitive.survival_curve(middle) > levels
        low, high = torch.where(is_before, middle, low), torch.where(is_before, high, middle)
    kinks = primitive.kinks()
    return low.flatten(2) if kinks is None else torch.cat([low.flatten(2), kinks.flatten(2)], -1)
