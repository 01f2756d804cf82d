"""The integral of the survival function over time, relative to a probability that may be too small for a number."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .quadrature import integrate, kronrod_and_gauss, kronrod_nodes
from .scales import Scales

__all__ = ["integrate_survival"]

_TOLERANCE = 1e-9  # difference of the two rules in one panel, relative to the integral up to its end
_CERTAIN = 1e-11  # an error of one panel, at most, that needs no further look
_ROUNDING = 1e-13  # of one panel, relative to itself
_LARGEST_DROP = 4.0  # of log S in one panel


def integrate_survival(
    log_survival: Callable[[Tensor, Tensor], Tensor], scales: Scales, start: Tensor, middle: Tensor, ends: Tensor
) -> Tensor:
    """Return the integral of S from ``start`` to each of the ``ends``, ``[rows, ends]``.

    log_survival(rows, x): log S at the log times ``x``, ``[p, nodes]``, of the rows ``[p]``; 0 at the start.
    start: log times, ``[rows]``; middle: log times at which S is a half; ends: ascending log times, not before start.
    """
    edges = torch.cat([start[:, None], ends], dim=1)
    rows = torch.arange(len(edges)).repeat_interleave(ends.shape[1])

    def rule(rows: Tensor, lower: Tensor, upper: Tensor) -> tuple[Tensor, Tensor]:
        at_ends = log_survival(rows, torch.stack([lower, upper], 1))
        # S falls: the panel is between its length times S at the end and that times S at the beginning
        most, least = (torch.exp(upper[:, None] + at_ends) * -torch.expm1(lower - upper)[:, None]).unbind(1)
        halfway = torch.minimum(upper, middle[rows])  # up to there S is above a half
        known = torch.exp(halfway) * -torch.expm1(start[rows] - halfway)
        allowed = _TOLERANCE * known / 2
        certain = most - least <= _CERTAIN * known
        looks = ~certain & scales.resolved(rows, lower, upper) & (at_ends[:, 0] - at_ends[:, 1] <= _LARGEST_DROP)
        value, good = (most + least) / 2, certain
        at = looks.nonzero()[:, 0]
        if len(at):
            x = kronrod_nodes(lower[at], upper[at])
            values = torch.exp(log_survival(rows[at], x.T).T + x)
            fine, coarse = kronrod_and_gauss(values, lower[at], upper[at])
            value[at] = fine
            error = (fine - coarse).abs()
            good[at] = (error <= allowed[at]) | (error <= _ROUNDING * fine) | torch.isinf(fine)
        return value[:, None], good

    parts = integrate(rule, rows, edges[:, :-1].reshape(-1), edges[:, 1:].reshape(-1), 1)
    return parts.view(ends.shape).cumsum(1)
