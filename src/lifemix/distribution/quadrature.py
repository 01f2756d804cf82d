"""Integrals over log time, each panel by a rule of its own choosing, halved until the rule accepts it.

All panels of all rows that are still open are evaluated together.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["FIFTEEN", "SEVEN", "Kronrod", "integrate"]

_SMALLEST = 1e-14  # width of a panel, relative to its place, that is not halved any more
_AT_ONCE = 1 << 13  # panels evaluated together

Rule = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def integrate(
    rule: Rule, rows: Tensor, lower: Tensor, upper: Tensor, n_outputs: int, at_once: int = _AT_ONCE
) -> Tensor:
    """Return the integral over every panel, ``[panels, outputs]``; a panel without width counts 0.

    rule(rows, lower, upper): the integrals over some panels ``[p, outputs]``, and whether they are good enough ``[p]``.
    rows, lower, upper: of which row a panel is, and its ends, ``[panels]``; at_once: panels evaluated together.
    """
    result = torch.zeros(len(rows), n_outputs, dtype=torch.float64)
    slots = (upper > lower).nonzero()[:, 0]
    rows, lower, upper = rows[slots], lower[slots], upper[slots]
    while len(rows):
        values, done = _in_parts(rule, rows, lower, upper, at_once)
        done |= upper - lower <= _SMALLEST * (1 + lower.abs())
        result.index_add_(0, slots[done], values[done])
        rows, slots, lower, upper = (part[~done] for part in (rows, slots, lower, upper))
        middle = (lower + upper) / 2
        rows, slots = rows.repeat(2), slots.repeat(2)
        lower, upper = torch.cat([lower, middle]), torch.cat([middle, upper])
    return result


def _in_parts(
    rule: Rule, rows: Tensor, lower: Tensor, upper: Tensor, at_once: int
) -> tuple[Tensor, Tensor]:
    chunks = max(1, -(-len(rows) // at_once))
    split = (part.tensor_split(chunks) for part in (rows, lower, upper))
    values, done = zip(*(rule(*part) for part in zip(*split, strict=True)), strict=True)
    return torch.cat(values), torch.cat(done)


class Kronrod:
    """Kronrod's rule with Gauss's of every second point; given are the points above 0 and their weights."""

    def __init__(self, points: list[float], fine: list[float], coarse: list[float]) -> None:
        def mirrored(values: list[float], sign: float) -> list[float]:
            return [sign * value for value in values[:-1]] + values[::-1]

        self.points = torch.tensor(mirrored(points, -1.0), dtype=torch.float64)
        self.weights = torch.tensor(
            [mirrored(fine, 1.0), mirrored(coarse, 1.0)], dtype=torch.float64
        )

    def nodes(self, lower: Tensor, upper: Tensor) -> Tensor:
        """Return where the rules look at panels ``[p]``, ``[points, p]``."""
        half = (upper - lower) / 2
        return lower + half * (self.points[:, None] + 1)

    def fine_and_coarse(
        self, values: Tensor, lower: Tensor, upper: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the integrals by Kronrod's rule and by Gauss's; values: ``[..., points, p]``."""
        fine, coarse = torch.einsum("...np,rn->r...p", values, self.weights) * ((upper - lower) / 2)
        return fine, coarse


SEVEN = Kronrod(
    [0.9604912687080202, 0.7745966692414834, 0.4342437493468026, 0.0],
    [0.1046562260264673, 0.2684880898683334, 0.4013974147759622, 0.4509165386584741],
    [0.0, 5 / 9, 0.0, 8 / 9],
)
FIFTEEN = Kronrod(
    [
        0.9914553711208126,
        0.9491079123427585,
        0.8648644233597691,
        0.7415311855993944,
        0.5860872354676911,
        0.4058451513773972,
        0.2077849550078985,
        0.0,
    ],
    [
        0.0229353220105292,
        0.0630920926299786,
        0.1047900103222502,
        0.1406532597159259,
        0.1690047266392679,
        0.1903505780647854,
        0.2044329400752989,
        0.2094821410847278,
    ],
    [
        0.0,
        0.1294849661688697,
        0.0,
        0.2797053914892767,
        0.0,
        0.3818300505051189,
        0.0,
        0.4179591836734694,
    ],
)
