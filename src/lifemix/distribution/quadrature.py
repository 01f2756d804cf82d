"""Integrals over time, one for each row, by Gauss-Kronrod rules of 3 and 7 points that halve their panels as needed.

The axis is log time. Wherever the rules of 3 and of 7 points differ by more than the tolerance the panel is halved; all
panels of all rows that are still open are evaluated together.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["integrate"]

_X = torch.tensor([0.9604912687080202, 0.7745966692414834, 0.4342437493468026], dtype=torch.float64)
_NODES = torch.cat([-_X, torch.zeros(1, dtype=torch.float64), _X.flip(0)])
_K = [0.1046562260264673, 0.2684880898683334, 0.4013974147759622]
_KRONROD = torch.tensor([*_K, 0.4509165386584741, *_K[::-1]], dtype=torch.float64)
_GAUSS = torch.tensor([0, 5 / 9, 0, 8 / 9, 0, 5 / 9, 0], dtype=torch.float64)
_MAX_DEPTH = 48
_AT_ONCE = 1 << 13  # panels evaluated together

Rule = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


def integrate(
    integrand: Callable[[Tensor, Tensor], Tensor],
    lower: Tensor,
    upper: Tensor,
    tolerance: float | Tensor,
    normalise: Callable[[Tensor, Tensor, Tensor], Tensor] | None = None,
) -> Tensor:
    """Return the integral over every panel, ``[rows, panels, outputs]``.

    integrand(rows, x): values at ``x`` ``[p, nodes]`` for the rows ``[p]``, shape ``[p, nodes, outputs]``.
    lower, upper: ends of the panels, ``[rows, panels]``; a panel without width counts 0.
    tolerance: what a panel may be off by; a number or one per row.
    normalise(rows, lower, upper): where the outputs of a panel have a known sum, that sum ``[p]``; the rule then gives
    only the shares, which vary slowly.
    """
    n_rows, n_panels = lower.shape
    rows = torch.arange(n_rows).repeat_interleave(n_panels)
    slots = torch.arange(n_rows * n_panels)
    a, b = lower.reshape(-1), upper.reshape(-1)
    allowed = torch.as_tensor(tolerance, dtype=torch.float64).expand(n_rows)
    result: Tensor | None = None
    open_ = b > a
    rows, slots, a, b = rows[open_], slots[open_], a[open_], b[open_]
    for depth in range(_MAX_DEPTH):
        fine, error = _both_rules(integrand, rows, a, b, normalise)
        if result is None:
            result = torch.zeros(n_rows * n_panels, fine.shape[-1], dtype=torch.float64)
        done = (error <= allowed[rows]) if depth < _MAX_DEPTH - 1 else torch.ones_like(error, dtype=torch.bool)
        result.index_add_(0, slots[done], fine[done])
        if bool(done.all()):
            break
        rows, slots, a, b = (part[~done] for part in (rows, slots, a, b))
        middle = (a + b) / 2
        rows, slots = rows.repeat(2), slots.repeat(2)
        a, b = torch.cat([a, middle]), torch.cat([middle, b])
    assert result is not None
    return result.view(n_rows, n_panels, -1)


def _both_rules(
    integrand: Callable[[Tensor, Tensor], Tensor],
    rows: Tensor,
    a: Tensor,
    b: Tensor,
    normalise: Callable[[Tensor, Tensor, Tensor], Tensor] | None,
) -> tuple[Tensor, Tensor]:
    """Return the rule of 7 points ``[p, outputs]`` and its largest difference from the rule of 3, ``[p]``."""
    fine_parts, error_parts = [], []
    chunks = max(1, -(-len(rows) // _AT_ONCE))
    for r, low, high in zip(*(part.tensor_split(chunks) for part in (rows, a, b)), strict=True):
        half = (high - low)[:, None] / 2
        x = low[:, None] + half * (_NODES + 1)
        values = integrand(r, x) * half[..., None]  # [p, 7, outputs]
        fine = torch.einsum("pno,n->po", values, _KRONROD)
        coarse = torch.einsum("pno,n->po", values, _GAUSS)
        if normalise is not None:
            total = normalise(r, low, high)[:, None]
            fine, coarse = (_scaled(part, total) for part in (fine, coarse))
        fine_parts.append(fine)
        error_parts.append((fine - coarse).abs().amax(-1))
    return torch.cat(fine_parts), torch.cat(error_parts)


def _scaled(parts: Tensor, total: Tensor) -> Tensor:
    found = parts.sum(-1, keepdim=True)
    return torch.where(found > 0, parts * (total / torch.where(found > 0, found, 1.0)), total / parts.shape[-1])
