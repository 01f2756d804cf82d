"""The programs: modules from inputs ``[rows, columns]`` to probabilities ``[rows, times]``."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..estimators.network import FittedNetwork
from ..networks import activation_function, gate_and_parameters
from ..primitives import LogLocationScale, LogLogistic, LogNormal, Weibull
from ..primitives.stable import LOG_LIMIT

__all__ = ["DENSITIES", "IncidenceProgram", "SurvivalProgram"]

_LARGEST_LOG = 600.0  # beyond it a component has left the range of numbers; ``predict`` refuses such rows
# The panels of an integral end at the times asked for and where a component's z, which is standardised log time, is:
_EDGES = torch.tensor([-24.0, -12, -8, -5, -3, -1.5, 0, 1.5, 3, 5, 8, 12, 24], dtype=torch.float64)
_NODES, _WEIGHTS = (torch.from_numpy(part) for part in np.polynomial.legendre.leggauss(6))

# The density of z; no branch may depend on the values, which a program cannot follow.
DENSITIES: dict[type[LogLocationScale], Callable[[Tensor], Tensor]] = {
    Weibull: lambda z: torch.exp(z.clamp(max=LOG_LIMIT) - torch.exp(z.clamp(max=LOG_LIMIT))),
    LogNormal: lambda z: torch.exp(-z * z / 2) / math.sqrt(2 * math.pi),
    LogLogistic: lambda z: torch.sigmoid(z) * torch.sigmoid(-z),
}


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

    def components(self, inputs: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return weights, locations and log precisions, ``[members, rows, events, k]``, and which rows are usable."""
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
            act, signs = activation_function(architecture.act), architecture.shift_signs
            parts.append(torch.stack(gate_and_parameters(parameters, features, act, signs)))
        log_weights, first, second = torch.cat(parts, dim=1).double()
        law = self.architectures[0].law(first, second)
        location, log_precision = law.location, law.log_precision
        inside = (location.abs() < _LARGEST_LOG) & (log_precision.abs() < _LARGEST_LOG)
        usable = inside.all(3).all(2).all(0)  # [rows]
        location, log_precision = torch.where(inside, location, 0.0), torch.where(inside, log_precision, 0.0)
        return torch.softmax(log_weights, dim=-1), location + self.log_unit, log_precision, usable

    def by_event(self, weights: Tensor, location: Tensor, precision: Tensor, x: Tensor) -> Tensor:
        """Return each event's own survival at log times, ``[members, rows, events, times]``; x: ``[..., times]``."""
        z = precision[..., None] * (x[..., None, :] - location[..., None])
        return (weights[..., None] * self.architectures[0].law.standard_survival(z)).sum(3).clamp(max=1.0)


class SurvivalProgram(_Program):
    """``S(t) = mean over members of prod_j S_j(t)``; with ``risk``, one minus that."""

    def __init__(
        self, network: FittedNetwork, times: NDArray[np.float64], prepare: nn.Module, risk: bool = False
    ) -> None:
        super().__init__(network, times, prepare)
        self.risk = risk

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the probabilities, ``[rows, times]``."""
        weights, location, log_precision, usable = self.components(inputs)
        x = self.log_times.expand(*location.shape[:3], -1)
        survival = self.by_event(weights, location, log_precision.exp(), x).prod(2).mean(0)
        return torch.where(usable[:, None], 1 - survival if self.risk else survival, torch.nan)


class IncidenceProgram(_Program):
    """``F_m(t)``, the integral of ``f_m prod_{j != m} S_j``, averaged over the members.

    Gauss-Legendre rules on fixed panels in log time; in every panel the events share ``S(a) - S(b)``, which is known.
    """

    edges: Tensor
    nodes: Tensor
    rule: Tensor

    def __init__(self, network: FittedNetwork, times: NDArray[np.float64], prepare: nn.Module, event: int) -> None:
        super().__init__(network, times, prepare)
        self.place = event - 1
        self.register_buffer("edges", _EDGES)
        self.register_buffer("nodes", (_NODES + 1) / 2)
        self.register_buffer("rule", _WEIGHTS / 2)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the probabilities, ``[rows, times]``."""
        weights, location, log_precision, usable = self.components(inputs)
        precision = log_precision.exp()
        low, high, ends = self.panels(location, precision)  # [members, rows, panels], and [members, rows, times]
        n_events = location.shape[2]
        width = (high - low)[..., None]
        x = (low[..., None] + width * self.nodes).flatten(2)  # [members, rows, points]
        at = x[:, :, None].expand(-1, -1, n_events, -1)
        survival = self.by_event(weights, location, precision, at)
        density = self.densities(weights, location, log_precision, at)
        others = [survival[:, :, [j for j in range(n_events) if j != m]].prod(2) for m in range(n_events)]
        parts = torch.stack([density[:, :, m] * others[m] for m in range(n_events)])  # [events, ., ., points]
        parts = (parts.unflatten(-1, (-1, len(self.nodes))) * self.rule * width).sum(-1)
        found = parts.sum(0)
        share = torch.where(found > 0, parts[self.place] / torch.where(found > 0, found, 1.0), 1 / n_events)
        edges = torch.cat([low, high[..., -1:]], dim=-1)[:, :, None].expand(-1, -1, n_events, -1)
        left = self.by_event(weights, location, precision, edges).prod(2)
        mass = (left[..., :-1] - left[..., 1:]) * share  # [members, rows, panels]
        before = (high[..., None] <= ends[:, :, None]).to(mass)
        incidence = (mass[..., None, :] @ before)[:, :, 0].mean(0)
        return torch.where(usable[:, None], incidence, torch.nan)

    def panels(self, location: Tensor, precision: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the ends of the panels, and the log times, not before the first panel."""
        inner = (location[..., None] + self.edges / precision[..., None]).flatten(2)
        start = inner.amin(-1, keepdim=True)
        last = torch.maximum(self.log_times.amax(), start)
        ends = torch.maximum(self.log_times, start)
        edges = torch.cat([start, torch.minimum(inner, last), ends], dim=-1).sort(dim=-1).values
        return edges[..., :-1], edges[..., 1:], ends

    def densities(self, weights: Tensor, location: Tensor, log_precision: Tensor, x: Tensor) -> Tensor:
        """Return each event's own density of log time, ``[members, rows, events, points]``."""
        precision = log_precision.exp()[..., None]
        z = precision * (x[..., None, :] - location[..., None])
        return (weights[..., None] * precision * DENSITIES[self.architectures[0].law](z)).sum(3)
