"""Cumulative incidences of Weibull mixtures by rules of Gauss's kind, with so many nodes that no second look is due.

The incidence of an event is the integral of its density times the survival of the others. Of Weibull components it is a
sum of integrals of ``exp(z - exp(z) - exp(z') - ...)`` with z linear in log time, so the error of a rule between two
times is bounded by that of the worst of these, which depends on the largest shape and the distance alone. Up to the
first time the variable is a power of time, of which every cumulative hazard is a power from 3 on; there the error
depends on the largest of these powers and on the cumulative hazard at the first time. The limits below keep the worst
error of an interval near 5e-8 (``python -m benchmarks.rules`` looks for it); rows beyond them are left to the grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.polynomial import legendre
from numpy.typing import NDArray
from torch import Tensor

from ..primitives import Mixture, Weibull
from .exponential import exp_
from .incidence_panel import product_of

__all__ = ["LEVELS", "WIDTHS", "GaussRule", "Level", "incidences_by_gauss"]

Floats = NDArray[np.float64]
LOWEST_POWER = 3.0  # of the variable up to the first time, in any cumulative hazard
_TINY = 1e-300  # in place of 0 under a fraction
_AT_ONCE = 1 << 18  # numbers in the largest temporary array
_LARGEST_EXPONENT = 600.0  # of numbers that do not overflow

# Nodes between two times, and the largest product of shape and distance in log time that they are enough for
WIDTHS = {
    **{0: 0.005, 1: 0.125, 2: 0.38, 3: 0.7, 4: 1.05, 5: 1.42, 6: 1.78, 7: 2.14, 8: 2.48, 9: 2.83, 10: 3.18},
    **{12: 3.85, 14: 4.5, 16: 5.2, 18: 5.85, 20: 6.5},
}
_MOST_WIDTH = max(WIDTHS.values())


@dataclass(frozen=True)
class Level:
    """How finely one looks, and for which rows that is enough.

    Attributes
    ----------
    shape : float
        The largest shape.
    nodes : int
        Up to the first time.
    limits : tuple of pairs
        Largest cumulative hazard at the first time, and largest ratio of two shapes; one of the pairs must hold.
    """

    shape: float
    nodes: int
    limits: tuple[tuple[float, float], ...]


LEVELS = (
    Level(2.5, 12, ((2.0, 8 / 3), (1.0, 10 / 3))),
    Level(3.5, 16, ((4.0, 10 / 3), (1.0, 16 / 3))),
    Level(7.0, 32, ((100.0, 8 / 3), (32.0, 4.0), (8.0, 20 / 3), (4.0, 10.0))),
)


@cache
def gauss(count: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of Gauss's rule on (0, 1)."""
    nodes, weights = legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


@cache
def lobatto(inner: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of Lobatto's rule on [0, 1], which are the two ends and ``inner`` between them."""
    highest = np.r_[np.zeros(inner + 1), 1.0]
    nodes = np.r_[-1.0, np.sort(legendre.legroots(legendre.legder(highest))), 1.0]
    weights = 2 / ((inner + 2) * (inner + 1) * legendre.legval(nodes, highest) ** 2)
    return (nodes + 1) / 2, weights / 2


def _between(width: float, shape: float) -> tuple[Floats, Floats]:
    """Return nodes and weights of an interval from 0, both ends included; a wide one is cut into several."""
    pieces = max(1, int(np.ceil(width * shape / _MOST_WIDTH)))
    part = width / pieces
    places, weights = lobatto(next((n for n, most in WIDTHS.items() if part * shape <= most), max(WIDTHS)))
    last = len(places) - 1
    nodes, sums = np.zeros(pieces * last + 1), np.zeros(pieces * last + 1)
    for piece in range(pieces):
        nodes[piece * last : (piece + 1) * last + 1] = (piece + places) * part
        sums[piece * last : (piece + 1) * last + 1] += weights * part
    return nodes, sums


@dataclass(frozen=True)
class Curves:
    """Weibull mixtures, ``[events, k, rows]``; the log cumulative hazard is ``offset + shape * log t``."""

    log_weights: Tensor
    shape: Tensor
    offset: Tensor

    @classmethod
    def of(cls, mixtures: Mixture) -> Curves:
        """Return those of mixtures of Weibull components ``[events, rows, k]``."""
        components = mixtures.components
        assert isinstance(components, Weibull)
        parts = (mixtures.log_weights, components.log_shape, components.log_scale)
        log_weights, log_shape, log_scale = (part.transpose(1, 2).contiguous() for part in parts)
        shape = log_shape.exp()
        return cls(log_weights, shape, -shape * log_scale)

    def __getitem__(self, rows: Any) -> Curves:
        return Curves(self.log_weights[..., rows], self.shape[..., rows], self.offset[..., rows])

    def rates(self, log_t: Tensor, n_times: int, space: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rates at which events other than the last come first, and survival at the last ``n_times``.

        On the axis of log time, ``[events - 1, points, rows]`` and ``[times, rows]``; log_t: ``[points, rows]``; space:
        memory for two numbers of each component and point.
        """
        events, k, rows = self.shape.shape
        hazard, mixed = space[:, : events * k * log_t.numel()].view(2, events, k, len(log_t), rows)
        exp_(torch.addcmul(self.offset[:, :, None], self.shape[:, :, None], log_t, out=hazard))
        exp_(torch.sub(self.log_weights[:, :, None], hazard, out=mixed))
        if events == 2:
            other, own = mixed[1].sum(0), mixed[0, :, -n_times:].sum(0)
            rate = mixed[:1].mul_(hazard[:1]).mul_(self.shape[:1, :, None]).sum(1).mul_(other)
            return rate, own.mul_(other[-n_times:])
        survival = mixed.sum(1)
        together = product_of(survival)
        density = mixed[:-1].mul_(hazard[:-1]).mul_(self.shape[:-1, :, None]).sum(1)
        return density.mul_(together / survival[:-1].clamp(min=_TINY)), together[-n_times:]


class GaussRule:
    """The rule for some times, which are above 0 and ascending, at a level."""

    def __init__(self, times: Floats, level: Level) -> None:
        log_times = np.log(times)
        own, weights = gauss(level.nodes)
        between = [_between(width, level.shape) for width in np.diff(log_times)]
        inner = [low + nodes[1:-1] for low, (nodes, _) in zip(log_times, between, strict=False)]
        n_nodes = len(own) + sum(map(len, inner))
        matrix = np.zeros((len(times), n_nodes + len(times)))
        matrix[0, : len(own)] = weights / own
        start = len(own)
        for place, (_, parts) in enumerate(between):
            matrix[place + 1, start : start + len(parts) - 2] = parts[1:-1]
            matrix[place + 1, n_nodes + place], matrix[place + 1, n_nodes + place + 1] = parts[0], parts[-1]
            start += len(parts) - 2
        self._weights = torch.from_numpy(matrix)  # [times, points]
        self._before = torch.from_numpy(np.log(own))[:, None]
        self._after = torch.from_numpy(np.concatenate([*inner, log_times]))[:, None]
        self._first, self._n_times = float(log_times[0]), len(times)

    def __len__(self) -> int:
        """Return the number of points at which it looks at the curves."""
        return self._weights.shape[1]

    def incidences(self, curves: Curves) -> Tensor:
        """Return the incidences, ``[events, times, rows]``."""
        events, k, rows = curves.shape.shape
        size = max(1, _AT_ONCE // (len(self) * events * k))
        space = torch.empty(2, min(rows, size) * len(self) * events * k, dtype=torch.float64)
        added = torch.empty(events - 1, self._n_times, rows, dtype=torch.float64)
        survival = torch.empty(self._n_times, rows, dtype=torch.float64)
        for start in range(0, rows, size):
            at = slice(start, start + size)
            part = curves[at]
            power = part.shape.amin((0, 1)).mul_(1 / LOWEST_POWER)
            before = self._before / power + self._first
            x = torch.cat([before, self._after.expand(-1, before.shape[1])])
            rates, survival[:, at] = part.rates(x, self._n_times, space)
            found = torch.matmul(self._weights, rates)
            found[:, 0] /= power
            added[..., at] = found
        return _divided(added, survival)


def _divided(added: Tensor, survival: Tensor) -> Tensor:
    """Return the incidences of all events; added: of all but the last, ``[events - 1, times, rows]``."""
    mass = torch.cat([1 - survival[:1], survival[:-1] - survival[1:]]).clamp_(min=0)
    total = added.clamp_(min=0).sum(0)
    added.mul_(torch.where(total > mass, mass / total.clamp(min=_TINY), 1.0))
    rest = (mass - total).clamp_(min=0)
    return torch.cat([added, rest[None]]).cumsum_(1)


def incidences_by_gauss(mixtures: Mixture, times: Floats, out: Tensor) -> Tensor:
    """Write the incidences of the rows that are within the limits of a level; return the numbers of the others.

    mixtures: ``[events, rows, k]``; times above 0 and ascending; out: ``[events, rows, times]``.
    """
    span = np.log(times[-1]) - np.log(times[0])
    if not isinstance(mixtures.components, Weibull) or span * LEVELS[-1].shape > _LARGEST_EXPONENT:
        return torch.arange(out.shape[1])
    curves = Curves.of(mixtures)
    levels = _levels(curves.shape, curves.offset + curves.shape * float(np.log(times[0])))
    for number, level in enumerate(LEVELS):
        rows = (levels == number).nonzero()[:, 0]
        if len(rows) == out.shape[1]:
            out.copy_(GaussRule(times, level).incidences(curves).transpose(1, 2))
        elif len(rows):
            out[:, rows] = GaussRule(times, level).incidences(curves[rows]).transpose(1, 2)
    return (levels == len(LEVELS)).nonzero()[:, 0]


def _levels(shape: Tensor, log_hazard: Tensor) -> Tensor:
    """Return the number of each row's level, ``[rows]``; beyond all limits the number of levels.

    log_hazard: that of every component at the first time, ``[events, k, rows]``.
    """
    smallest, largest = shape.amin((0, 1)), shape.amax((0, 1))
    hazard, ratio = log_hazard.exp().amax(1).sum(0), largest / smallest
    found = torch.full(hazard.shape, len(LEVELS), dtype=torch.int64)
    for number, level in reversed(list(enumerate(LEVELS))):
        within = [(hazard <= most) & (ratio <= widest) for most, widest in level.limits]
        found[torch.stack(within).any(0) & (largest <= level.shape)] = number
    return found
