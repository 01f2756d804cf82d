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
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from .._types import FloatArray
from ..primitives import Mixture, Weibull
from .gauss_nodes import gauss, lobatto
from .own_incidence import OwnRule
from .weibull_rates import AT_ONCE, LOWEST_POWER, WeibullRates

__all__ = ["LEVELS", "WIDTHS", "GaussRule", "Level", "incidences_by_gauss"]

_TINY = 1e-300  # in place of 0 under a fraction
_ROWS, _FEWEST_POINTS = 128, 24  # that are looked at together, if they can be
_LARGEST_EXPONENT = 600.0  # of numbers that do not overflow

# Nodes between two times, and the largest product of shape and distance in log time that they are enough for
WIDTHS = {
    **{
        0: 0.005,
        1: 0.125,
        2: 0.38,
        3: 0.7,
        4: 1.05,
        5: 1.42,
        6: 1.78,
        7: 2.14,
        8: 2.48,
        9: 2.83,
        10: 3.18,
    },
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
    Level(2.5, 12, ((2.0, 8 / 3), (1.0, 10 / 3), (0.1, 16 / 3))),
    Level(3.5, 16, ((4.0, 10 / 3), (1.0, 16 / 3))),
    Level(7.0, 32, ((100.0, 8 / 3), (32.0, 4.0), (8.0, 20 / 3), (4.0, 10.0))),
)


def _between(width: float, shape: float) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of an interval from 0, both ends included; a wide one is cut into several."""
    pieces = max(1, int(np.ceil(width * shape / _MOST_WIDTH)))
    part = width / pieces
    places, weights = lobatto(
        next((n for n, most in WIDTHS.items() if part * shape <= most), max(WIDTHS))
    )
    last = len(places) - 1
    nodes, sums = np.zeros(pieces * last + 1), np.zeros(pieces * last + 1)
    for piece in range(pieces):
        nodes[piece * last : (piece + 1) * last + 1] = (piece + places) * part
        sums[piece * last : (piece + 1) * last + 1] += weights * part
    return nodes, sums


class _Part:
    """The rule between some times, the first of which is where it begins; with ``own``, from the origin on."""

    def __init__(self, log_times: FloatArray, level: Level, own: int = 0) -> None:
        between = [_between(width, level.shape) for width in np.diff(log_times)]
        inner = [low + nodes[1:-1] for low, (nodes, _) in zip(log_times, between, strict=False)]
        n_nodes = own + sum(map(len, inner))
        matrix = np.zeros((len(log_times), n_nodes + len(log_times)))
        places, weights = gauss(own) if own else (np.ones(0), np.ones(0))
        matrix[0, :own] = weights / places
        start = own
        for place, (_, parts) in enumerate(between):
            matrix[place + 1, start : start + len(parts) - 2] = parts[1:-1]
            matrix[place + 1, [n_nodes + place, n_nodes + place + 1]] = parts[[0, -1]]
            start += len(parts) - 2
        self._weights = torch.from_numpy(matrix if own else matrix[1:])  # [times, points]
        self._before = torch.from_numpy(np.log(places))[:, None]
        self._after = torch.from_numpy(np.concatenate([*inner, log_times]))[:, None]

    def __len__(self) -> int:
        """Return the number of points at which it looks at the curves."""
        return self._weights.shape[1]

    def rates(self, curves: WeibullRates, first: float, space: Tensor) -> tuple[Tensor, Tensor]:
        """Return what all events but the last add, ``[events - 1, times, rows]``, and survival, ``[times, rows]``."""
        rows, n_times = curves.shape.shape[2], len(self._weights)
        if len(self._before) == 0:
            rates, survival = curves.rates(self._after.expand(-1, rows), n_times, space)
            return torch.matmul(self._weights, rates), survival
        power = curves.shape.amin((0, 1)).mul_(1 / LOWEST_POWER)
        before = self._before / power + first
        x = torch.cat([before, self._after.expand(-1, rows)])
        rates, survival = curves.rates(x, n_times, space)
        found = torch.matmul(self._weights, rates)
        found[:, 0] /= power
        return found, survival


class GaussRule:
    """The rule for some times, which are above 0 and ascending, at a level.

    size: points that are looked at together, so that the memory stays in the cache.
    """

    def __init__(self, times: FloatArray, level: Level, size: int = 256) -> None:
        log_times = np.log(times)
        step = max(1, size // 3)
        ends = [*range(min(step, len(times)) - 1, len(times) - 1, step), len(times) - 1]
        self._parts = [_Part(log_times[: ends[0] + 1], level, level.nodes)]
        self._parts += [
            _Part(log_times[a : b + 1], level) for a, b in zip(ends[:-1], ends[1:], strict=True)
        ]
        self._ends = np.r_[0, np.array(ends) + 1]
        self._first = float(log_times[0])

    def __len__(self) -> int:
        """Return the number of points at which it looks at the curves."""
        return sum(map(len, self._parts))

    def incidences(self, curves: WeibullRates) -> Tensor:
        """Return the incidences, ``[events, times, rows]``."""
        events, k, rows = curves.shape.shape
        points = max(map(len, self._parts))
        size = max(1, AT_ONCE // (points * events * k))
        space = torch.empty(2, min(rows, size) * points * events * k, dtype=torch.float64)
        added = torch.empty(events - 1, self._ends[-1], rows, dtype=torch.float64)
        survival = torch.empty(self._ends[-1], rows, dtype=torch.float64)
        for start in range(0, rows, size):
            at = slice(start, start + size)
            curve = curves[at]
            for part, first, end in zip(self._parts, self._ends[:-1], self._ends[1:], strict=True):
                added[:, first:end, at], survival[first:end, at] = part.rates(
                    curve, self._first, space
                )
        return _divided(added, survival)


def _divided(added: Tensor, survival: Tensor) -> Tensor:
    """Return the incidences of all events; added: of all but the last, ``[events - 1, times, rows]``."""
    mass = torch.cat([1 - survival[:1], survival[:-1] - survival[1:]]).clamp_(min=0)
    total = added.clamp_(min=0).sum(0)
    added.mul_(torch.where(total > mass, mass / total.clamp(min=_TINY), 1.0))
    rest = (mass - total).clamp_(min=0)
    return torch.cat([added, rest[None]]).cumsum_(1)


@lru_cache(maxsize=16)
def _rule(times: bytes, shape: tuple[int, ...], level: Level, size: int) -> GaussRule | OwnRule:
    """Return the rule for times; many parts of a table ask for the same."""
    at = np.frombuffer(times).reshape(shape)
    return GaussRule(at, level, size) if len(shape) == 1 else OwnRule(at, level.nodes, level.shape)


def incidences_by_gauss(mixtures: Mixture, times: FloatArray, out: Tensor) -> Tensor:
    """Write the incidences of the rows that are within the limits of a level; return the numbers of the others.

    mixtures: ``[events, rows, k]``; out: ``[events, rows, times]``; times above 0: ascending ones that all events
    share, or ``[events, times]``.
    """
    span, first = np.ptp(np.log(times)), float(np.log(times.min()))
    if not isinstance(mixtures.components, Weibull) or span * LEVELS[-1].shape > _LARGEST_EXPONENT:
        return torch.arange(out.shape[1])
    curves = WeibullRates.of(mixtures)
    levels = _levels(curves.shape, curves.offset + curves.shape * first)
    size = max(_FEWEST_POINTS, AT_ONCE // (_ROWS * curves.shape[:, :, 0].numel()))
    for number, level in enumerate(LEVELS):
        rows = (levels == number).nonzero()[:, 0]
        if len(rows) == 0:
            continue
        rule = _rule(times.tobytes(), times.shape, level, size)
        if len(rows) == out.shape[1]:
            out.copy_(rule.incidences(curves).transpose(1, 2))
        else:
            out[:, rows] = rule.incidences(curves[rows]).transpose(1, 2)
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
