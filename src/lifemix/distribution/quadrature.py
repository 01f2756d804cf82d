"""Integrals over log time, each panel by a rule of its own choosing, halved until the rule accepts it.

All panels of all rows that are still open are evaluated together.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["integrate", "kronrod_and_gauss", "kronrod_nodes"]

_X = torch.tensor([0.9604912687080202, 0.7745966692414834, 0.4342437493468026], dtype=torch.float64)
_NODES = torch.cat([-_X, torch.zeros(1, dtype=torch.float64), _X.flip(0)])
_K = [0.1046562260264673, 0.2684880898683334, 0.4013974147759622]
_KRONROD = torch.tensor([*_K, 0.4509165386584741, *_K[::-1]], dtype=torch.float64)
_GAUSS = torch.tensor([0, 5 / 9, 0, 8 / 9, 0, 5 / 9, 0], dtype=torch.float64)
_RULES = torch.stack([_KRONROD, _GAUSS])
_SMALLEST = 1e-14  # width of a panel, relative to its place, that is not halved any more
_AT_ONCE = 1 << 13  # panels evaluated together

Rule = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def integrate(rule: Rule, rows: Tensor, lower: Tensor, upper: Tensor, n_outputs: int) -> Tensor:
    """Return the integral over every panel, ``[panels, outputs]``; a panel without width counts 0.

    rule(rows, lower, upper): the integrals over some panels ``[p, outputs]``, and whether they are good enough ``[p]``.
    rows, lower, upper: of which row a panel is, and its ends, ``[panels]``.
    """
    result = torch.zeros(len(rows), n_outputs, dtype=torch.float64)
    slots = (upper > lower).nonzero()[:, 0]
    rows, lower, upper = rows[slots], lower[slots], upper[slots]
    while len(rows):
        values, done = _in_parts(rule, rows, lower, upper)
        done |= upper - lower <= _SMALLEST * (1 + lower.abs())
        result.index_add_(0, slots[done], values[done])
        rows, slots, lower, upper = (part[~done] for part in (rows, slots, lower, upper))
        middle = (lower + upper) / 2
        rows, slots = rows.repeat(2), slots.repeat(2)
        lower, upper = torch.cat([lower, middle]), torch.cat([middle, upper])
    return result


def _in_parts(rule: Rule, rows: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    chunks = max(1, -(-len(rows) // _AT_ONCE))
    split = (part.tensor_split(chunks) for part in (rows, lower, upper))
    values, done = zip(*(rule(*part) for part in zip(*split, strict=True)), strict=True)
    return torch.cat(values), torch.cat(done)


def kronrod_nodes(lower: Tensor, upper: Tensor) -> Tensor:
    """Return where the two rules below look at a panel, ``[7, p]``."""
    half = (upper - lower) / 2
    return lower + half * (_NODES[:, None] + 1)


def kronrod_and_gauss(values: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
    """Return the integrals by Kronrod's rule of 7 points and by Gauss's of 3 of them; values: ``[..., 7, p]``."""
    fine, coarse = torch.einsum("...np,rn->r...p", values, _RULES) * ((upper - lower) / 2)
    return fine, coarse
