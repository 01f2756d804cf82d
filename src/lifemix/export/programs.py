"""The programs: modules from inputs ``[rows, columns]`` to probabilities ``[rows, times]``."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..estimators.network import FittedNetwork
from ..primitives import Primitive
from ..primitives.stable import LARGEST_LOG

__all__ = ["IncidenceProgram", "SurvivalProgram"]

_NODES, _WEIGHTS = (torch.from_numpy(part) for part in np.polynomial.legendre.leggauss(6))


class _Program(nn.Module):
    """The network in single precision, as in ``predict``, and the mixtures that it gives in double precision."""

    weights: Tensor  # of the network, [members, parameters]
    log_times: Tensor

    def __init__(self, network: FittedNetwork, times: NDArray[np.float64], prepare: nn.Module) -> None:
        super().__init__()
        self.prepare = prepare
        self.architectures = network.architectures
        # A user's encoder has the values of its member itself, since FittedNetwork filled it.
        modules = [architecture.module for architecture in network.architectures]
        self.encoders = nn.ModuleList([module for module in modules if module is not None])
        self.log_unit = float(np.log(network.scale.unit))
        self.register_buffer("weights", network.parameters.clone())
        self.register_buffer("log_times", torch.log(torch.as_tensor(times)))

    def components(self, inputs: Tensor) -> tuple[Tensor, Primitive, Tensor]:
        """Return weights and components, ``[members, rows, events, k]``, and which rows are usable."""
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
        log_weights, *values = torch.cat(parts, dim=1).double().unbind(0)
        inside = [value.abs() < LARGEST_LOG for value in values]
        usable = torch.stack(inside).all(4).all(3).all(1).all(0)  # [rows]
        safe = (torch.where(near, value, 0.0) for near, value in zip(inside, values, strict=True))
        components = self.architectures[0].family(*safe).rescaled(self.log_unit)
        return torch.softmax(log_weights, dim=-1), components, usable

    def by_event(self, weights: Tensor, components: Primitive, x: Tensor) -> Tensor:
        """Return each event's own survival at log times, ``[members, rows, events, times]``; x: ``[..., times]``."""
        curves = components.map(_over_times).survival_curve(x[..., None, :])
        return (weights[..., None] * curves).sum(3).clamp(max=1.0)


def _over_times(parameter: Tensor) -> Tensor:
    return parameter[..., None]


class SurvivalProgram(_Program):
    """``S(t) = mean over members of prod_j S_j(t)``; with ``risk``, one minus that."""

    def __init__(
        self, network: FittedNetwork, times: NDArray[np.float64], prepare: nn.Module, risk: bool = False
    ) -> None:
        super().__init__(network, times, prepare)
        self.risk = risk

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the probabilities, ``[rows, times]``."""
        weights, components, usable = self.components(inputs)
        x = self.log_times.expand(*weights.shape[:3], -1)
        survival = self.by_event(weights, components, x).prod(2).mean(0)
        return torch.where(usable[:, None], 1 - survival if self.risk else survival, torch.nan)


class IncidenceProgram(_Program):
    """``F_m(t)``, the integral of ``f_m prod_{j != m} S_j``, averaged over the members.

    Gauss-Legendre rules on fixed panels in log time; in every panel the events share ``S(a) - S(b)``, which is known.
    """

    nodes: Tensor
    rule: Tensor

    def __init__(self, network: FittedNetwork, times: NDArray[np.float64], prepare: nn.Module, event: int) -> None:
        super().__init__(network, times, prepare)
        self.place = event - 1
        self.register_buffer("nodes", (_NODES + 1) / 2)
        self.register_buffer("rule", _WEIGHTS / 2)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the probabilities, ``[rows, times]``."""
        weights, components, usable = self.components(inputs)
        low, high, ends = self.panels(components)  # [members, rows, panels], and [members, rows, times]
        n_events = weights.shape[2]
        width = (high - low)[..., None]
        x = (low[..., None] + width * self.nodes).flatten(2)  # [members, rows, points]
        at = x[:, :, None].expand(-1, -1, n_events, -1)
        survival = self.by_event(weights, components, at)
        density = self.densities(weights, components, at)
        others = [survival[:, :, [j for j in range(n_events) if j != m]].prod(2) for m in range(n_events)]
        parts = torch.stack([density[:, :, m] * others[m] for m in range(n_events)])  # [events, ., ., points]
        parts = (parts.unflatten(-1, (-1, len(self.nodes))) * self.rule * width).sum(-1)
        found = parts.sum(0)
        share = torch.where(found > 0, parts[self.place] / torch.where(found > 0, found, 1.0), 1 / n_events)
        edges = torch.cat([low, high[..., -1:]], dim=-1)[:, :, None].expand(-1, -1, n_events, -1)
        left = self.by_event(weights, components, edges).prod(2)
        mass = (left[..., :-1] - left[..., 1:]) * share  # [members, rows, panels]
        before = (high[..., None] <= ends[:, :, None]).to(mass)
        incidence = (mass[..., None, :] @ before)[:, :, 0].mean(0)
        return torch.where(usable[:, None], incidence, torch.nan)

    def panels(self, components: Primitive) -> tuple[Tensor, Tensor, Tensor]:
        """Return the ends of the panels, and the log times, not before the first panel."""
        inner = components.panel_edges().flatten(2)
        start = inner.amin(-1, keepdim=True)
        last = torch.maximum(self.log_times.amax(), start)
        ends = torch.maximum(self.log_times, start)
        edges = torch.cat([start, torch.minimum(inner, last), ends], dim=-1).sort(dim=-1).values
        return edges[..., :-1], edges[..., 1:], ends

    def densities(self, weights: Tensor, components: Primitive, x: Tensor) -> Tensor:
        """Return each event's own density of log time, ``[members, rows, events, points]``."""
        return (weights[..., None] * components.map(_over_times).density_curve(x[..., None, :])).sum(3)
